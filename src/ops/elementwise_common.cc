#include "ops/elementwise_common.h"

#include <fmt/format.h>

namespace tandem::elementwise {

void infer_unary(InferContext& c) { c.add_output(c.dtype(0), c.shape(0)); }
void infer_binary(InferContext& c) {
  c.add_output(c.dtype(0), c.broadcast(c.shape(0), c.shape(1)));
}
void infer_ternary(InferContext& c) {
  c.add_output(c.dtype(0), c.broadcast(c.broadcast(c.shape(0), c.shape(1)), c.shape(2)));
}
void infer_unary_bool(InferContext& c) { c.add_output(DType::kBool, c.shape(0)); }
void infer_binary_bool(InferContext& c) {
  c.add_output(DType::kBool, c.broadcast(c.shape(0), c.shape(1)));
}
void infer_unary_real(InferContext& c) {
  c.add_output(real_dtype(c.dtype(0)), c.shape(0));
}

namespace {

// Values are carried for integers (and the bools they compare to) of rank 0 or 1. Those
// of uint64 do not fit.
bool foldable(const TensorInfo& t) {
  return t.has_value && t.dtype != DType::kUInt64 &&
         (is_integer(t.dtype) || t.dtype == DType::kBool) && t.shape.has_rank() &&
         t.shape.rank() <= 1;
}

// As the kernels store it: integers wrap around in their width.
int64_t wrap(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::kInt8:
      return static_cast<int8_t>(v);
    case DType::kInt16:
      return static_cast<int16_t>(v);
    case DType::kInt32:
      return static_cast<int32_t>(v);
    case DType::kUInt8:
      return static_cast<uint8_t>(v);
    case DType::kUInt16:
      return static_cast<uint16_t>(v);
    case DType::kUInt32:
      return static_cast<uint32_t>(v);
    default:
      return v;
  }
}

void keep(TensorInfo& out, PartialValue value) {
  for (int64_t v : value) out.has_value = out.has_value || v != kUnknownValue;
  if (out.has_value) out.value = std::move(value);
}

}  // namespace

void fold(InferContext& c, Fold1 f) {
  const TensorInfo& x = c.input(0);
  TensorInfo& out = c.outputs()[0];
  if (!foldable(x)) return;
  PartialValue value;
  for (int64_t v : x.value) {
    int64_t r = kUnknownValue;
    if (v != kUnknownValue && !f(v, &r)) r = kUnknownValue;
    value.push_back(r == kUnknownValue ? r : wrap(out.dtype, r));
  }
  keep(out, std::move(value));
}

void fold(InferContext& c, Fold2 f) {
  const TensorInfo &x = c.input(0), &y = c.input(1);
  TensorInfo& out = c.outputs()[0];
  if (!foldable(x) || !foldable(y)) return;
  const size_t nx = x.value.size(), ny = y.value.size();
  const size_t n = nx == 1 ? ny : nx;
  if (ny != n && ny != 1) return;
  PartialValue value;
  for (size_t i = 0; i < n; ++i) {
    const int64_t a = x.value[nx == 1 ? 0 : i], b = y.value[ny == 1 ? 0 : i];
    int64_t r = kUnknownValue;
    if (a != kUnknownValue && b != kUnknownValue && !f(a, b, &r)) r = kUnknownValue;
    value.push_back(r == kUnknownValue ? r : wrap(out.dtype, r));
  }
  keep(out, std::move(value));
}

OpDef unary(const char* name, const char* doc, DTypeMask types, const char* expression) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', types}};
  def.inputs = {{.name = "x"}};
  def.outputs = {"y"};
  def.infer = infer_unary;
  def.cost = cost<1>;
  def.inplace = 1;
  def.expression = expression;
  return def;
}
OpDef binary(const char* name, const char* doc, DTypeMask types, const char* expression) {
  OpDef def = unary(name, doc, types, expression);
  def.inputs = {{.name = "x"}, {.name = "y"}};
  def.outputs = {"z"};
  def.infer = infer_binary;
  def.inplace = 3;
  return def;
}
OpDef with_gradient(OpDef def, Reads reads, GradientFn gradient) {
  def.gradient = gradient;
  def.grad_inputs = reads.inputs;
  def.grad_outputs = reads.outputs;
  return def;
}
OpDef without_gradient(OpDef def) {
  def.differentiable = false;
  def.grad_inputs = def.grad_outputs = 0;
  return def;
}
OpDef with_infer(OpDef def, void (*infer)(InferContext&)) {
  def.infer = infer;
  return def;
}
OpDef with_cost(OpDef def, Cost (*cost_fn)(const Signature&)) {
  def.cost = cost_fn;
  return def;
}

Tensor sum_to(const Tensor& g, const Tensor& like) {
  if (g.shape() == like.shape() && g.shape().is_known()) return g;
  return sum_like(g, like);
}

}  // namespace tandem::elementwise
