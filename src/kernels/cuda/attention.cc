// ScaledDotProductAttention and its gradient: floats; half precision computes in float32.
// A warp per query or key, exact sums in a fixed order: for full precision, heads that
// the tensor-core kernels (attention_tiles.cc) do not take, and small calls.
#include "kernels/cuda/attention.h"

#include <cmath>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string attention_text(DType dtype, int64_t size, int64_t value_size,
                           bool heads_first) {
  return text_prefix(false) +
         fmt::format(
             "typedef {} T;\nconstexpr int kSize = {}, kValueSize = {};\n"
             "constexpr bool kHeadsFirst = {};\n",
             type_text(dtype), size, value_size, heads_first) +
         std::string(device_text("attention.cuh"));
}

namespace {

/// Steps of a tensor that broadcasts to [batch, heads, queries, keys].
void set_steps(const Shape& shape, int64_t (&steps)[4]) {
  int64_t step = 1;
  for (int d = 3; d >= 0; --d) {
    const int at = d - (4 - shape.rank());
    const int64_t size = at < 0 ? 1 : shape[at];
    steps[d] = size == 1 ? 0 : step;
    step *= size;
  }
}

}  // namespace

AttentionCall attention_call(const Signature& s) {
  AttentionCall c;
  if (s.op->name.ends_with("Grad")) {
    const auto& attrs = s.attrs.as<nn::AttentionGradAttrs>();
    c.attrs = nn::forward_attrs(attrs);
    c.scores = attrs.bias_grad;
  } else {
    c.attrs = s.attrs.as<nn::AttentionAttrs>();
  }
  c.shape = nn::attention_shape(s.op->name, c.attrs, s.in(0).shape, s.in(1).shape,
                                s.in(2).shape);
  c.mask = s.inputs.size() > 3 && s.in(3).dtype != DType::kInvalid;
  c.bias = s.inputs.size() > 4 && s.in(4).dtype != DType::kInvalid;
  AttentionSizes& sizes = c.sizes;
  sizes.batch = c.shape.batch;
  sizes.queries = c.shape.queries;
  sizes.keys = c.shape.keys;
  sizes.heads = c.shape.heads;
  sizes.key_heads = c.shape.key_heads;
  sizes.scale = c.attrs.scale != 0 ? c.attrs.scale
                                   : 1 / std::sqrt(static_cast<double>(c.shape.size));
  sizes.causal = c.attrs.causal;
  if (c.mask) set_steps(s.in(3).shape, sizes.mask_steps);
  if (c.bias) set_steps(s.in(4).shape, sizes.bias_steps);
  return c;
}

namespace {

struct AttentionPlan {
  Function forward, by_query, by_key;
  AttentionCall call;
  size_t workspace_bytes = 0;
};

constexpr int64_t kLargestLaneHead = 512;  // of a head: what a lane keeps in registers
/// Scores of a head up to which this may be faster than tensor cores.
constexpr int64_t kSmall = 64 * 64;

bool attention_fits(const Signature& s) {
  const nn::AttentionShape a = attention_call(s).shape;
  return a.size > 0 && a.value_size > 0 && a.size <= kLargestLaneHead &&
         a.value_size <= kLargestLaneHead &&
         (a.queries * a.keys <= kSmall || !attention_tiles_fit(s));
}

AttentionPlan plan_attention(const Signature& s) {
  gpu_of(s).activate();
  AttentionPlan p;
  p.call = attention_call(s);
  return p;
}
std::string text_of(const Signature& s, const AttentionCall& call) {
  return attention_text(s.in(0).dtype, call.shape.size, call.shape.value_size,
                        call.attrs.heads_first);
}
AttentionPlan prepare_attention(const Signature& s) {
  AttentionPlan p = plan_attention(s);
  p.forward = find_function(s.device, s.op->name, text_of(s, p.call), "attention");
  return p;
}
AttentionPlan prepare_attention_grad(const Signature& s) {
  AttentionPlan p = plan_attention(s);
  const std::string text = text_of(s, p.call);
  p.by_query = find_function(s.device, s.op->name, text, "by_query");
  p.by_key = find_function(s.device, s.op->name, text, "by_key");
  p.workspace_bytes =
      static_cast<size_t>(p.call.rows()) * (s.in(0).dtype == DType::kFloat64 ? 8 : 4);
  return p;
}

Grid attention_grid(const Function& f, int64_t rows) {
  return grid_for(f, rows * 32, 128);
}

void launch_attention(const AttentionPlan& p, const LaunchArgs& a) {
  const int64_t rows = p.call.rows();
  if (rows == 0) return;
  launch(p.forward, *a.stream, attention_grid(p.forward, rows), p.call.inputs(a),
         a.outputs[0], a.outputs[1], p.call.sizes);
}
void launch_attention_grad(const AttentionPlan& p, const LaunchArgs& a) {
  const AttentionSizes& sizes = p.call.sizes;
  const int64_t rows = p.call.rows();
  const AttentionInputs x = p.call.inputs(a);
  if (rows > 0) {
    launch(p.by_query, *a.stream, attention_grid(p.by_query, rows), x, a.inputs[5],
           a.inputs[6], a.inputs[7], a.outputs[0], p.call.scores ? a.outputs[3] : nullptr,
           a.workspace, sizes);
  }
  const int64_t keys = sizes.batch * sizes.key_heads * sizes.keys;
  if (keys == 0) return;
  launch(p.by_key, *a.stream, attention_grid(p.by_key, keys), x, a.inputs[6], a.inputs[7],
         a.workspace, a.outputs[1], a.outputs[2], sizes);
}

}  // namespace

void register_attention(Kernels& kernels) {
  kernels.add(make_kernel<prepare_attention, launch_attention>(
      "ScaledDotProductAttention", "cuda.attention", kFloats, attention_fits));
  kernels.add(make_kernel<prepare_attention_grad, launch_attention_grad>(
      "ScaledDotProductAttentionGrad", "cuda.attention_grad", kFloats, attention_fits));
}

}  // namespace tandem::cuda
