// Cross-entropies of softmax: float32, float64 (float16 and bfloat16 through float32).
#include <vector>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_rows.h"
#include "kernels/cpu/nn_short_rows.h"
#include "kernels/cpu/nn_typed.h"
#include "ops/fused_losses.h"

namespace tandem::cpu {

namespace {

struct CrossEntropyPlan {
  int64_t rows = 0, classes = 0;
  // Steps of logits and labels along rows and classes; 0 where they broadcast.
  int64_t x_row = 0, x_step = 0, label_row = 0, label_step = 0;
  DType labels = DType::kInt32;
};

void row_and_step(const Shape& shape, int64_t* row, int64_t* step) {
  const int64_t classes = shape.rank() > 0 ? shape.dim(-1) : 1;
  const int64_t rows = shape.rank() > 1 ? shape[0] : 1;
  *step = classes == 1 ? 0 : 1;
  *row = rows == 1 ? 0 : classes;
}

CrossEntropyPlan prepare_cross_entropy(const Signature& s) {
  CrossEntropyPlan p;
  p.rows = s.out(1).shape[0];
  p.classes = s.out(1).shape[1];
  p.labels = s.in(1).dtype;
  row_and_step(s.in(0).shape, &p.x_row, &p.x_step);
  row_and_step(s.in(1).shape, &p.label_row, &p.label_step);
  return p;
}

int64_t cross_entropy_grain(const CrossEntropyPlan& p) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(p.classes, 1));
}

bool is_short(const CrossEntropyPlan& p) {
  return p.classes > 1 && p.classes <= kShortRow;
}

template <class T>
void launch_dense(const CrossEntropyPlan& p, const LaunchArgs& a) {
  const auto row = best::row_loops<T>().cross_entropy;
  const T *x = a.in<T>(0), *labels = a.in<T>(1);
  T *loss = a.out<T>(0), *backprop = a.out<T>(1);
  if (is_short(p) && p.x_row == p.classes && p.label_row == p.classes) {
    const auto rows = best::short_row_loops<T>().cross_entropy;
    parallel_for(p.rows, short_row_grain(p.classes), [&](int64_t b, int64_t e) {
      const int64_t at = b * p.classes;
      rows(x + at, labels + at, loss + b, backprop + at, p.classes, e - b);
    });
    return;
  }
  parallel_for(p.rows, cross_entropy_grain(p), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      loss[i] = p.classes == 0 ? T(0)
                               : row(x + i * p.x_row, p.x_step, labels + i * p.label_row,
                                     p.label_step, backprop + i * p.classes, p.classes);
    }
  });
}

int64_t label_at(const CrossEntropyPlan& p, const LaunchArgs& a, int64_t i) {
  return p.labels == DType::kInt32 ? a.in<int32_t>(1)[i] : a.in<int64_t>(1)[i];
}

[[noreturn]] void bad_label(const CrossEntropyPlan& p, const LaunchArgs& a,
                            int64_t value) {
  std::string values;
  for (int64_t i = 0; i < p.rows && i < 64; ++i) {
    values += fmt::format("{}{}", i ? " " : "", label_at(p, a, i));
  }
  if (p.rows > 64) values += " ...";
  throw InvalidArgumentError(
      fmt::format("SparseSoftmaxCrossEntropyWithLogits: Received a label value of {} "
                  "which is outside the "
                  "valid range of [0, {}).  Label values: {}",
                  value, p.classes, values));
}

void check_labels(const CrossEntropyPlan& p, const LaunchArgs& a) {
  for (int64_t i = 0; i < p.rows; ++i) {
    const int64_t label = label_at(p, a, i);
    if (label < 0 || label >= p.classes) bad_label(p, a, label);
  }
}

template <class T>
void launch_sparse_cross_entropy(const CrossEntropyPlan& p, const LaunchArgs& a) {
  const auto row = best::row_loops<T>().sparse_cross_entropy;
  check_labels(p, a);
  const T* x = a.in<T>(0);
  T *loss = a.out<T>(0), *backprop = a.out<T>(1);
  if (is_short(p)) {
    const ShortRowLoops<T>& few = best::short_row_loops<T>();
    parallel_for(p.rows, short_row_grain(p.classes), [&](int64_t b, int64_t e) {
      const auto run = [&](auto rows, const auto* labels) {
        rows(x + b * p.classes, labels + b, loss + b, backprop + b * p.classes, p.classes,
             e - b);
      };
      if (p.labels == DType::kInt32) {
        run(few.sparse_cross_entropy_32, a.in<int32_t>(1));
      } else {
        run(few.sparse_cross_entropy_64, a.in<int64_t>(1));
      }
    });
    return;
  }
  parallel_for(p.rows, cross_entropy_grain(p), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      loss[i] =
          row(x + i * p.classes, label_at(p, a, i), backprop + i * p.classes, p.classes);
    }
  });
}

struct FusedSparsePlan : CrossEntropyPlan {
  bool gradient = true;
  bool scaled = false;
  int64_t scale_step = 0;
};

FusedSparsePlan prepare_fused_sparse(const Signature& s) {
  FusedSparsePlan p;
  p.rows = s.in(0).shape[0];
  p.classes = s.in(0).shape[1];
  p.labels = s.in(1).dtype;
  p.gradient = s.attrs.as<FusedSparseCrossEntropyAttrs>().gradient;
  p.scaled = s.inputs.size() > kLossScale && s.in(kLossScale).dtype != DType::kInvalid;
  p.scale_step = p.scaled && s.in(kLossScale).shape.rank() == 1 ? 1 : 0;
  return p;
}

// Halfs through float32 (nn_through_float.h).
void launch_fused_sparse(const FusedSparsePlan& p, const LaunchArgs& a) {
  check_labels(p, a);
  const auto row = best::row_loops<float>().sparse_cross_entropy;
  const float* x = a.in<float>(0);
  const float* scale = p.scaled ? a.in<float>(kLossScale) : nullptr;
  float *loss = a.out<float>(0), *backprop = a.out<float>(1);
  parallel_for(p.rows, cross_entropy_grain(p), [&](int64_t b, int64_t e) {
    std::vector<float> unwanted(p.gradient ? 0 : static_cast<size_t>(p.classes));
    for (int64_t i = b; i < e; ++i) {
      float* to = p.gradient ? backprop + i * p.classes : unwanted.data();
      loss[i] = row(x + i * p.classes, label_at(p, a, i), to, p.classes);
      if (!p.gradient || !scale) continue;
      const float by = scale[i * p.scale_step];
      for (int64_t k = 0; k < p.classes; ++k) to[k] *= by;
    }
  });
}

}  // namespace

void register_nn_cross_entropy_kernels(KernelRegistry& registry) {
  add_float_kernels<prepare_cross_entropy, launch_dense<float>, launch_dense<double>>(
      registry, "SoftmaxCrossEntropyWithLogits");
  add_float_kernels<prepare_cross_entropy, launch_sparse_cross_entropy<float>,
                    launch_sparse_cross_entropy<double>>(
      registry, "SparseSoftmaxCrossEntropyWithLogits");
  registry.add(make_kernel<prepare_fused_sparse, launch_fused_sparse>(
      "FusedSparseCrossEntropy", "cpu.FusedSparseCrossEntropy.f32",
      mask(DType::kFloat32)));
  registry.add(make_half_kernel<prepare_fused_sparse, launch_fused_sparse>(
      "FusedSparseCrossEntropy", "cpu.FusedSparseCrossEntropy.half"));
}

}  // namespace tandem::cpu
