// Samplers that draw a varying number of random numbers per output: gamma, multinomial,
// shuffle (floating dtypes; shuffle moves any).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/parallel.h"
#include "kernels/cpu/random_common.h"

namespace tandem::cpu {

namespace {

struct GammaPlan {
  int64_t samples, alphas;
  DType dtype;
};
GammaPlan prepare_gamma(const Signature& s) {
  const int64_t alphas = s.in(3).shape.num_elements();
  const int64_t n = s.out().shape.num_elements();
  return {alphas ? n / alphas : 0, alphas, s.out().dtype};
}

// Numbers of one distribution from the blocks of one generator, last of a block first.
class GammaDraws {
 public:
  explicit GammaDraws(const Philox& g) : generator_(g) {}
  double uniform() {
    if (uniforms_ == 0) {
      const Philox::Block w = generator_.next();
      uniform_[0] = unit(w[0], w[1]);
      uniform_[1] = unit(w[2], w[3]);
      uniforms_ = 2;
    }
    return uniform_[--uniforms_];
  }
  double normal() {
    if (normals_ == 0) {
      const Philox::Block w = generator_.next();
      const double radius =
          std::sqrt(-2.0 * std::log(std::max(unit(w[0], w[1]), 1.0e-7)));
      const double angle = 2 * 3.14159265358979323846 * unit(w[2], w[3]);
      normal_[0] = std::sin(angle) * radius;
      normal_[1] = std::cos(angle) * radius;
      normals_ = 2;
    }
    return normal_[--normals_];
  }

 private:
  Philox generator_;
  double uniform_[2], normal_[2];
  int uniforms_ = 0, normals_ = 0;
};

// Marsaglia and Tsang, 2000.
double gamma_sample(double alpha, const Philox& g) {
  GammaDraws draw(g);
  if (alpha == 1.0) return -std::log1p(-draw.uniform());
  const bool small = alpha < 1;
  const double d = alpha + (small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  for (;;) {
    const double x = draw.normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = draw.uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x) ||
        std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      const double result = d * v;
      return small ? result * std::pow(draw.uniform(), 1 / alpha) : result;
    }
  }
}

double as_double(double x) { return x; }
double as_double(float x) { return static_cast<double>(x); }
template <class T>
T as_sample(double x) {
  if constexpr (std::is_same_v<T, double>) {
    return x;
  } else {
    return T(static_cast<float>(x));
  }
}

template <class T>
void gamma(const GammaPlan& p, const LaunchArgs& a) {
  const Philox base = generator(a);
  const T* alpha = a.in<T>(3);
  T* out = a.out<T>();
  parallel_for(p.alphas * p.samples, 64, [&](int64_t b, int64_t e) {
    for (int64_t k = b; k < e; ++k) {
      const int64_t which = k / p.samples, sample = k % p.samples;
      Philox g = base;
      g.skip(static_cast<uint64_t>(k) * kReservedPerOutput);
      out[sample * p.alphas + which] =
          as_sample<T>(gamma_sample(as_double(alpha[which]), g));
    }
  });
}

void launch_gamma(const GammaPlan& p, const LaunchArgs& a) {
  switch (p.dtype) {
    case DType::kFloat32:
      return gamma<float>(p, a);
    case DType::kFloat64:
      return gamma<double>(p, a);
    case DType::kFloat16:
      return gamma<float16>(p, a);
    default:
      return gamma<bfloat16>(p, a);
  }
}

struct MultinomialPlan {
  int64_t rows, classes, samples;
  DType logits, out;
  size_t workspace_bytes;
};
MultinomialPlan prepare_multinomial(const Signature& s) {
  const Shape& logits = s.in(0).shape;
  return {logits[0],     logits[1],     s.out().shape[1],
          s.in(0).dtype, s.out().dtype, static_cast<size_t>(logits[1]) * sizeof(double)};
}

template <class T, class Out>
void multinomial(const MultinomialPlan& p, const LaunchArgs& a) {
  const T* logits = a.in<T>(0);
  Out* out = a.out<Out>();
  auto* cdf = static_cast<double*>(a.workspace);
  PhiloxWords next(generator(a));
  const auto value = [](T x) { return static_cast<double>(x); };
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* row = logits + r * p.classes;
    double top = -INFINITY;
    for (int64_t i = 0; i < p.classes; ++i) {
      if (std::isfinite(value(row[i]))) top = std::max(top, value(row[i]));
    }
    double total = 0;
    for (int64_t i = 0; i < p.classes; ++i) {
      if (std::isfinite(value(row[i]))) total += std::exp(value(row[i]) - top);
      cdf[i] = total;
    }
    for (int64_t j = 0; j < p.samples; ++j) {
      const uint32_t x0 = next(), x1 = next();
      const double wanted = unit(x0, x1) * total;
      out[r * p.samples + j] =
          static_cast<Out>(std::upper_bound(cdf, cdf + p.classes, wanted) - cdf);
    }
  }
}

template <class T>
void multinomial_to(const MultinomialPlan& p, const LaunchArgs& a) {
  if (p.out == DType::kInt32) return multinomial<T, int32_t>(p, a);
  multinomial<T, int64_t>(p, a);
}

void launch_multinomial(const MultinomialPlan& p, const LaunchArgs& a) {
  switch (p.logits) {
    case DType::kFloat32:
      return multinomial_to<float>(p, a);
    case DType::kFloat64:
      return multinomial_to<double>(p, a);
    case DType::kFloat16:
      return multinomial_to<float16>(p, a);
    default:
      return multinomial_to<bfloat16>(p, a);
  }
}

struct ShufflePlan {
  int64_t rows;
  size_t row_bytes;
  bool strings;
  int64_t row_elements;
  size_t workspace_bytes;
};
ShufflePlan prepare_shuffle(const Signature& s) {
  const Shape& shape = s.in(0).shape;
  const int64_t rows = shape.rank() > 0 ? shape[0] : 1;
  const int64_t row = rows ? shape.num_elements() / rows : 0;
  return {rows, static_cast<size_t>(row) * dtype_size(s.in(0).dtype),
          s.in(0).dtype == DType::kString, row,
          static_cast<size_t>(rows) * sizeof(int64_t)};
}
void launch_shuffle(const ShufflePlan& p, const LaunchArgs& a) {
  auto* order = static_cast<int64_t*>(a.workspace);
  std::iota(order, order + p.rows, int64_t{0});
  PhiloxWords next(generator(a));
  for (int64_t i = 0; i + 1 < p.rows; ++i) {
    std::swap(order[i], order[i + next() % static_cast<uint64_t>(p.rows - i)]);
  }
  for (int64_t i = 0; i < p.rows; ++i) {
    if (p.strings) {
      const std::string* from = a.in<std::string>(0) + order[i] * p.row_elements;
      std::copy(from, from + p.row_elements, a.out<std::string>() + i * p.row_elements);
    } else {
      const size_t from = static_cast<size_t>(order[i]) * p.row_bytes;
      std::copy_n(a.in<std::byte>(0) + from, p.row_bytes,
                  a.out<std::byte>() + static_cast<size_t>(i) * p.row_bytes);
    }
  }
}

bool index_output(const Signature& s) {
  return s.out().dtype == DType::kInt32 || s.out().dtype == DType::kInt64;
}

}  // namespace

void register_random_samplers(KernelRegistry& r) {
  r.add(make_kernel<prepare_gamma, launch_gamma>("StatelessRandomGammaV3",
                                                 "cpu.random.gamma"));
  r.add(make_kernel<prepare_multinomial, launch_multinomial>(
      "StatelessMultinomialV2", "cpu.random.multinomial", kFloats, index_output));
  r.add(make_kernel<prepare_shuffle, launch_shuffle>("StatelessShuffleV2",
                                                     "cpu.random.shuffle"));
}

}  // namespace tandem::cpu
