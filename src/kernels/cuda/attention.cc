// ScaledDotProductAttention and its gradient: floats; half precision computes in float32.
// Kernels of our own with exact sums in a fixed order, fast for short sequences; long
// ones want tensor cores.
#include <cmath>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "ops/nn_attention.h"

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

/// As device/attention.cuh has them.
struct Sizes {
  int64_t batch, queries, keys, heads, key_heads;
  int64_t mask_steps[4], bias_steps[4];
  double scale;
  int causal;
};
struct Inputs {
  const void *q, *k, *v, *mask, *bias;
};

struct AttentionPlan {
  Function forward, by_query, by_key;
  Sizes sizes{};
  bool mask = false, bias = false, scores = false;
  size_t workspace_bytes = 0;
};

constexpr int64_t kLargest = 512;  // of a head: what a lane keeps in registers

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

nn::AttentionAttrs attrs_of(const Signature& s) {
  return s.op->name.ends_with("Grad")
             ? nn::forward_attrs(s.attrs.as<nn::AttentionGradAttrs>())
             : s.attrs.as<nn::AttentionAttrs>();
}
nn::AttentionShape shape_of(const Signature& s) {
  return nn::attention_shape(s.op->name, attrs_of(s), s.in(0).shape, s.in(1).shape,
                             s.in(2).shape);
}
bool fits(const Signature& s) {
  const nn::AttentionShape a = shape_of(s);
  return a.size > 0 && a.value_size > 0 && a.size <= kLargest && a.value_size <= kLargest;
}

AttentionPlan plan(const Signature& s) {
  const nn::AttentionShape a = shape_of(s);
  const nn::AttentionAttrs attrs = attrs_of(s);
  AttentionPlan p;
  p.sizes.batch = a.batch;
  p.sizes.queries = a.queries;
  p.sizes.keys = a.keys;
  p.sizes.heads = a.heads;
  p.sizes.key_heads = a.key_heads;
  p.sizes.scale =
      attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(a.size));
  p.sizes.causal = attrs.causal;
  p.mask = s.inputs.size() > 3 && s.in(3).dtype != DType::kInvalid;
  p.bias = s.inputs.size() > 4 && s.in(4).dtype != DType::kInvalid;
  if (p.mask) set_steps(s.in(3).shape, p.sizes.mask_steps);
  if (p.bias) set_steps(s.in(4).shape, p.sizes.bias_steps);
  gpu_of(s).activate();
  return p;
}
std::string text_of(const Signature& s) {
  const nn::AttentionShape a = shape_of(s);
  return attention_text(s.in(0).dtype, a.size, a.value_size, attrs_of(s).heads_first);
}
AttentionPlan prepare(const Signature& s) {
  AttentionPlan p = plan(s);
  p.forward = find_function(s.device, s.op->name, text_of(s), "attention");
  return p;
}
AttentionPlan prepare_grad(const Signature& s) {
  AttentionPlan p = plan(s);
  const std::string text = text_of(s);
  p.by_query = find_function(s.device, s.op->name, text, "by_query");
  p.by_key = find_function(s.device, s.op->name, text, "by_key");
  p.scores = s.attrs.as<nn::AttentionGradAttrs>().bias_grad;
  p.workspace_bytes =
      static_cast<size_t>(p.sizes.batch * p.sizes.heads * p.sizes.queries) *
      (s.in(0).dtype == DType::kFloat64 ? 8 : 4);
  return p;
}

Inputs inputs_of(const AttentionPlan& p, const LaunchArgs& a) {
  return {a.inputs[0], a.inputs[1], a.inputs[2], p.mask ? a.inputs[3] : nullptr,
          p.bias ? a.inputs[4] : nullptr};
}
Grid grid_of(const Function& f, int64_t rows) { return grid_for(f, rows * 32, 128); }

void launch_attention(const AttentionPlan& p, const LaunchArgs& a) {
  const int64_t rows = p.sizes.batch * p.sizes.heads * p.sizes.queries;
  if (rows == 0) return;
  launch(p.forward, *a.stream, grid_of(p.forward, rows), inputs_of(p, a), a.outputs[0],
         a.outputs[1], p.sizes);
}
void launch_grad(const AttentionPlan& p, const LaunchArgs& a) {
  const int64_t rows = p.sizes.batch * p.sizes.heads * p.sizes.queries;
  const Inputs x = inputs_of(p, a);
  if (rows > 0) {
    launch(p.by_query, *a.stream, grid_of(p.by_query, rows), x, a.inputs[5], a.inputs[6],
           a.inputs[7], a.outputs[0], p.scores ? a.outputs[3] : nullptr, a.workspace,
           p.sizes);
  }
  const int64_t keys = p.sizes.batch * p.sizes.key_heads * p.sizes.keys;
  if (keys == 0) return;
  launch(p.by_key, *a.stream, grid_of(p.by_key, keys), x, a.inputs[6], a.inputs[7],
         a.workspace, a.outputs[1], a.outputs[2], p.sizes);
}

}  // namespace

void register_attention(Kernels& kernels) {
  kernels.add(make_kernel<prepare, launch_attention>("ScaledDotProductAttention",
                                                     "cuda.attention", kFloats, fits));
  kernels.add(make_kernel<prepare_grad, launch_grad>(
      "ScaledDotProductAttentionGrad", "cuda.attention_grad", kFloats, fits));
}

}  // namespace tandem::cuda
