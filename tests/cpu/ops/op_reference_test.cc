// What TensorFlow answers where a textbook does not decide (data/ops.json, made by
// tools/reference/make_op_reference.py).
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "base/json.h"
#include "op/emitter.h"
#include "ops/values.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using nlohmann::json;

double number(const json& j) {
  if (!j.is_string()) return j.get<double>();
  const auto s = j.get<std::string>();
  if (s == "nan") return std::numeric_limits<double>::quiet_NaN();
  return s == "inf" ? std::numeric_limits<double>::infinity()
                    : -std::numeric_limits<double>::infinity();
}

testing::Ref ref_of(const json& j) {
  testing::Ref r;
  r.shape = Shape(j["shape"].get<std::vector<int64_t>>());
  for (const json& v : j["values"]) r.values.emplace_back(number(v));
  return r;
}

TEST(OpReference, AnswersAreTensorFlows) {
  std::ifstream file(TANDEM_TEST_DATA "/ops.json");
  const json data = json::parse(file);
  for (const json& c : data["cases"]) {
    SCOPED_TRACE(c["op"].get<std::string>() + " " + c["attrs"].dump() + " " +
                 c["note"].get<std::string>());
    const OpDef& op = OpTable::get().at(c["op"].get<std::string>());
    std::vector<Tensor> inputs;
    for (const json& in : c["inputs"]) {
      inputs.push_back(testing::to_tensor(
          ref_of(in), dtype_from_name(in["dtype"].get<std::string>())));
    }
    const std::vector<TensorArg> args(inputs.begin(), inputs.end());
    Attrs attrs;
    if (op.attrs) {
      void* made = op.attrs->from_json(c["attrs"].dump());
      attrs = Attrs(AttrsRef{made, op.attrs});
      op.attrs->destroy(made);
    }
    std::vector<Tensor> outputs;
    current_emitter().emit(op, attrs.ref(), args, outputs);
    ASSERT_GE(outputs.size(), c["outputs"].size());
    for (size_t i = 0; i < c["outputs"].size(); ++i) {
      const json& expected = c["outputs"][i];
      EXPECT_EQ(dtype_name(outputs[i].dtype()), expected["dtype"].get<std::string>());
      EXPECT_EQ(testing::difference(testing::to_ref(outputs[i]), ref_of(expected),
                                    outputs[i].dtype(), 2e-5),
                "");
    }
  }
}

}  // namespace
}  // namespace tandem
