// DenseBincount (int32, int64 values; int32, int64, float32, float64 counts) and
// HistogramFixedWidth (the same four as values). Parts of the input count into bins of
// their own, which are added up in order.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"
#include "op/kernel.h"
#include "tandem/ops/reduce.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kCountGrain = 16384;  // values worth about 20 µs
constexpr int kMaxCountParts = 16;
constexpr int64_t kMaxPartBins = 65536;

// How many parts n values into `bins` bins are worth, by sizes alone.
int parts_for(int64_t n, int64_t bins) {
  if (bins > kMaxPartBins || bins > n / 4) return 1;
  return static_cast<int>(std::clamp<int64_t>(n / (4 * kCountGrain), 1, kMaxCountParts));
}

// out = sum of `parts` arrays of bins, in order.
template <class W>
void add_parts(const W* parts_at, int parts, int64_t bins, W* out) {
  std::copy_n(parts_at, bins, out);
  for (int p = 1; p < parts; ++p) {
    for (int64_t i = 0; i < bins; ++i) out[i] += parts_at[p * bins + i];
  }
}

struct BinCountPlan {
  void (*run)(const BinCountPlan& p, const LaunchArgs& a) = nullptr;
  int64_t rows = 1, n = 0, bins = 0;  // n values for each of `rows` rows of bins
  bool weighted = false, binary = false;
  int parts = 1;
  size_t workspace_bytes = 0;
};

template <class I, class W>
void count_values(const BinCountPlan& p, const I* x, const W* weights, int64_t n,
                  W* bins) {
  std::fill_n(bins, p.bins, W(0));
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] >= p.bins) continue;
    if (p.binary) {
      bins[x[i]] = 1;
    } else {
      bins[x[i]] += weights ? weights[i] : W(1);
    }
  }
}

template <class I, class W>
void run_bincount(const BinCountPlan& p, const LaunchArgs& a) {
  const I* x = a.in<I>(0);
  const W* weights = p.weighted ? a.in<W>(2) : nullptr;
  W* out = a.out<W>();
  const int64_t total = p.rows * p.n;
  if (std::any_of(x, x + total, [](I v) { return v < 0; })) {
    throw InvalidArgumentError("DenseBincount: Input arr must be non-negative!");
  }
  if (p.parts == 1) {
    parallel_for(p.rows, std::max<int64_t>(1, kCountGrain / (p.n + p.bins + 1)),
                 [&](int64_t b, int64_t e) {
                   for (int64_t r = b; r < e; ++r) {
                     count_values(p, x + r * p.n, weights ? weights + r * p.n : nullptr,
                                  p.n, out + r * p.bins);
                   }
                 });
    return;
  }
  W* own = static_cast<W*>(a.workspace);
  const int parts = parallel_parts(
      p.n, (p.n + p.parts - 1) / p.parts, p.parts, [&](int part, int64_t b, int64_t e) {
        count_values(p, x + b, weights ? weights + b : nullptr, e - b,
                     own + part * p.bins);
      });
  add_parts(own, parts, p.bins, out);
  if (p.binary) {
    for (int64_t i = 0; i < p.bins; ++i) out[i] = out[i] != 0;
  }
}

template <class I>
void (*bincount_for(DType weights))(const BinCountPlan&, const LaunchArgs&) {
  switch (weights) {
    case DType::kInt32:
      return run_bincount<I, int32_t>;
    case DType::kInt64:
      return run_bincount<I, int64_t>;
    case DType::kFloat32:
      return run_bincount<I, float>;
    default:
      return run_bincount<I, double>;
  }
}

BinCountPlan prepare_bincount(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const DType weights = s.in(2).dtype;
  BinCountPlan p;
  p.run = s.in(0).dtype == DType::kInt64 ? bincount_for<int64_t>(weights)
                                         : bincount_for<int32_t>(weights);
  p.rows = x.rank() == 2 ? x[0] : 1;
  p.n = x.rank() == 2 ? x[1] : x.num_elements();
  p.bins = s.out().shape.dim(-1);
  p.weighted = s.in(2).shape.num_elements() > 0;
  p.binary = s.attrs.as<BincountAttrs>().binary_output;
  if (p.rows == 1) p.parts = parts_for(p.n, p.bins);
  if (p.parts > 1) {
    p.workspace_bytes = static_cast<size_t>(p.parts * p.bins) * dtype_size(weights);
  }
  return p;
}

void launch_count(const BinCountPlan& p, const LaunchArgs& a) { p.run(p, a); }

// ---- HistogramFixedWidth ------------------------------------------------------------

/// How far apart two values are, `from` being the lesser one, or half of that where T may
/// have no such number.
template <class T>
double distance(T from, T to, bool halved) {
  if constexpr (std::is_integral_v<T>) {
    // Exact: a double would round numbers above 2^53 before they are subtracted.
    using U = std::make_unsigned_t<T>;
    return static_cast<double>(static_cast<U>(static_cast<U>(to) - static_cast<U>(from)));
  } else {
    return static_cast<double>(halved ? to / 2 - from / 2 : to - from);
  }
}

template <class T>
void run_histogram(const BinCountPlan& p, const LaunchArgs& a, auto* out) {
  using C = std::remove_reference_t<decltype(*out)>;
  const T* x = a.in<T>(0);
  const T low = a.in<T>(1)[0], high = a.in<T>(1)[1];
  if (!(low < high)) {
    throw InvalidArgumentError(
        fmt::format("HistogramFixedWidth: value_range should satisfy value_range[0] < "
                    "value_range[1], but "
                    "got '[{}, {}]'",
                    low, high));
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (std::any_of(x, x + p.n, [](T v) { return v != v; })) {
      throw InvalidArgumentError(
          "HistogramFixedWidth: Histogram values must not contain NaN");
    }
  }
  const bool halved = !std::isfinite(distance(low, high, false));
  const double step = distance(low, high, halved) / static_cast<double>(p.bins);
  const int64_t last = p.bins - 1;
  const auto count = [&](int64_t b, int64_t e, C* bins) {
    std::fill_n(bins, p.bins, C(0));
    for (int64_t i = b; i < e; ++i) {
      const double bin = x[i] > low ? distance(low, x[i], halved) / step : 0;
      // Of a range without end a place may be NaN: the first bin.
      if (x[i] >= high || bin >= static_cast<double>(last)) {
        ++bins[last];
      } else {
        ++bins[bin > 0 ? static_cast<int64_t>(bin) : 0];
      }
    }
  };
  if (p.parts == 1) return count(0, p.n, out);
  C* own = static_cast<C*>(a.workspace);
  const int parts = parallel_parts(
      p.n, (p.n + p.parts - 1) / p.parts, p.parts,
      [&](int part, int64_t b, int64_t e) { count(b, e, own + part * p.bins); });
  add_parts(own, parts, p.bins, out);
}

template <class T>
void run_narrow(const BinCountPlan& p, const LaunchArgs& a) {
  run_histogram<T>(p, a, a.out<int32_t>());
}
template <class T>
void run_wide(const BinCountPlan& p, const LaunchArgs& a) {
  run_histogram<T>(p, a, a.out<int64_t>());
}
template <class T>
void (*histogram_for(bool wide))(const BinCountPlan&, const LaunchArgs&) {
  return wide ? run_wide<T> : run_narrow<T>;
}

BinCountPlan prepare_histogram(const Signature& s) {
  BinCountPlan p;
  p.n = s.in(0).shape.num_elements();
  p.bins = s.out().shape[0];
  p.parts = parts_for(p.n, p.bins);
  const bool wide = s.out().dtype == DType::kInt64;
  if (p.parts > 1)
    p.workspace_bytes = static_cast<size_t>(p.parts * p.bins) * (wide ? 8 : 4);
  switch (s.in(0).dtype) {
    case DType::kInt32:
      p.run = histogram_for<int32_t>(wide);
      break;
    case DType::kInt64:
      p.run = histogram_for<int64_t>(wide);
      break;
    case DType::kFloat32:
      p.run = histogram_for<float>(wide);
      break;
    default:
      p.run = histogram_for<double>(wide);
      break;
  }
  return p;
}

}  // namespace

void register_count_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_bincount, launch_count>("DenseBincount", "cpu.bincount"));
  r.add(make_kernel<prepare_histogram, launch_count>("HistogramFixedWidth",
                                                     "cpu.histogram"));
}

}  // namespace tandem::cpu
