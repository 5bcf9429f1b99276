// Layer normalisation and its gradient: float32, float64 (float16 and bfloat16 through
// float32).
#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_rows.h"
#include "kernels/cpu/nn_typed.h"
#include "tandem/ops/nn_norm.h"

namespace tandem::cpu {

namespace {

constexpr int kLayerNormParts = 16;  // partial sums of the parameters' gradients

struct LayerNormPlan {
  int64_t rows = 0, n = 0;
  double epsilon = 0;
  size_t workspace_bytes = 0;
};

LayerNormPlan plan_layer_norm(const Signature& s, const Shape& x) {
  const auto& attrs = s.attrs.as<nn::LayerNormAttrs>();
  const int kept = x.rank() - static_cast<int>(attrs.axis.size());
  return {.rows = x.slice(0, kept).num_elements(),
          .n = x.slice(kept, x.rank()).num_elements(),
          .epsilon = attrs.epsilon};
}
LayerNormPlan prepare_layer_norm(const Signature& s) {
  return plan_layer_norm(s, s.in(0).shape);
}
LayerNormPlan prepare_layer_norm_grad(const Signature& s) {
  LayerNormPlan p = plan_layer_norm(s, s.in(1).shape);
  p.workspace_bytes =
      static_cast<size_t>(2 * kLayerNormParts * p.n) * dtype_size(s.in(1).dtype);
  return p;
}

int64_t layer_norm_grain(const LayerNormPlan& p) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(p.n, 1));
}

template <class T>
void launch_layer_norm(const LayerNormPlan& p, const LaunchArgs& a) {
  const auto row = best::row_loops<T>().layer_norm;
  parallel_for(p.rows, layer_norm_grain(p), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      row(a.in<T>(0) + i * p.n, a.in<T>(1), a.in<T>(2), static_cast<T>(p.epsilon),
          a.out<T>() + i * p.n, p.n);
    }
  });
}

template <class T>
void launch_layer_norm_grad(const LayerNormPlan& p, const LaunchArgs& a) {
  const auto row = best::row_loops<T>().layer_norm_grad;
  const T *dy = a.in<T>(0), *x = a.in<T>(1), *gamma = a.in<T>(2);
  T* sums = static_cast<T*>(a.workspace);
  const int parts = parallel_parts(
      p.rows, layer_norm_grain(p), kLayerNormParts, [&](int part, int64_t b, int64_t e) {
        T* dgamma = sums + 2 * part * p.n;
        std::fill_n(dgamma, 2 * p.n, T(0));
        for (int64_t i = b; i < e; ++i) {
          row(dy + i * p.n, x + i * p.n, gamma, static_cast<T>(p.epsilon),
              a.out<T>(0) + i * p.n, dgamma, dgamma + p.n, p.n);
        }
      });
  parallel_for(p.n, 8192, [&](int64_t b, int64_t e) {
    for (int output = 0; output < 2; ++output) {
      T* out = a.out<T>(1 + output);
      std::fill(out + b, out + e, T(0));
      for (int part = 0; part < parts; ++part) {
        const T* sum = sums + (2 * part + output) * p.n;
        for (int64_t i = b; i < e; ++i) out[i] += sum[i];
      }
    }
  });
}

}  // namespace

void register_nn_layer_norm_kernels(KernelRegistry& registry) {
  add_float_kernels<prepare_layer_norm, launch_layer_norm<float>,
                    launch_layer_norm<double>>(registry, "LayerNorm");
  add_float_kernels<prepare_layer_norm_grad, launch_layer_norm_grad<float>,
                    launch_layer_norm_grad<double>>(registry, "LayerNormGrad");
}

}  // namespace tandem::cpu
