// Samplers that draw a varying number of random numbers per output: gamma, Poisson,
// binomial and bounded normal numbers, classes by their logits, shuffled rows. Every
// output has its own blocks of the generator's sequence, the same as on the CPU, and is
// computed in double as there. T comes before this text, random.cuh too.

/// Blocks reserved per output, as in TensorFlow.
constexpr u64 kReserved = 256;

/// Uniform numbers in [0, 1), one after the other.
struct Uniforms {
  Philox g;
  u32 w[4];
  int used = 4;
  Uniforms(const u64* key, const u64* counter, i64 element) : g(key, counter) {
    g.skip((u64)element * kReserved);
  }
  double next() {
    if (used == 4) {
      g.block(w);
      g.skip(1);
      used = 0;
    }
    used += 2;
    return unit64(w[used - 2], w[used - 1]);
  }
  /// In (0, 1]: logarithms are finite.
  double positive() { return 1 - next(); }
};

/// Numbers of two distributions from the blocks of one generator, last of a block first.
struct GammaDraws {
  Philox g;
  double uniforms[2], normals[2];
  int left_uniforms = 0, left_normals = 0;
  GammaDraws(const u64* key, const u64* counter, i64 element) : g(key, counter) {
    g.skip((u64)element * kReserved);
  }
  double uniform() {
    if (left_uniforms == 0) {
      u32 w[4];
      g.block(w);
      g.skip(1);
      uniforms[0] = unit64(w[0], w[1]);
      uniforms[1] = unit64(w[2], w[3]);
      left_uniforms = 2;
    }
    return uniforms[--left_uniforms];
  }
  double normal() {
    if (left_normals == 0) {
      u32 w[4];
      g.block(w);
      g.skip(1);
      box_muller(unit64(w[0], w[1]), unit64(w[2], w[3]), normals);
      left_normals = 2;
    }
    return normals[--left_normals];
  }
};

// Marsaglia and Tsang, 2000.
inline double gamma_sample(double alpha, GammaDraws& draw) {
  if (alpha == 1.0) return -log1p(-draw.uniform());
  const bool small = alpha < 1;
  const double d = alpha + (small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / sqrt(d);
  for (;;) {
    const double x = draw.normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = draw.uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x) ||
        log(u) < 0.5 * x * x + d * (1 - v + log(v))) {
      const double result = d * v;
      return small ? result * pow(draw.uniform(), 1 / alpha) : result;
    }
    if (v != v) return v;  // no number is drawn for alpha that is none
  }
}

// Products of uniform numbers for small means; Hörmann's transformed rejection (PTRS,
// 1993) for others.
inline double poisson_sample(double mean, Uniforms& draw) {
  if (!(mean >= 0) || !isfinite(mean)) return kNotANumber;
  if (mean < 10) {
    const double limit = exp(-mean);
    double product = 1, count = -1;
    do {
      product *= draw.positive();
      ++count;
    } while (product > limit);
    return count;
  }
  const double log_mean = log(mean), root = sqrt(mean);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4),
               v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = draw.next() - 0.5, v = draw.positive();
    const double shape = 0.5 - fabs(u);
    const double k = floor((2 * a / shape + b) * u + mean + 0.43);
    if (shape >= 0.07 && v <= v_r) return k;
    if (k < 0 || (shape < 0.013 && v > shape)) continue;
    const double left = log(v * inverse_alpha / (a / (shape * shape) + b));
    if (left <= -mean + k * log_mean - lgamma(k + 1)) return k;
  }
}

// Waiting times for few expected successes; Hörmann's transformed rejection (BTRS, 1993)
// for others. p is at most 1/2.
inline double successes(double count, double p, Uniforms& draw) {
  if (p == 0 || count == 0) return 0;
  if (count * p < 10) {
    const double log_fail = log1p(-p);
    double waited = 0, found = -1;
    do {
      waited += ceil(log(draw.positive()) / log_fail);
      ++found;
    } while (waited <= count && found <= count);
    return found;
  }
  const double deviation = sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5, v_r = 0.92 - 4.2 / b, odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation, mode = floor((count + 1) * p);
  for (;;) {
    const double u = draw.next() - 0.5;
    double v = draw.positive();
    const double shape = 0.5 - fabs(u);
    const double k = floor((2 * a / shape + b) * u + c);
    if (shape >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = log(v * alpha / (a / (shape * shape) + b));
    const double bound = lgamma(mode + 1) + lgamma(count - mode + 1) - lgamma(k + 1) -
                         lgamma(count - k + 1) + (k - mode) * log(odds);
    if (v <= bound) return k;
  }
}
inline double binomial_sample(double count, double p, Uniforms& draw) {
  if (!(count >= 0) || !(p >= 0 && p <= 1)) return kNotANumber;
  return p > 0.5 ? count - successes(count, 1 - p, draw) : successes(count, p, draw);
}

// Between bounds in standard deviations, high at least 0: plain rejection where the mean
// lies well inside, an exponential or uniform envelope in the tails (Robert, 1995).
inline double upper_normal(double low, double high, Uniforms& draw) {
  if (low <= 0 && high - low > 1.5) {
    for (;;) {
      const double r = sqrt(-2 * log(draw.positive()));
      const double z = r * cos(2 * 3.14159265358979323846 * draw.next());
      if (z >= low && z <= high) return z;
    }
  }
  // Far out the density is an exponential's to the last bit, and squares that differ by
  // less than they are rounded would never be accepted.
  if (low > 1e8) {
    const double z = low - log(draw.positive()) / low;
    return z < high ? z : high;
  }
  const double rate = (low + sqrt(low * low + 4)) / 2;
  if (low > 0 && (high - low) * rate > 1) {
    for (;;) {
      const double z = low - log(draw.positive()) / rate, off = z - rate;
      if (z <= high && draw.next() <= exp(-off * off / 2)) return z;
    }
  }
  const double nearest = low > 0 ? low : 0;
  for (;;) {
    const double z = low + (high - low) * draw.next();
    if (draw.next() <= exp((nearest * nearest - z * z) / 2)) return z;
  }
}
inline double bounded_sample(double low, double high, Uniforms& draw) {
  if (!(low < high)) return kNotANumber;
  return high < 0 ? -upper_normal(-high, -low, draw) : upper_normal(low, high, draw);
}

template <class T>
inline T narrowed(double x) {
  if constexpr (same_type<T, double>::value) {
    return x;
  } else {
    return put<T>((float)x);
  }
}

extern "C" __global__ void gamma_samples(const u64* key, const u64* counter,
                                         const T* alpha, T* out, i64 alphas,
                                         i64 samples) {
  const i64 n = alphas * samples;
  for (i64 k = global_thread(); k < n; k += global_threads()) {
    const i64 which = k / samples, sample = k % samples;
    GammaDraws draw(key, counter, k);
    out[sample * alphas + which] =
        narrowed<T>(gamma_sample((double)get(alpha[which]), draw));
  }
}
extern "C" __global__ void poisson_samples(const u64* key, const u64* counter,
                                           const T* mean, T* out, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    Uniforms draw(key, counter, i);
    out[i] = narrowed<T>(poisson_sample((double)get(mean[i]), draw));
  }
}
extern "C" __global__ void binomial_samples(const u64* key, const u64* counter,
                                            const T* count, const T* p, T* out, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    Uniforms draw(key, counter, i);
    out[i] = narrowed<T>(
        binomial_sample(floor((double)get(count[i])), (double)get(p[i]), draw));
  }
}
extern "C" __global__ void bounded_samples(const u64* key, const u64* counter,
                                           const T* mean, const T* deviation,
                                           const T* low, const T* high, T* out, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    Uniforms draw(key, counter, i);
    const double m = (double)get(mean[i]), d = (double)get(deviation[i]);
    out[i] = narrowed<T>(m + d * bounded_sample(((double)get(low[i]) - m) / d,
                                                ((double)get(high[i]) - m) / d, draw));
  }
}
