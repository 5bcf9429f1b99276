// Attention in blocks of queries and keys: float32, float64 (float16 and bfloat16 through
// float32). A block of scores lives in the workspace of the thread that makes it; softmax
// is carried along the keys.
#include "ops/nn_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/nn_attention_loops.h"
#include "kernels/cpu/nn_gemm.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_typed.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kQueries = 64, kKeys = 256;
constexpr int kAttentionParts = 64;

struct Strides {
  int64_t batch = 0, head = 0, time = 0;  // of [batch, head, time, size] in elements
};

struct AttentionPlan {
  nn::AttentionShape shape;
  bool causal = false, bias_grad = false;
  double scale = 1;
  Strides q, k, v, out;
  int64_t mask[4] = {}, bias[4] = {};  // steps over [batch, head, query, key]
  int64_t part_elements = 0;           // workspace of one part
  size_t workspace_bytes = 0;
  int64_t group() const { return shape.heads / std::max<int64_t>(shape.key_heads, 1); }
};

Strides strides_of(bool heads_first, int64_t heads, int64_t time, int64_t size) {
  return heads_first ? Strides{heads * time * size, time * size, size}
                     : Strides{time * heads * size, size, heads * size};
}

void broadcast_steps(const TensorInfo& t, int64_t (&steps)[4]) {
  if (t.dtype == DType::kInvalid) return;
  int64_t step = 1;
  for (int i = t.shape.rank() - 1; i >= 0; --i) {
    steps[4 - t.shape.rank() + i] = t.shape[i] == 1 ? 0 : step;
    step *= t.shape[i];
  }
}

AttentionPlan plan_attention(const Signature& s, const nn::AttentionAttrs& attrs) {
  AttentionPlan p;
  const nn::AttentionShape a =
      nn::attention_shape(s.op->name, attrs, s.in(0).shape, s.in(1).shape, s.in(2).shape);
  p.shape = a;
  p.causal = attrs.causal;
  p.scale = attrs.scale != 0
                ? attrs.scale
                : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(a.size, 1)));
  p.q = strides_of(attrs.heads_first, a.heads, a.queries, a.size);
  p.k = strides_of(attrs.heads_first, a.key_heads, a.keys, a.size);
  p.v = strides_of(attrs.heads_first, a.key_heads, a.keys, a.value_size);
  p.out = strides_of(attrs.heads_first, a.heads, a.queries, a.value_size);
  broadcast_steps(s.in(3), p.mask);
  broadcast_steps(s.in(4), p.bias);
  return p;
}

void size_workspace(AttentionPlan& p, int64_t units, int64_t elements, DType dtype) {
  p.part_elements = (elements + 15) / 16 * 16;
  p.workspace_bytes =
      static_cast<size_t>(std::min<int64_t>(units, kAttentionParts) * p.part_elements) *
      dtype_size(dtype);
}

AttentionPlan prepare_attention(const Signature& s) {
  AttentionPlan p = plan_attention(s, s.attrs.as<nn::AttentionAttrs>());
  const int64_t blocks = (p.shape.queries + kQueries - 1) / kQueries;
  size_workspace(p, p.shape.batch * p.shape.heads * blocks,
                 kQueries * (kKeys + p.shape.value_size + 2), s.in(0).dtype);
  return p;
}

AttentionPlan prepare_attention_grad(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::AttentionGradAttrs>();
  AttentionPlan p = plan_attention(s, nn::forward_attrs(attrs));
  p.bias_grad = attrs.bias_grad;
  size_workspace(p, p.shape.batch * p.shape.key_heads,
                 2 * kQueries * kKeys + p.shape.queries, s.in(0).dtype);
  return p;
}

/// Where the bias and mask of query `q`, keys from `k0` on, are.
template <class T>
ScoreRow<T> score_row(const AttentionPlan& p, const LaunchArgs& a, int64_t b, int64_t h,
                      int64_t q, int64_t k0) {
  const auto at = [&](const int64_t (&steps)[4]) {
    return b * steps[0] + h * steps[1] + q * steps[2] + k0 * steps[3];
  };
  const T* bias = a.in<T>(4);
  const bool* mask = a.in<bool>(3);
  return {
      .scale = static_cast<T>(p.scale),
      .bias = bias ? bias + at(p.bias) : nullptr,
      .bias_step = p.bias[3],
      .mask = mask ? mask + at(p.mask) : nullptr,
      .mask_step = p.mask[3],
      .allowed = p.causal ? q + p.shape.keys - p.shape.queries + 1 - k0 : p.shape.keys};
}

// Keys that the queries before `q_end` may see.
int64_t visible_keys(const AttentionPlan& p, int64_t q_end) {
  if (!p.causal) return p.shape.keys;
  return std::clamp<int64_t>(q_end + p.shape.keys - p.shape.queries, 0, p.shape.keys);
}

template <class T>
void forward_block(const AttentionPlan& p, const LaunchArgs& a, int64_t b, int64_t h,
                   int64_t q0, T* workspace) {
  const AttentionLoops<T>& loops = best::attention_loops<T>();
  const nn::AttentionShape& s = p.shape;
  const int64_t n = std::min(kQueries, s.queries - q0), kv = h / p.group();
  T *scores = workspace, *acc = scores + kQueries * kKeys;
  T *max = acc + kQueries * s.value_size, *sum = max + kQueries;
  const T* q = a.in<T>(0) + b * p.q.batch + h * p.q.head + q0 * p.q.time;
  const T* k = a.in<T>(1) + b * p.k.batch + kv * p.k.head;
  const T* v = a.in<T>(2) + b * p.v.batch + kv * p.v.head;
  std::fill_n(acc, n * s.value_size, T(0));
  std::fill_n(max, n, -std::numeric_limits<T>::infinity());
  std::fill_n(sum, n, T(0));
  const int64_t keys = visible_keys(p, q0 + n);
  for (int64_t k0 = 0; k0 < keys; k0 += kKeys) {
    const int64_t m = std::min(kKeys, keys - k0);
    gemm({.m = n, .n = m, .k = s.size, .transpose_b = true}, T(1), q, p.q.time,
         k + k0 * p.k.time, p.k.time, T(0), scores, kKeys);
    for (int64_t i = 0; i < n; ++i) {
      const T correction = loops.online_softmax(score_row<T>(p, a, b, h, q0 + i, k0),
                                                scores + i * kKeys, m, max + i, sum + i);
      if (correction != T(1))
        loops.scale(acc + i * s.value_size, correction, s.value_size);
    }
    gemm({.m = n, .n = s.value_size, .k = m}, T(1), scores, kKeys, v + k0 * p.v.time,
         p.v.time, T(1), acc, s.value_size);
  }
  T* out = a.out<T>(0) + b * p.out.batch + h * p.out.head + q0 * p.out.time;
  T* log_sum = a.out<T>(1) + (b * s.heads + h) * s.queries + q0;
  for (int64_t i = 0; i < n; ++i) {
    const T* from = acc + i * s.value_size;
    // A row with nothing visible is zero; an infinite sum makes its probabilities zero
    // again.
    const T scale = sum[i] > T(0) || sum[i] != sum[i] ? T(1) / sum[i] : T(0);
    for (int64_t j = 0; j < s.value_size; ++j) out[i * p.out.time + j] = from[j] * scale;
    log_sum[i] =
        scale != T(0) ? max[i] + std::log(sum[i]) : std::numeric_limits<T>::infinity();
  }
}

template <class T>
void launch_attention(const AttentionPlan& p, const LaunchArgs& a) {
  const nn::AttentionShape& s = p.shape;
  const int64_t blocks = (s.queries + kQueries - 1) / kQueries;
  const double work =
      static_cast<double>(kQueries * s.keys) * static_cast<double>(s.size + s.value_size);
  const int64_t grain =
      std::max<int64_t>(1, static_cast<int64_t>(1e6 / std::max(work, 1.0)));
  parallel_parts(s.batch * s.heads * blocks, grain, kAttentionParts,
                 [&](int part, int64_t begin, int64_t end) {
                   T* mine = static_cast<T*>(a.workspace) + part * p.part_elements;
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t head = i / blocks;
                     forward_block<T>(p, a, head / s.heads, head % s.heads,
                                      i % blocks * kQueries, mine);
                   }
                 });
}

// All query heads that share one key head, so that its gradient has one writer.
template <class T>
void backward_head(const AttentionPlan& p, const LaunchArgs& a, int64_t b, int64_t kv,
                   T* workspace) {
  const AttentionLoops<T>& loops = best::attention_loops<T>();
  const nn::AttentionShape& s = p.shape;
  T *prob = workspace, *grad = prob + kQueries * kKeys, *dots = grad + kQueries * kKeys;
  const T scale = static_cast<T>(p.scale);
  const T* k = a.in<T>(1) + b * p.k.batch + kv * p.k.head;
  const T* v = a.in<T>(2) + b * p.v.batch + kv * p.v.head;
  T* dk = a.out<T>(1) + b * p.k.batch + kv * p.k.head;
  T* dv = a.out<T>(2) + b * p.v.batch + kv * p.v.head;
  for (int64_t i = 0; i < s.keys; ++i) {
    std::fill_n(dk + i * p.k.time, s.size, T(0));
    std::fill_n(dv + i * p.v.time, s.value_size, T(0));
  }
  for (int64_t h = kv * p.group(); h < (kv + 1) * p.group(); ++h) {
    const T* q = a.in<T>(0) + b * p.q.batch + h * p.q.head;
    const T* out = a.in<T>(5) + b * p.out.batch + h * p.out.head;
    const T* log_sum = a.in<T>(6) + (b * s.heads + h) * s.queries;
    const T* dout = a.in<T>(7) + b * p.out.batch + h * p.out.head;
    T* dq = a.out<T>(0) + b * p.q.batch + h * p.q.head;
    for (int64_t i = 0; i < s.queries; ++i) {
      dots[i] = loops.dot(out + i * p.out.time, dout + i * p.out.time, s.value_size);
      std::fill_n(dq + i * p.q.time, s.size, T(0));
    }
    for (int64_t q0 = 0; q0 < s.queries; q0 += kQueries) {
      const int64_t n = std::min(kQueries, s.queries - q0);
      const int64_t keys = p.bias_grad ? s.keys : visible_keys(p, q0 + n);
      const T *q_block = q + q0 * p.q.time, *do_block = dout + q0 * p.out.time;
      for (int64_t k0 = 0; k0 < keys; k0 += kKeys) {
        const int64_t m = std::min(kKeys, keys - k0);
        gemm({.m = n, .n = m, .k = s.size, .transpose_b = true}, T(1), q_block, p.q.time,
             k + k0 * p.k.time, p.k.time, T(0), prob, kKeys);
        gemm({.m = n, .n = m, .k = s.value_size, .transpose_b = true}, T(1), do_block,
             p.out.time, v + k0 * p.v.time, p.v.time, T(0), grad, kKeys);
        for (int64_t i = 0; i < n; ++i) {
          loops.probabilities(score_row<T>(p, a, b, h, q0 + i, k0), prob + i * kKeys, m,
                              log_sum[q0 + i]);
          loops.score_grad(prob + i * kKeys, grad + i * kKeys, dots[q0 + i], m);
          if (p.bias_grad) {
            std::copy_n(
                grad + i * kKeys, m,
                a.out<T>(3) + ((b * s.heads + h) * s.queries + q0 + i) * s.keys + k0);
          }
        }
        gemm({.m = m, .n = s.value_size, .k = n, .transpose_a = true}, T(1), prob, kKeys,
             do_block, p.out.time, T(1), dv + k0 * p.v.time, p.v.time);
        gemm({.m = m, .n = s.size, .k = n, .transpose_a = true}, scale, grad, kKeys,
             q_block, p.q.time, T(1), dk + k0 * p.k.time, p.k.time);
        gemm({.m = n, .n = s.size, .k = m}, scale, grad, kKeys, k + k0 * p.k.time,
             p.k.time, T(1), dq + q0 * p.q.time, p.q.time);
      }
    }
  }
}

template <class T>
void launch_attention_grad(const AttentionPlan& p, const LaunchArgs& a) {
  const nn::AttentionShape& s = p.shape;
  const double work = static_cast<double>(s.queries * s.keys * p.group()) *
                      static_cast<double>(s.size + s.value_size);
  const int64_t grain =
      std::max<int64_t>(1, static_cast<int64_t>(1e6 / std::max(work, 1.0)));
  parallel_parts(s.batch * s.key_heads, grain, kAttentionParts,
                 [&](int part, int64_t begin, int64_t end) {
                   T* mine = static_cast<T*>(a.workspace) + part * p.part_elements;
                   for (int64_t i = begin; i < end; ++i) {
                     backward_head<T>(p, a, i / s.key_heads, i % s.key_heads, mine);
                   }
                 });
}

}  // namespace

void register_nn_attention_kernels(KernelRegistry& registry) {
  add_float_kernels<prepare_attention, launch_attention<float>, launch_attention<double>>(
      registry, "ScaledDotProductAttention");
  add_float_kernels<prepare_attention_grad, launch_attention_grad<float>,
                    launch_attention_grad<double>>(registry,
                                                   "ScaledDotProductAttentionGrad");
}

}  // namespace tandem::cpu
