// The numbers TensorFlow draws for the same seeds (data/random.json, made by
// tools/reference/make_random_reference.py).
#include <fstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "ops/values.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using nlohmann::json;
namespace rnd = tandem::random;

json load() {
  std::ifstream file(TANDEM_TEST_DATA "/random.json");
  return json::parse(file);
}

Shape shape_of(const json& j) { return Shape(j.get<std::vector<int64_t>>()); }

// The call that a case describes, with fresh arguments each time.
std::function<Tensor()> call_of(const json& c) {
  const std::string kind = c["kind"];
  const json a = c["arguments"];
  const DType dtype = a.contains("dtype") ? dtype_from_name(a["dtype"].get<std::string>())
                                          : DType::kFloat32;
  if (kind.rfind("stateless", 0) == 0) {
    const Shape shape = shape_of(a["shape"]);
    const rnd::Seed2 seed{a["seed"][0], a["seed"][1]};
    if (kind == "stateless_uniform") {
      return [=] { return rnd::stateless_uniform(shape, seed, {.dtype = dtype}); };
    }
    if (kind == "stateless_normal") {
      return [=] { return rnd::stateless_normal(shape, seed, {.dtype = dtype}); };
    }
    if (kind == "stateless_truncated_normal") {
      return
          [=] { return rnd::stateless_truncated_normal(shape, seed, {.dtype = dtype}); };
    }
    if (kind == "stateless_uniform_int") {
      const double low = a["minval"], high = a["maxval"];
      return [=] { return rnd::stateless_uniform(shape, seed, {low, high, dtype}); };
    }
    return [=] { return rnd::stateless_uniform_full_int(shape, seed, dtype); };
  }
  const int64_t seed = a["op_seed"];
  if (kind == "uniform") return [=] { return rnd::uniform({5}, {-1, 3, dtype, seed}); };
  if (kind == "normal") return [=] { return rnd::normal({2, 3}, {1, 2, dtype, seed}); };
  if (kind == "truncated_normal") {
    return [=] { return rnd::truncated_normal({6}, {0, 1, dtype, seed}); };
  }
  if (kind == "gamma") {
    return
        [=] { return rnd::gamma({4}, cast(constant({0.5, 1.0, 3.0}), dtype), {seed}); };
  }
  if (kind == "uniform_int") {
    return [=] { return rnd::uniform({6}, {3, 1000, DType::kInt64, seed}); };
  }
  if (kind == "categorical") {
    return [=] {
      const Tensor p = constant({{0.1f, 0.6f, 0.3f}, {0.8f, 0.1f, 0.1f}});
      return rnd::categorical(log(p), 9, {DType::kInt64, seed});
    };
  }
  return [=] { return rnd::shuffle(constant({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), {seed}); };
}

TEST(RandomReference, NumbersAreTensorFlows) {
  const json data = load();
  for (const json& c : data["cases"]) {
    SCOPED_TRACE(c["kind"].get<std::string>() + " " + c["arguments"].dump());
    if (c["arguments"].contains("global_seed")) {
      rnd::set_seed(c["arguments"]["global_seed"]);
    }
    const auto call = call_of(c);
    for (const json& output : c["outputs"]) {
      const Tensor got = call();
      EXPECT_EQ(dtype_name(got.dtype()), output["dtype"].get<std::string>());
      testing::Ref expected;
      expected.shape = shape_of(output["shape"]);
      for (const json& v : output["values"]) {
        expected.values.emplace_back(v.is_string() ? std::stod(v.get<std::string>())
                                                   : v.get<double>());
      }
      // Bits for integers and uniforms; transformed distributions differ by a few ulp.
      EXPECT_EQ(testing::difference(testing::to_ref(got), expected, got.dtype(), 2e-6),
                "");
    }
  }
}

}  // namespace
}  // namespace tandem
