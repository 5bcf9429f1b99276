// Batch normalisation and its gradient: float32, float64 (float16 and bfloat16 through
// float32).
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/cpu/nn_channels.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_typed.h"
#include "ops/fused_norms.h"
#include "ops/nn_geometry.h"
#include "tandem/ops/nn_norm.h"

namespace tandem::cpu {

namespace {

constexpr int kBatchNormParts = 16;

struct BatchNormPlan {
  int64_t outer = 1, channels = 0, inner = 1;
  nn::FusedBatchNormAttrs attrs;
  bool blend_moments = false;       // the given moments are mixed with the batch's
  bool relu = false, side = false;  // its end
  bool by_y = false, more = false;  // the end of a gradient
  int64_t count() const { return outer * inner; }
  int64_t grain = 1;  // rows, or runs of one channel
  size_t workspace_bytes = 0;
};

BatchNormPlan plan_batch_norm(const nn::FusedBatchNormAttrs& attrs, const TensorInfo& x) {
  BatchNormPlan p;
  p.attrs = attrs;
  const bool first = channels_first(p.attrs.data_format);
  const int axis = nn::channel_axis(x.shape.rank(), first);
  p.outer = x.shape.slice(0, axis).num_elements();
  p.channels = x.shape[axis];
  p.inner = x.shape.slice(axis + 1, x.shape.rank()).num_elements();
  p.blend_moments = p.attrs.is_training && p.attrs.exponential_avg_factor != 1;
  p.grain = std::max<int64_t>(
      1, 32768 / std::max<int64_t>(1, p.inner == 1 ? p.channels : p.inner));
  // Partial sums (two per part) and six vectors of coefficients.
  p.workspace_bytes =
      static_cast<size_t>((2 * kBatchNormParts + 6) * p.channels) * dtype_size(x.dtype);
  return p;
}
BatchNormPlan prepare_batch_norm(const Signature& s) {
  return plan_batch_norm(s.attrs.as<nn::FusedBatchNormAttrs>(), s.in(0));
}
BatchNormPlan prepare_batch_norm_ex(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedBatchNormExAttrs>();
  BatchNormPlan p = plan_batch_norm(attrs.norm(), s.in(0));
  p.relu = attrs.activation == "Relu";
  p.side = s.inputs.size() > kNormSide && s.in(kNormSide).dtype != DType::kInvalid;
  return p;
}
BatchNormPlan prepare_batch_norm_grad(const Signature& s) {
  return plan_batch_norm(s.attrs.as<nn::FusedBatchNormAttrs>(), s.in(1));
}
BatchNormPlan prepare_batch_norm_grad_ex(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedBatchNormGradExAttrs>();
  BatchNormPlan p = plan_batch_norm(attrs.norm(), s.in(1));
  const auto has = [&](size_t i) {
    return s.inputs.size() > i && s.inputs[i].dtype != DType::kInvalid;
  };
  p.by_y = has(kNormGradY);
  p.more = has(kNormGradMore);
  p.side = attrs.side;
  return p;
}

/// K sums per channel. rows(first row, count, sums) and run(first element, channel, sums)
/// add to sums[k * channels + channel].
template <class T, int K, class Rows, class Run>
void sum_channels(const BatchNormPlan& p, T* parts_of, T* result, Rows rows, Run run) {
  const int64_t c = p.channels;
  std::fill_n(result, K * c, T(0));
  if (p.inner == 1) {
    const int parts = parallel_parts(p.outer, p.grain, kBatchNormParts,
                                     [&](int part, int64_t b, int64_t e) {
                                       T* sums = parts_of + part * K * c;
                                       std::fill_n(sums, K * c, T(0));
                                       rows(b, e - b, sums);
                                     });
    for (int part = 0; part < parts; ++part) {
      for (int64_t i = 0; i < K * c; ++i) result[i] += parts_of[part * K * c + i];
    }
    return;
  }
  parallel_for(c, std::max<int64_t>(1, p.grain / std::max<int64_t>(p.outer, 1)),
               [&](int64_t b, int64_t e) {
                 for (int64_t channel = b; channel < e; ++channel) {
                   for (int64_t o = 0; o < p.outer; ++o) {
                     run((o * c + channel) * p.inner, channel, result);
                   }
                 }
               });
}

/// rows(first row, count) or run(first element, channel) over the whole tensor.
template <class Rows, class Run>
void for_channels(const BatchNormPlan& p, Rows rows, Run run) {
  if (p.inner == 1) {
    parallel_for(p.outer, p.grain, [&](int64_t b, int64_t e) { rows(b, e - b); });
    return;
  }
  parallel_for(p.outer * p.channels, p.grain, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) run(i * p.inner, i % p.channels);
  });
}

// Mean and population variance of the batch.
template <class T>
void batch_moments(const BatchNormPlan& p, const T* x, T* parts, T* mean, T* variance) {
  const ChannelLoops<T>& loops = best::channel_loops<T>();
  const int64_t c = p.channels;
  sum_channels<T, 1>(
      p, parts, mean,
      [&](int64_t row, int64_t n, T* sums) { loops.sum_rows(x + row * c, n, c, sums); },
      [&](int64_t at, int64_t channel, T* sums) {
        sums[channel] += loops.sum_run(x + at, p.inner);
      });
  const T scale = T(1) / static_cast<T>(std::max<int64_t>(p.count(), 1));
  for (int64_t i = 0; i < c; ++i) mean[i] *= scale;
  sum_channels<T, 1>(
      p, parts, variance,
      [&](int64_t row, int64_t n, T* sums) {
        loops.square_rows(x + row * c, mean, n, c, sums);
      },
      [&](int64_t at, int64_t channel, T* sums) {
        sums[channel] += loops.square_run(x + at, mean[channel], p.inner);
      });
  for (int64_t i = 0; i < c; ++i) variance[i] *= scale;
}

/// (x - mean) * factor + offset.
template <class T>
void affine(const BatchNormPlan& p, const T* x, const T* mean, const T* factor,
            const T* offset, T* y) {
  const ChannelLoops<T>& loops = best::channel_loops<T>();
  const int64_t c = p.channels;
  for_channels(
      p,
      [&](int64_t row, int64_t n) {
        loops.affine_rows(x + row * c, mean, factor, offset, n, c, y + row * c);
      },
      [&](int64_t at, int64_t channel) {
        loops.affine_run(x + at, mean[channel], factor[channel], offset[channel], p.inner,
                         y + at);
      });
}

template <class T>
void launch_batch_norm(const BatchNormPlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels;
  const T *x = a.in<T>(0), *scale = a.in<T>(1), *offset = a.in<T>(2);
  const T *given_mean = a.in<T>(3), *given_variance = a.in<T>(4);
  T *y = a.out<T>(0), *out_mean = a.out<T>(1), *out_variance = a.out<T>(2);
  T *mean = a.out<T>(3), *variance = a.out<T>(4);
  T* parts = static_cast<T*>(a.workspace);
  T* factor = parts + 2 * kBatchNormParts * c;
  if (p.attrs.is_training) {
    batch_moments(p, x, parts, mean, variance);
    const T n = static_cast<T>(p.count());
    const T unbias = n > 1 ? n / (n - 1) : T(1);
    const T f = static_cast<T>(p.attrs.exponential_avg_factor);
    for (int64_t i = 0; i < c; ++i) {
      out_mean[i] = p.blend_moments ? (1 - f) * given_mean[i] + f * mean[i] : mean[i];
      out_variance[i] = p.blend_moments
                            ? (1 - f) * given_variance[i] + f * variance[i] * unbias
                            : variance[i] * unbias;
    }
  } else {
    for (int64_t i = 0; i < c; ++i) {
      mean[i] = out_mean[i] = given_mean[i];
      variance[i] = out_variance[i] = given_variance[i];
    }
  }
  const T epsilon = static_cast<T>(p.attrs.epsilon);
  for (int64_t i = 0; i < c; ++i) factor[i] = scale[i] / std::sqrt(variance[i] + epsilon);
  affine<T>(p, x, mean, factor, offset, y);
}

/// The result once more, for what comes after it: it is still in a cache, or it is large.
template <class T>
void launch_batch_norm_ex(const BatchNormPlan& p, const LaunchArgs& a) {
  launch_batch_norm<T>(p, a);
  const T* side = p.side ? a.in<T>(kNormSide) : nullptr;
  T* y = a.out<T>(0);
  parallel_for(p.count() * p.channels, 32768, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const T v = side ? y[i] + side[i] : y[i];
      y[i] = !p.relu || v > T(0) || v != v ? v : T(0);
    }
  });
}

/// `dy` may be dx: an element is read before it is written.
template <class T>
void norm_gradient(const BatchNormPlan& p, const LaunchArgs& a, const T* dy) {
  const ChannelLoops<T>& loops = best::channel_loops<T>();
  const int64_t c = p.channels;
  const T *x = a.in<T>(1), *scale = a.in<T>(2);
  const T *mean = a.in<T>(3), *variance = a.in<T>(4);
  T *dx = a.out<T>(0), *dscale = a.out<T>(1), *doffset = a.out<T>(2);
  T* parts = static_cast<T*>(a.workspace);
  T* sums = parts + 2 * kBatchNormParts * c;  // Σ dy, Σ dy (x - mean)
  sum_channels<T, 2>(
      p, parts, sums,
      [&](int64_t row, int64_t n, T* s) {
        loops.dot_rows(dy + row * c, x + row * c, mean, n, c, s, s + c);
      },
      [&](int64_t at, int64_t channel, T* s) {
        loops.dot_run(dy + at, x + at, mean[channel], p.inner, s + channel,
                      s + c + channel);
      });
  T *by_dy = sums + 2 * c, *by_x = by_dy + c, *shift = by_x + c;
  const T n = static_cast<T>(std::max<int64_t>(p.count(), 1));
  const T epsilon = static_cast<T>(p.attrs.epsilon);
  for (int64_t i = 0; i < c; ++i) {
    const T r = T(1) / std::sqrt(variance[i] + epsilon);
    doffset[i] = sums[i];
    dscale[i] = sums[c + i] * r;
    by_dy[i] = scale[i] * r;
    by_x[i] = p.attrs.is_training ? -by_dy[i] * r * r * sums[c + i] / n : T(0);
    shift[i] = p.attrs.is_training ? -by_dy[i] * sums[i] / n : T(0);
  }
  for_channels(
      p,
      [&](int64_t row, int64_t rows) {
        loops.blend_rows(dy + row * c, x + row * c, mean, by_dy, by_x, shift, rows, c,
                         dx + row * c);
      },
      [&](int64_t at, int64_t k) {
        loops.blend_run(dy + at, x + at, mean[k], by_dy[k], by_x[k], shift[k], p.inner,
                        dx + at);
      });
}
template <class T>
void launch_batch_norm_grad(const BatchNormPlan& p, const LaunchArgs& a) {
  norm_gradient<T>(p, a, a.in<T>(0));
}

/// What is left of the gradient where relu's result was positive, then as above.
template <class T>
void launch_batch_norm_grad_ex(const BatchNormPlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels;
  const T *dy = a.in<T>(0), *x = a.in<T>(1), *scale = a.in<T>(2), *mean = a.in<T>(3),
          *variance = a.in<T>(4), *y = a.in<T>(kNormGradY);
  const T* more = p.more ? a.in<T>(kNormGradMore) : nullptr;
  T* left = p.side ? a.out<T>(kNormGradSide) : a.out<T>(0);
  if (!p.by_y) {  // relu's result again, as the normalisation computes it
    const T* offset = a.in<T>(kNormGradOffset);
    T* factor = static_cast<T*>(a.workspace) + 2 * kBatchNormParts * c;
    const T epsilon = static_cast<T>(p.attrs.epsilon);
    for (int64_t i = 0; i < c; ++i) {
      factor[i] = scale[i] / std::sqrt(variance[i] + epsilon);
    }
    affine<T>(p, x, mean, factor, offset, left);
    y = left;
  }
  parallel_for(p.count() * c, 32768, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const T sum = more ? dy[i] + more[i] : dy[i];
      left[i] = y[i] > T(0) ? sum : T(0);
    }
  });
  norm_gradient<T>(p, a, left);
}

}  // namespace

void register_nn_batch_norm_kernels(KernelRegistry& registry) {
  add_float_kernels<prepare_batch_norm, launch_batch_norm<float>,
                    launch_batch_norm<double>>(registry, "FusedBatchNormV3");
  add_float_kernels<prepare_batch_norm_ex, launch_batch_norm_ex<float>,
                    launch_batch_norm_ex<double>>(registry, "FusedBatchNormEx");
  add_float_kernels<prepare_batch_norm_grad, launch_batch_norm_grad<float>,
                    launch_batch_norm_grad<double>>(registry, "FusedBatchNormGradV3");
  add_float_kernels<prepare_batch_norm_grad_ex, launch_batch_norm_grad_ex<float>,
                    launch_batch_norm_grad_ex<double>>(registry, "FusedBatchNormGradEx");
}

}  // namespace tandem::cpu
