// Samplers with parameters for every element: each element has its own part of the
// generator's sequence, so that threads and shapes do not matter. float32 and float64.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/cpu/random_common.h"
#include "kernels/cpu/random_state.h"
#include "op/kernel.h"

namespace tandem::cpu {

namespace {

/// Uniform numbers in [0, 1) of one element.
class Uniforms {
 public:
  Uniforms(Philox generator, int64_t element) : words_(at(generator, element)) {}
  double operator()() {
    const uint32_t x0 = words_(), x1 = words_();
    return unit(x0, x1);
  }
  /// In (0, 1]: logarithms are finite.
  double positive() { return 1 - (*this)(); }

 private:
  static Philox at(Philox g, int64_t element) {
    g.skip(static_cast<uint64_t>(element) * kReservedPerOutput);
    return g;
  }
  PhiloxWords words_;
};

// Products of uniform numbers for small means; Hörmann's transformed rejection (PTRS,
// 1993) for others.
double poisson(double mean, Uniforms& next) {
  if (!(mean >= 0) || !std::isfinite(mean)) return std::nan("");
  if (mean < 10) {
    const double limit = std::exp(-mean);
    double product = 1, count = -1;
    do {
      product *= next.positive();
      ++count;
    } while (product > limit);
    return count;
  }
  const double log_mean = std::log(mean), root = std::sqrt(mean);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4),
               v_r = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = next() - 0.5, v = next.positive();
    const double shape = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shape + b) * u + mean + 0.43);
    if (shape >= 0.07 && v <= v_r) return k;
    if (k < 0 || (shape < 0.013 && v > shape)) continue;
    const double left = std::log(v * inverse_alpha / (a / (shape * shape) + b));
    if (left <= -mean + k * log_mean - std::lgamma(k + 1)) return k;
  }
}

// Waiting times for few expected successes; Hörmann's transformed rejection (BTRS, 1993)
// for others.
double binomial(double count, double p, Uniforms& next) {
  if (!(count >= 0) || !(p >= 0 && p <= 1)) return std::nan("");
  if (p > 0.5) return count - binomial(count, 1 - p, next);
  if (p == 0 || count == 0) return 0;
  if (count * p < 10) {
    const double log_fail = std::log1p(-p);
    double waited = 0, successes = -1;
    do {
      waited += std::ceil(std::log(next.positive()) / log_fail);
      ++successes;
    } while (waited <= count && successes <= count);
    return successes;
  }
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5, v_r = 0.92 - 4.2 / b, odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation, mode = std::floor((count + 1) * p);
  while (true) {
    const double u = next() - 0.5;
    double v = next.positive();
    const double shape = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shape + b) * u + c);
    if (shape >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (shape * shape) + b));
    const double bound = std::lgamma(mode + 1) + std::lgamma(count - mode + 1) -
                         std::lgamma(k + 1) - std::lgamma(count - k + 1) +
                         (k - mode) * std::log(odds);
    if (v <= bound) return k;
  }
}

double standard_normal(Uniforms& next) {
  const double r = std::sqrt(-2 * std::log(next.positive()));
  return r * std::cos(2 * 3.14159265358979323846 * next());
}

// Between bounds in standard deviations, low < high: plain rejection where the mean lies
// well inside, an exponential or uniform envelope in the tails (Robert, 1995).
double bounded_normal(double low, double high, Uniforms& next) {
  if (!(low < high)) return std::nan("");
  if (high < 0) return -bounded_normal(-high, -low, next);
  if (low <= 0 && high - low > 1.5) {
    while (true) {
      const double z = standard_normal(next);
      if (z >= low && z <= high) return z;
    }
  }
  // Far out the density is an exponential's to the last bit, and squares that differ by
  // less than they are rounded would never be accepted.
  if (low > 1e8) return std::min(low - std::log(next.positive()) / low, high);
  const double rate = (low + std::sqrt(low * low + 4)) / 2;
  if (low > 0 && (high - low) * rate > 1) {
    while (true) {
      const double z = low - std::log(next.positive()) / rate;
      const double off = z - rate;
      if (z <= high && next() <= std::exp(-off * off / 2)) return z;
    }
  }
  const double nearest = low > 0 ? low : 0;
  while (true) {
    const double z = low + (high - low) * next();
    if (next() <= std::exp((nearest * nearest - z * z) / 2)) return z;
  }
}

struct DrawsPlan {
  int64_t n = 0;
};
DrawsPlan prepare_draws(const Signature& s) { return {s.out().shape.num_elements()}; }

template <class T, class Sample>
void each_draw(const DrawsPlan& p, const LaunchArgs& a, Sample sample) {
  const Philox start = generator(a);
  parallel_for(p.n, 64, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      Uniforms next(start, i);
      a.out<T>()[i] = static_cast<T>(sample(i, next));
    }
  });
}

template <class T>
void launch_poisson(const DrawsPlan& p, const LaunchArgs& a) {
  each_draw<T>(p, a, [&](int64_t i, Uniforms& next) {
    return poisson(static_cast<double>(a.in<T>(3)[i]), next);
  });
}
template <class T>
void launch_binomial(const DrawsPlan& p, const LaunchArgs& a) {
  each_draw<T>(p, a, [&](int64_t i, Uniforms& next) {
    return binomial(std::floor(static_cast<double>(a.in<T>(3)[i])),
                    static_cast<double>(a.in<T>(4)[i]), next);
  });
}
template <class T>
void launch_bounded(const DrawsPlan& p, const LaunchArgs& a) {
  each_draw<T>(p, a, [&](int64_t i, Uniforms& next) {
    const auto at = [&](int k) { return static_cast<double>(a.in<T>(k)[i]); };
    const double mean = at(3), deviation = at(4);
    return mean + deviation * bounded_normal((at(5) - mean) / deviation,
                                             (at(6) - mean) / deviation, next);
  });
}

template <class T>
void add_samplers(KernelRegistry& r, const std::string& suffix) {
  const DTypeMask types = mask(dtype_of<T>);
  r.add(make_kernel<prepare_draws, launch_poisson<T>>(
      "StatelessRandomPoissonV2", "cpu.random.poisson." + suffix, types));
  r.add(make_kernel<prepare_draws, launch_binomial<T>>(
      "StatelessRandomBinomialV2", "cpu.random.binomial." + suffix, types));
  r.add(make_kernel<prepare_draws, launch_bounded<T>>(
      "StatelessParameterizedTruncatedNormalV2", "cpu.random.bounded_normal." + suffix,
      types));
}

}  // namespace

void register_random_parameter_kernels(KernelRegistry& registry) {
  add_samplers<float>(registry, "f32");
  add_samplers<double>(registry, "f64");
}

}  // namespace tandem::cpu
