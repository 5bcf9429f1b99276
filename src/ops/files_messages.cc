// Tensors as messages TensorProto: the type and shape, then the contents as bytes, or
// strings one by one. Both ways are host functions.
#include "ops/files_messages.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/wire.h"
#include "op/emitter.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "ops/tensor_message.h"
#include "tandem/ops/files.h"

namespace tandem {

namespace {

using namespace io;

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
  message.integer(1, type_number(t.dtype()));
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
  throw InvalidArgumentError(fmt::format("ParseTensor: {}", what));
}

/// A message of a few bytes in which a value stands for many may fill this much memory,
/// and no more. What TensorFlow writes of such size has all its elements.
void check_expansion(size_t n, size_t element) {
  constexpr size_t kMost = size_t{1} << 28;
  if (n > kMost / element) {
    fail_parse(fmt::format(
        "{} elements of {} bytes from a message that does not have them are too many", n,
        element));
  }
}

std::vector<Tensor> run_parse(AttrsRef attrs, std::span<const Tensor> inputs) {
  const DType wanted = attrs.as<ParseTensorAttrs>().out_type;
  const std::string bytes = inputs[0].item<std::string>();
  TensorMessage message = read_tensor_message(bytes, wanted);
  if (message.type == 0 || message.type != type_number(wanted)) {
    fail_parse(fmt::format("Type mismatch between parsed tensor (type {}) and dtype ({})",
                           message.type, dtype_name(wanted)));
  }
  // Of values one by one the last stands for all that are missing; without any, zero
  // does.
  const auto n = static_cast<size_t>(message.shape.num_elements());
  if (wanted == DType::kString) {
    std::vector<std::string> strings(message.strings.begin(), message.strings.end());
    const std::string last = strings.empty() ? "" : strings.back();
    if (strings.size() < n) check_expansion(n, sizeof last + last.size());
    strings.resize(n, last);
    return {tensor_from_strings(strings, message.shape)};
  }
  const size_t element = dtype_size(wanted);
  if (!message.content.empty()) {
    if (message.content.size() / element != n || message.content.size() % element != 0) {
      fail_parse(fmt::format("{} bytes of contents do not fill shape {} of {}",
                             message.content.size(), message.shape.debug_str(),
                             dtype_name(wanted)));
    }
    if (wanted != DType::kBool) {
      return {tensor_from(message.content.data(), wanted, message.shape)};
    }
    std::string truths(message.content);
    for (char& c : truths) c = c != 0;
    return {tensor_from(truths.data(), wanted, message.shape)};
  }
  std::string& values = message.values;
  values.resize(values.size() / element * element);
  if (values.size() / element < n) check_expansion(n, element);
  const std::string last = values.empty() ? std::string(element, '\0')
                                          : values.substr(values.size() - element);
  values.reserve(n * element);
  while (values.size() < n * element) values += last;
  return {tensor_from(values.data(), wanted, message.shape)};
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
