// Every line is compared with what TensorFlow printed: data/format_reference.json, made
// by tools/reference/make_format_reference.py.
#include "tensor/format.h"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "device/runtime.h"
#include "tensor/format_array.h"
#include "tensor/format_element.h"
#include "tensor/tensor_impl.h"
#include "tensor/variable_impl.h"

namespace tandem {
namespace {

using nlohmann::json;

const json& reference() {
  static const json data =
      json::parse(std::ifstream(TANDEM_TEST_DATA "/format_reference.json"));
  return data;
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

struct Case {
  explicit Case(const json& row)
      : dtype(dtype_from_name(row[0].get<std::string>())),
        shape(row[1].get<std::vector<int64_t>>()),
        str(row[3]),
        repr(row[4]) {
    const auto n = static_cast<size_t>(shape.num_elements());
    if (dtype == DType::kString) {
      const json& values = row[2];
      for (size_t i = 0; i < n; ++i)
        strings.push_back(from_hex(values[i % values.size()]));
    } else {
      const std::string pattern = from_hex(row[2]);
      bytes.resize(n * dtype_size(dtype));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern[i % pattern.size()];
    }
  }
  const void* data() const {
    return dtype == DType::kString ? static_cast<const void*>(strings.data())
                                   : bytes.data();
  }
  std::string name() const {
    return fmt::format("{} {}", dtype_name(dtype), shape.debug_str());
  }

  DType dtype;
  Shape shape;
  std::string str, repr;
  std::vector<char> bytes;
  std::vector<std::string> strings;
};

TEST(Format, PrintsAsTensorFlow) {
  ASSERT_GT(reference()["cases"].size(), 500u);
  for (const json& row : reference()["cases"]) {
    const Case c(row);
    EXPECT_EQ(eager_str(c.dtype, c.shape, c.data()), c.str) << c.name();
    EXPECT_EQ(eager_repr(c.dtype, c.shape, c.data()), c.repr) << c.name();
  }
}

TEST(Format, EveryValueOf16Bits) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    uint64_t fnv = 0xcbf29ce484222325;
    for (uint32_t i = 0; i < 1u << 16; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      for (const char c : array_str(dtype, {}, &bits) + "\n") {
        fnv = (fnv ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      }
    }
    EXPECT_EQ(fmt::format("{:016x}", fnv),
              reference()["digests"][std::string(dtype_name(dtype))].get<std::string>());
  }
}

TEST(Format, BytesLiteral) {
  EXPECT_EQ(bytes_literal("plain"), "b'plain'");
  EXPECT_EQ(bytes_literal("it's"), "b\"it's\"");
  EXPECT_EQ(bytes_literal("it's \"so\""), R"(b'it\'s "so"')");
  EXPECT_EQ(bytes_literal("\t\n\r\\\x01\xff"), R"(b'\t\n\r\\\x01\xff')");
}

TEST(Format, TensorsOfEachKind) {
  Device& cpu = Runtime::get().cpu();
  const float values[] = {1, 2, 3, 4};
  const Tensor t = make_host_copy(cpu, DType::kFloat32, {2, 2}, values);
  EXPECT_EQ(t.str(), "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)");
  EXPECT_EQ(t.repr(),
            "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\n"
            "array([[1., 2.],\n       [3., 4.]], dtype=float32)>");
  EXPECT_EQ(fmt::format("{}", t), t.str());
  EXPECT_EQ(numpy_str(t), "[[1. 2.]\n [3. 4.]]");
  EXPECT_EQ(numpy_repr(t), "array([[1., 2.],\n       [3., 4.]], dtype=float32)");

  // A view prints what it shows, not what its buffer holds.
  const Tensor row = make_tensor(DType::kFloat32, {2}, cpu, t.impl()->buffer, 8);
  EXPECT_EQ(row.str(), "tf.Tensor([3. 4.], shape=(2,), dtype=float32)");

  Tensor words = make_tensor(cpu, DType::kString, {2});
  static_cast<std::string*>(words.impl()->data())[1] = "it's";
  EXPECT_EQ(words.str(), "tf.Tensor([b'' b\"it's\"], shape=(2,), dtype=string)");

  EXPECT_EQ(Tensor().str(), "<undefined>");
  EXPECT_EQ(Tensor().repr(), "<undefined>");
  EXPECT_EQ(make_ghost(t).str(), "tf.Tensor(<no contents>, shape=(2, 2), dtype=float32)");
}

TEST(Format, SymbolicTensorsHaveNoValues) {
  const auto symbolic = [](const Shape& shape) {
    return make_symbolic(DType::kFloat32, shape, make_ref<SymbolicValue>());
  };
  const Tensor t = symbolic({kUnknownDim, 2});
  EXPECT_EQ(t.str(), "Tensor(\"?\", shape=(None, 2), dtype=float32)");
  EXPECT_EQ(t.repr(), "<tf.Tensor '?' shape=(None, 2) dtype=float32>");
  const Tensor unknown = symbolic(Shape::unknown());
  EXPECT_EQ(unknown.str(), "Tensor(\"?\", dtype=float32)");
  EXPECT_EQ(unknown.repr(), "<tf.Tensor '?' shape=<unknown> dtype=float32>");
}

TEST(Format, ResourcesNameTheirVariable) {
  auto variable = make_ref<VariableImpl>();
  variable->name = "w";
  variable->dtype = DType::kFloat32;
  variable->shape = {2};
  variable->device = &Runtime::get().cpu();
  auto* impl = new TensorImpl;
  const Tensor handle{Ref<TensorHeader>(impl)};
  impl->dtype = DType::kResource;
  impl->variable = variable;
  const std::string value =
      "<ResourceHandle(name=\"w\", "
      "device=\"/job:localhost/replica:0/task:0/device:CPU:0\", "
      "dtype=float32, shape=(2,))>";
  EXPECT_EQ(handle.str(), "tf.Tensor(" + value + ", shape=(), dtype=resource)");
  EXPECT_EQ(handle.repr(), "<tf.Tensor: shape=(), dtype=resource, value=" + value + ">");
}

}  // namespace
}  // namespace tandem
