// Array ops: registration, what the parts share, and ops that return their input.
#include <fmt/format.h>

#include "device/runtime.h"
#include "op/emitter.h"
#include "ops/array_common.h"
#include "ops/register.h"
#include "tandem/gradient.h"
#include "tandem/ops.h"

namespace tandem {

void set_value(TensorInfo& out, PartialValue value) {
  if (!is_integer(out.dtype) || !out.shape.is_known() || out.shape.rank() > 1) return;
  if (value.size() > static_cast<size_t>(kMaxHostValues) ||
      out.shape.num_elements() != static_cast<int64_t>(value.size())) {
    return;
  }
  out.value = std::move(value);
  out.has_value = true;
}

std::optional<Ints> known_ints(const TensorInfo& info) {
  // The contents themselves first: the least integer is a value there.
  if (info.data && info.shape.is_known() && is_integer(info.dtype)) {
    return read_ints(info.dtype, info.data, info.shape.num_elements());
  }
  if (!info.has_value) return std::nullopt;
  for (int64_t v : info.value) {
    if (v == kUnknownValue) return std::nullopt;
  }
  return info.value;
}

std::optional<PartialValue> partial_ints(const TensorInfo& info) {
  if (info.has_value) return info.value;
  if (auto all = known_ints(info)) return all;
  if (!info.shape.is_known() || info.shape.num_elements() > kMaxHostValues) {
    return std::nullopt;
  }
  return PartialValue(static_cast<size_t>(info.shape.num_elements()), kUnknownValue);
}

void infer_same(InferContext& c) {
  TensorInfo& out = c.add_output(c.dtype(0), c.shape(0));
  out.value = c.input(0).value;
  out.has_value = c.input(0).has_value;
}

std::optional<int64_t> view_whole(const Signature&) { return 0; }

void grad_reshape_back(GradContext& c) { c.set(0, reshape_like(c.grad(), c.input(0))); }

Tensor host_vector(std::span<const int64_t> values) {
  return make_host_copy(Runtime::get().cpu(), DType::kInt64,
                        {static_cast<int64_t>(values.size())}, values.data());
}

Ints row_major(const Shape& shape) {
  Ints steps(static_cast<size_t>(shape.rank()), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) {
    steps[static_cast<size_t>(i)] = steps[static_cast<size_t>(i + 1)] * shape[i + 1];
  }
  return steps;
}

namespace {

void grad_identity(GradContext& c) { c.set(0, c.raw_grad(0)); }

void grad_prevent(GradContext& c) {
  throw NotFoundError(fmt::format("Gradient explicitly disabled. Reason: {}",
                                  c.attrs<MessageAttrs>().message));
}

void infer_ensure(InferContext& c) {
  const Shape& wanted = c.attrs<EnsureShapeAttrs>().shape;
  if (!c.shape(0).compatible_with(wanted)) {
    c.fail(
        fmt::format("Shape of tensor input {} is not compatible with expected shape {}.",
                    c.shape(0).debug_str(), wanted.debug_str()));
  }
  TensorInfo& out = c.add_output(c.dtype(0), c.shape(0).merged_with(wanted));
  out.value = c.input(0).value;
  out.has_value = c.input(0).has_value;
}

void grad_check(GradContext& c) {
  const std::string& message = c.attrs<MessageAttrs>().message;
  c.set(0, check_numerics(c.grad(),
                          {"Not a number (NaN) or infinity (Inf) values detected in "
                           "gradient. " +
                           message}));
}

}  // namespace

void register_array_ops(OpTable& table) {
  table.add({.name = "Identity",
             .doc = "The same contents with identity of their own; a view.",
             .inputs = {{.name = "input"}},
             .infer = infer_same,
             .gradient = grad_identity,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_whole});
  table.add({.name = "StopGradient",
             .doc = "The same contents, through which no gradient flows.",
             .inputs = {{.name = "input"}},
             .infer = infer_same,
             .differentiable = false,
             .view = view_whole});
  table.add({.name = "PreventGradient",
             .doc = "The same contents; asking for a gradient through it is an error.",
             .inputs = {{.name = "input"}},
             .attrs = &attrs_type<MessageAttrs>(),
             .infer = infer_same,
             .gradient = grad_prevent,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_whole});
  table.add({.name = "EnsureShape",
             .doc = "The same contents, after a check of the shape.",
             .inputs = {{.name = "input"}},
             .attrs = &attrs_type<EnsureShapeAttrs>(),
             .infer = infer_ensure,
             .gradient = grad_identity,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .view = view_whole});
  table.add({.name = "CheckNumerics",
             .doc = "The same contents, after a check that none is NaN or infinite.",
             .types = {{'T', kFloats}},
             .inputs = {{.name = "tensor"}},
             .attrs = &attrs_type<MessageAttrs>(),
             .infer = infer_same,
             .gradient = grad_check,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .inplace = 1,
             .effects = kMayFail});
  register_array_shape_ops(table);
  register_array_make_ops(table);
  register_array_reshape_ops(table);
  register_array_broadcast_ops(table);
  register_array_transpose_ops(table);
  register_array_join_ops(table);
  register_array_slice_ops(table);
  register_array_pad_ops(table);
  register_array_reverse_ops(table);
  register_array_diag_ops(table);
  register_array_block_ops(table);
  register_array_set_ops(table);
}

Tensor identity(const Tensor& x) {
  static const OpHandle op("Identity");
  return emit(op, {x});
}
Tensor stop_gradient(const Tensor& x) {
  static const OpHandle op("StopGradient");
  return emit(op, {x});
}
Tensor prevent_gradient(const Tensor& x, MessageAttrs attrs) {
  static const OpHandle op("PreventGradient");
  return emit(op, {x}, attrs);
}
Tensor check_numerics(const Tensor& x, MessageAttrs attrs) {
  static const OpHandle op("CheckNumerics");
  return emit(op, {x}, attrs);
}
Tensor ensure_shape(const Tensor& x, const Shape& shape) {
  static const OpHandle op("EnsureShape");
  return emit(op, {x}, EnsureShapeAttrs{shape});
}

}  // namespace tandem
