// Scaled dot-product attention as one op: scores never exist as a whole. The logarithms
// of the softmax sums are kept for the gradient, which makes the probabilities again
// block by block.
#include "ops/nn_attention.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace nn {

AttentionShape attention_shape(const std::string& op, const AttentionAttrs& attrs,
                               const Shape& q, const Shape& k, const Shape& v) {
  const auto fail = [&](const std::string& message) {
    throw InvalidArgumentError(fmt::format("{}: {} (query {}, key {}, value {})", op,
                                           message, q.debug_str(), k.debug_str(),
                                           v.debug_str()));
  };
  for (const Shape* s : {&q, &k, &v}) {
    if (s->has_rank() && s->rank() != 4) {
      fail("query, key and value must have 4 dimensions, " +
           std::string(attrs.heads_first ? "[batch, heads, time, size]"
                                         : "[batch, time, heads, size]"));
    }
  }
  const auto dim = [](const Shape& s, int i) {
    return s.has_rank() ? s[i] : kUnknownDim;
  };
  const auto merge = [&](int64_t a, int64_t b, const char* what) {
    if (a >= 0 && b >= 0 && a != b) fail(fmt::format("{} differ: {} and {}", what, a, b));
    return a >= 0 ? a : b;
  };
  const int time = attrs.heads_first ? 2 : 1, heads = attrs.heads_first ? 1 : 2;
  AttentionShape a;
  a.batch = merge(merge(dim(q, 0), dim(k, 0), "batch sizes"), dim(v, 0), "batch sizes");
  a.queries = dim(q, time);
  a.keys = merge(dim(k, time), dim(v, time), "lengths of key and value");
  a.heads = dim(q, heads);
  a.key_heads = merge(dim(k, heads), dim(v, heads), "heads of key and value");
  a.size = merge(dim(q, 3), dim(k, 3), "head sizes of query and key");
  a.value_size = dim(v, 3);
  if (a.heads >= 0 && a.key_heads >= 0 &&
      (a.key_heads == 0 ? a.heads != 0 : a.heads % a.key_heads != 0)) {
    fail(fmt::format("{} query heads are not a multiple of {} key heads", a.heads,
                     a.key_heads));
  }
  return a;
}

}  // namespace nn

namespace {

using nn::AttentionAttrs;
using nn::AttentionGradAttrs;
using nn::AttentionShape;

constexpr int kQuery = 0, kKey = 1, kValue = 2, kMask = 3, kBias = 4;

DType sum_dtype(DType t) { return t == DType::kFloat64 ? t : DType::kFloat32; }

void check_extra(const InferContext& c, int i, const AttentionShape& a) {
  if (c.dtype(i) == DType::kInvalid || !c.shape(i).has_rank()) return;
  const Shape scores{a.batch, a.heads, a.queries, a.keys};
  Shape both;
  if (!broadcast_shapes(c.shape(i), scores, &both) || both.rank() != 4 ||
      !both.compatible_with(scores)) {
    c.fail(fmt::format(
        "{} has shape {}, which does not broadcast to "
        "[batch, heads, queries, keys] = {}",
        c.op().input_def(i).name, c.shape(i).debug_str(), scores.debug_str()));
  }
}

Shape output_shape(const AttentionShape& a, bool heads_first) {
  return heads_first ? Shape{a.batch, a.heads, a.queries, a.value_size}
                     : Shape{a.batch, a.queries, a.heads, a.value_size};
}

void infer_attention(InferContext& c) {
  const auto& attrs = c.attrs<AttentionAttrs>();
  const AttentionShape a = nn::attention_shape(c.op().name, attrs, c.shape(kQuery),
                                               c.shape(kKey), c.shape(kValue));
  check_extra(c, kMask, a);
  check_extra(c, kBias, a);
  c.add_output(c.dtype(0), output_shape(a, attrs.heads_first));
  c.add_output(sum_dtype(c.dtype(0)), {a.batch, a.heads, a.queries});
}

void grad_attention(GradContext& c) {
  if (!c.has_grad(0)) return;
  static const OpHandle op("ScaledDotProductAttentionGrad");
  const auto& attrs = c.attrs<AttentionAttrs>();
  const bool bias_grad = c.input(kBias).defined() && c.needs(kBias);
  const std::vector<Tensor> g = emit_all(
      op,
      {c.input(0), c.input(1), c.input(2), c.input(3), c.input(4), c.output(0),
       c.output(1), c.grad()},
      AttentionGradAttrs{attrs.scale, attrs.causal, attrs.heads_first, bias_grad});
  for (int i = 0; i < 3; ++i) c.set(i, g[static_cast<size_t>(i)]);
  if (bias_grad) c.set(kBias, sum_like(g[3], c.input(kBias)));
}

void infer_attention_grad(InferContext& c) {
  const auto& attrs = c.attrs<AttentionGradAttrs>();
  const AttentionShape a =
      nn::attention_shape(c.op().name, nn::forward_attrs(attrs), c.shape(kQuery),
                          c.shape(kKey), c.shape(kValue));
  check_extra(c, kMask, a);
  check_extra(c, kBias, a);
  const Shape out = output_shape(a, attrs.heads_first);
  for (const int i : {5, 7}) {
    if (!c.shape(i).compatible_with(out)) {
      c.fail(fmt::format("{} has shape {}, expected {}", c.op().input_def(i).name,
                         c.shape(i).debug_str(), out.debug_str()));
    }
  }
  const Shape sums{a.batch, a.heads, a.queries};
  if (!c.shape(6).compatible_with(sums) || c.dtype(6) != sum_dtype(c.dtype(0))) {
    c.fail(fmt::format("{} is {}{}, expected {}{}", c.op().input_def(6).name,
                       dtype_name(c.dtype(6)), c.shape(6).debug_str(),
                       dtype_name(sum_dtype(c.dtype(0))), sums.debug_str()));
  }
  for (int i = 0; i < 3; ++i) c.add_output(c.dtype(i), c.shape(i));
  c.add_output(c.dtype(0),
               attrs.bias_grad ? Shape{a.batch, a.heads, a.queries, a.keys} : Shape{0});
}

Cost attention_cost(const Signature& s) {
  const bool grad = s.op->name.ends_with("Grad");
  const AttentionAttrs attrs = grad ? nn::forward_attrs(s.attrs.as<AttentionGradAttrs>())
                                    : s.attrs.as<AttentionAttrs>();
  const AttentionShape a = nn::attention_shape(s.op->name, attrs, s.in(kQuery).shape,
                                               s.in(kKey).shape, s.in(kValue).shape);
  Cost cost = default_cost(s);
  cost.flops =
      2.0 * static_cast<double>(a.batch * a.heads) * static_cast<double>(a.queries) *
      static_cast<double>(a.keys) *
      static_cast<double>(grad ? 3 * a.size + 2 * a.value_size : a.size + a.value_size) *
      (attrs.causal ? 0.5 : 1.0);
  return cost;
}

}  // namespace

void register_nn_attention_ops(OpTable& table) {
  const std::vector<TypeVar> types = {{'T', kFloats}, {'M', mask(DType::kBool)}};
  const std::vector<TypeVar> grad_types = {
      {'T', kFloats}, {'M', mask(DType::kBool)}, {'U', kFloats & ~kHalfs}};
  table.add({.name = "ScaledDotProductAttention",
             .doc = "softmax(q kᵀ scale + bias) v for each head, in blocks.",
             .types = types,
             .inputs = {{.name = "query"},
                        {.name = "key"},
                        {.name = "value"},
                        {.name = "mask", .type = 'M', .optional = true},
                        {.name = "bias", .optional = true}},
             .outputs = {"output", "log_sum_exp"},
             .attrs = &attrs_type<AttentionAttrs>(),
             .infer = infer_attention,
             .gradient = grad_attention,
             .cost = attention_cost});
  table.add(
      {.name = "ScaledDotProductAttentionGrad",
       .doc = "The gradient of ScaledDotProductAttention.",
       .types = grad_types,
       .inputs = {{.name = "query"},
                  {.name = "key"},
                  {.name = "value"},
                  {.name = "mask", .type = 'M', .optional = true},
                  {.name = "bias", .optional = true},
                  {.name = "output"},
                  {.name = "log_sum_exp", .type = 'U'},
                  {.name = "grad"}},
       .outputs = {"query_backprop", "key_backprop", "value_backprop", "scores_backprop"},
       .attrs = &attrs_type<AttentionGradAttrs>(),
       .infer = infer_attention_grad,
       .gradient = nn::grad_attention_grad,
       .grad_inputs = 0b10011111,
       .grad_outputs = 0,
       .cost = attention_cost});
}

namespace nn {

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                    const Tensor& value, const Tensor& mask,
                                    const Tensor& bias, AttentionAttrs attrs) {
  static const OpHandle op("ScaledDotProductAttention");
  return emit_all(op, {query, key, value, mask, bias}, attrs)[0];
}

}  // namespace nn

}  // namespace tandem
