// LinearRecurrence (floats, complex), Shift (all but strings) and CumulativeLogsumexp
// (floats).
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"
#include "op/kernel.h"
#include "tandem/ops/reduce.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kRecurrenceGrain = 16384;
constexpr int64_t kRecurrenceColumns = 512;

// Calls a loop for each piece of `inner` of each outer index. Loops see n rows of `width`
// columns, `inner` elements apart.
struct AxisPlan {
  int64_t outer = 1, n = 1, inner = 1, element = 1;
  bool reverse = false, exclusive = false;
  void (*loop)(const AxisPlan& p, const void* x, const void* z, void* y,
               int64_t width) = nullptr;
};

AxisPlan plan_axis(const Signature& s, int64_t axis) {
  const Shape& x = s.in(0).shape;
  AxisPlan p;
  if (axis < 0) axis += x.rank();
  for (int i = 0; i < x.rank(); ++i)
    (i < axis ? p.outer : i == axis ? p.n : p.inner) *= x[i];
  p.element = static_cast<int64_t>(dtype_size(s.in(0).dtype));
  return p;
}

void run_axis(const AxisPlan& p, const void* x, const void* z, void* y) {
  if (p.outer == 0 || p.n == 0 || p.inner == 0) return;
  const int64_t chunks = (p.inner + kRecurrenceColumns - 1) / kRecurrenceColumns;
  const int64_t grain = std::max<int64_t>(
      1, kRecurrenceGrain / (p.n * std::min(p.inner, kRecurrenceColumns)));
  const auto at = [](const void* base, int64_t bytes) -> const void* {
    return base ? static_cast<const std::byte*>(base) + bytes : nullptr;
  };
  parallel_for(p.outer * chunks, grain, [&](int64_t b, int64_t e) {
    for (int64_t t = b; t < e; ++t) {
      const int64_t from = t % chunks * kRecurrenceColumns;
      const int64_t bytes = (t / chunks * p.n * p.inner + from) * p.element;
      p.loop(p, at(x, bytes), at(z, bytes), static_cast<std::byte*>(y) + bytes,
             std::min(kRecurrenceColumns, p.inner - from));
    }
  });
}

// ---- LinearRecurrence ---------------------------------------------------------------

template <class T>
struct ComputedIn {
  using type = T;
};
template <>
struct ComputedIn<float16> {
  using type = float;
};
template <>
struct ComputedIn<bfloat16> {
  using type = float;
};

template <class C>
C multiply_add(C a, C y, C b) {
  return a * y + b;
}
template <class R>
std::complex<R> multiply_add(std::complex<R> a, std::complex<R> y, std::complex<R> b) {
  return {a.real() * y.real() - a.imag() * y.imag() + b.real(),
          a.real() * y.imag() + a.imag() * y.real() + b.imag()};
}

template <class T>
void recur(const AxisPlan& p, const void* a, const void* b, void* y, int64_t width) {
  using C = typename ComputedIn<T>::type;
  C last[kRecurrenceColumns];
  std::fill_n(last, width, C(0));
  for (int64_t k = 0; k < p.n; ++k) {
    const int64_t row = (p.reverse ? p.n - 1 - k : k) * p.inner;
    const T* __restrict pa = static_cast<const T*>(a) + row;
    const T* __restrict pb = static_cast<const T*>(b) + row;
    T* __restrict py = static_cast<T*>(y) + row;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      last[j] = multiply_add(static_cast<C>(pa[j]), last[j], static_cast<C>(pb[j]));
      py[j] = T(last[j]);
    }
  }
}

AxisPlan prepare_recurrence(const Signature& s) {
  const auto& attrs = s.attrs.as<RecurrenceAttrs>();
  AxisPlan p = plan_axis(s, attrs.axis);
  p.reverse = attrs.reverse;
  switch (s.in(0).dtype) {
    case DType::kFloat16:
      p.loop = recur<float16>;
      break;
    case DType::kBFloat16:
      p.loop = recur<bfloat16>;
      break;
    case DType::kFloat32:
      p.loop = recur<float>;
      break;
    case DType::kFloat64:
      p.loop = recur<double>;
      break;
    case DType::kComplex64:
      p.loop = recur<std::complex<float>>;
      break;
    default:
      p.loop = recur<std::complex<double>>;
      break;
  }
  return p;
}
void launch_recurrence(const AxisPlan& p, const LaunchArgs& a) {
  run_axis(p, a.inputs[0], a.inputs[1], a.outputs[0]);
}

// ---- Shift --------------------------------------------------------------------------

AxisPlan prepare_shift(const Signature& s) {
  const auto& attrs = s.attrs.as<RecurrenceAttrs>();
  AxisPlan p = plan_axis(s, attrs.axis);
  p.reverse = attrs.reverse;
  return p;
}
void launch_shift(const AxisPlan& p, const LaunchArgs& a) {
  if (p.n == 0 || p.inner == 0) return;
  const auto* x = a.in<std::byte>(0);
  auto* y = a.out<std::byte>();
  const int64_t row = p.inner * p.element, block = p.n * row;
  const auto open = static_cast<size_t>(row), rest = static_cast<size_t>(block - row);
  parallel_for(p.outer, std::max<int64_t>(1, 4 * kRecurrenceGrain / block),
               [&](int64_t b, int64_t e) {
                 for (int64_t i = b; i < e; ++i) {
                   const std::byte* from = x + i * block;
                   std::byte* to = y + i * block;
                   std::memcpy(p.reverse ? to : to + row, p.reverse ? from + row : from,
                               rest);
                   std::memset(p.reverse ? to + block - row : to, 0, open);
                 }
               });
}

// ---- CumulativeLogsumexp ------------------------------------------------------------

template <class T>
T log_value(double shift, double sum) {
  const double y = sum == 1 || std::isinf(shift) ? shift : shift + std::log(sum);
  if constexpr (std::is_same_v<T, double>) {
    return y;
  } else {
    return T(static_cast<float>(y));
  }
}

// log(sum) + shift is the value so far.
template <class T>
void scan_logs(const AxisPlan& p, const void* x, const void*, void* y, int64_t width) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  double shift[kRecurrenceColumns], sum[kRecurrenceColumns];
  std::fill_n(shift, width, kNothing);
  std::fill_n(sum, width, 0.0);
  for (int64_t k = 0; k < p.n; ++k) {
    const int64_t row = (p.reverse ? p.n - 1 - k : k) * p.inner;
    const T* px = static_cast<const T*>(x) + row;
    T* py = static_cast<T*>(y) + row;
    for (int64_t j = 0; j < width; ++j) {
      if (p.exclusive) py[j] = log_value<T>(shift[j], sum[j]);
      const double v = static_cast<double>(px[j]);
      if (v == shift[j]) {
        sum[j] += v == kNothing ? 0 : 1;
      } else if (v > shift[j]) {
        sum[j] = sum[j] * std::exp(shift[j] - v) + 1;
        shift[j] = v;
      } else if (v < shift[j]) {
        sum[j] += std::exp(v - shift[j]);
      } else {
        shift[j] += v;  // NaN
      }
      if (!p.exclusive) py[j] = log_value<T>(shift[j], sum[j]);
    }
  }
}

AxisPlan prepare_logs(const Signature& s) {
  const auto& attrs = s.attrs.as<ScanAttrs>();
  AxisPlan p = plan_axis(s, attrs.axis);
  p.reverse = attrs.reverse;
  p.exclusive = attrs.exclusive;
  switch (s.in(0).dtype) {
    case DType::kFloat16:
      p.loop = scan_logs<float16>;
      break;
    case DType::kBFloat16:
      p.loop = scan_logs<bfloat16>;
      break;
    case DType::kFloat32:
      p.loop = scan_logs<float>;
      break;
    default:
      p.loop = scan_logs<double>;
      break;
  }
  return p;
}
void launch_logs(const AxisPlan& p, const LaunchArgs& a) {
  run_axis(p, a.inputs[0], nullptr, a.outputs[0]);
}

}  // namespace

void register_recurrence_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_recurrence, launch_recurrence>("LinearRecurrence",
                                                           "cpu.linear_recurrence"));
  r.add(make_kernel<prepare_shift, launch_shift>("Shift", "cpu.shift"));
  r.add(make_kernel<prepare_logs, launch_logs>("CumulativeLogsumexp",
                                               "cpu.cumulative_logsumexp"));
}

}  // namespace tandem::cpu
