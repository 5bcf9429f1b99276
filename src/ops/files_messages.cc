// Tensors as messages TensorProto: the type and shape, then the contents as bytes, or
// strings one by one. Both ways are host functions.
#include "ops/files_messages.h"

#include <cstring>

#include <fmt/format.h>

#include "base/wire.h"
#include "base/wire_reader.h"
#include "op/emitter.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "tandem/ops/files.h"

namespace tandem {

namespace {

using namespace io;

// Numbers of types.proto.
struct TypeNumber {
  DType dtype;
  int number;
};
constexpr TypeNumber kTypes[] = {
    {DType::kFloat32, 1},     {DType::kFloat64, 2},   {DType::kInt32, 3},
    {DType::kUInt8, 4},       {DType::kInt16, 5},     {DType::kInt8, 6},
    {DType::kString, 7},      {DType::kComplex64, 8}, {DType::kInt64, 9},
    {DType::kBool, 10},       {DType::kBFloat16, 14}, {DType::kUInt16, 17},
    {DType::kComplex128, 18}, {DType::kFloat16, 19},  {DType::kUInt32, 22},
    {DType::kUInt64, 23}};

int number_of(DType dtype) {
  for (const TypeNumber& t : kTypes) {
    if (t.dtype == dtype) return t.number;
  }
  return 0;
}

void infer_serialize(InferContext& c) { c.add_output(DType::kString, Shape{}); }
void infer_parse(InferContext& c) {
  c.rank(0, 0);
  c.add_output(c.attrs<ParseTensorAttrs>().out_type, Shape::unknown());
}

std::vector<Tensor> run_serialize(AttrsRef, std::span<const Tensor> inputs) {
  const Tensor t = inputs[0].to_host();
  WireMessage shape, message;
  for (int i = 0; i < t.rank(); ++i) {
    WireMessage dim;
    dim.integer(1, t.dim(i));
    shape.message(2, dim);
  }
  message.integer(1, number_of(t.dtype()));
  message.message(2, shape);
  if (t.dtype() == DType::kString) {
    for (const std::string& s : t.to_vector<std::string>()) message.text(8, s);
  } else {
    const size_t bytes = static_cast<size_t>(t.num_elements()) * dtype_size(t.dtype());
    message.text(4, {static_cast<const char*>(t.host_data()), bytes});
  }
  return {constant(message.bytes())};
}

[[noreturn]] void fail_parse(std::string_view what) {
  throw InvalidArgumentError(
      fmt::format("ParseTensor: Could not parse `serialized` as "
                  "TensorProto: {}",
                  what));
}

Shape read_shape(std::string_view bytes) {
  Shape shape;
  WireReader r(bytes);
  while (r.next()) {
    if (r.field() != 2 || r.kind() != 2) continue;
    int64_t size = 0;
    WireReader dim(r.text());
    while (dim.next()) {
      if (dim.field() == 1) size = dim.integer();
    }
    if (size < 0) fail_parse("a dimension is negative");
    shape.push_back(size);
  }
  return shape;
}

// The fields of single numbers (float_val and so on), as bytes of elements.
void append_values(std::string& out, const WireReader& r, DType dtype) {
  const auto put = [&](uint64_t v) {
    out.append(reinterpret_cast<const char*>(&v), dtype_size(dtype));
  };
  if (r.kind() == 0) {
    put(static_cast<uint64_t>(r.integer()));
  } else if (r.field() == 5 || r.field() == 6 || r.field() == 9 || r.field() == 12) {
    out += r.text();  // floats and complex numbers, packed or single
  } else {
    for (WireReader packed(r.text()); !packed.done();) put(packed.varint());
  }
}

std::vector<Tensor> run_parse(AttrsRef attrs, std::span<const Tensor> inputs) {
  const DType wanted = attrs.as<ParseTensorAttrs>().out_type;
  const std::string bytes = inputs[0].item<std::string>();
  int type = 0;
  Shape shape;
  std::string content;
  std::vector<std::string> strings;
  WireReader r(bytes);
  while (r.next()) {
    if (r.field() == 1 && r.kind() == 0) {
      type = static_cast<int>(r.integer());
    } else if (r.field() == 2 && r.kind() == 2) {
      shape = read_shape(r.text());
    } else if (r.field() == 4 && r.kind() == 2) {
      content = r.text();
    } else if (r.field() == 8 && r.kind() == 2) {
      strings.emplace_back(r.text());
    } else if (r.field() >= 5) {
      append_values(content, r, wanted);
    }
  }
  if (!r.ok() || type == 0) fail_parse("the bytes are not a message");
  if (type != number_of(wanted)) {
    throw InvalidArgumentError(fmt::format(
        "ParseTensor: Type mismatch between parsed tensor (type {}) and dtype ({})", type,
        dtype_name(wanted)));
  }
  const auto n = static_cast<size_t>(shape.num_elements());
  if (wanted == DType::kString) {
    if (strings.size() == 1) strings.resize(n, strings[0]);
    if (strings.size() != n) fail_parse("there are not as many strings as elements");
    return {tensor_from_strings(strings, shape)};
  }
  const size_t element = dtype_size(wanted);
  if (content.size() == element && n > 1) {  // one value stands for all
    const std::string one = content;
    for (size_t i = 1; i < n; ++i) content += one;
  }
  if (content.size() != n * element) fail_parse("the contents do not fill the shape");
  return {tensor_from(content.data(), wanted, shape)};
}

}  // namespace

void register_message_ops(OpTable& table) {
  table.add({.name = "SerializeTensor",
             .doc = "A tensor as a message.",
             .types = {{'T', kAnyDType}},
             .inputs = {{.name = "tensor"}},
             .outputs = {"serialized"},
             .infer = infer_serialize,
             .differentiable = false,
             .dynamic = true});
  table.add({.name = "ParseTensor",
             .doc = "The tensor that a message holds.",
             .types = {{'T', mask(DType::kString)}},
             .inputs = {{.name = "serialized"}},
             .attrs = &attrs_type<ParseTensorAttrs>(),
             .infer = infer_parse,
             .differentiable = false,
             .dynamic = true,
             .effects = kMayFail});
  add_host_function("SerializeTensor", run_serialize);
  add_host_function("ParseTensor", run_parse);
  register_example_ops(table);
}

namespace io {

Tensor serialize_tensor(const Tensor& tensor) {
  static const OpHandle op("SerializeTensor");
  return emit(op, {tensor});
}
Tensor parse_tensor(const Tensor& serialized, ParseTensorAttrs attrs) {
  static const OpHandle op("ParseTensor");
  return emit(op, {serialized}, attrs);
}

}  // namespace io

}  // namespace tandem
