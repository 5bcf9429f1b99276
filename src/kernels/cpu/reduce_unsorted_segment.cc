// Segments with ids in any order: sum and product of all numbers, min and max of real
// numbers. Each thread owns a range of segments and takes their rows in order, so results
// do not depend on the number of threads.
#include <algorithm>
#include <complex>
#include <limits>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"
#include "op/kernel.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kUnsortedGrain = 16384;  // elements of data worth about 20 µs

struct Sum {
  template <class L>
  static L identity() {
    return L(0);
  }
  template <class L>
  static L apply(L a, L b) {
    return static_cast<L>(a + b);
  }
};
struct Product {
  template <class L>
  static L identity() {
    return L(1);
  }
  template <class L>
  static L apply(L a, L b) {
    if constexpr (std::is_integral_v<L>) {
      return static_cast<L>(1u * a * b);
    } else if constexpr (std::is_floating_point_v<L>) {
      return a * b;
    } else {
      return {a.real() * b.real() - a.imag() * b.imag(),
              a.real() * b.imag() + a.imag() * b.real()};
    }
  }
};
struct Smallest {
  template <class L>
  static L identity() {
    return std::numeric_limits<L>::max();
  }
  template <class L>
  static L apply(L a, L b) {
    const L smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};
struct Largest {
  template <class L>
  static L identity() {
    return std::numeric_limits<L>::lowest();
  }
  template <class L>
  static L apply(L a, L b) {
    const L larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};

struct UnsortedPlan;
using Scatter = void (*)(const UnsortedPlan& p, const void* x, const void* ids,
                         void* lanes, void* out, int64_t low, int64_t high);

struct UnsortedPlan {
  Scatter scatter = nullptr;
  Shape ids_shape;
  const char* op = "";
  int64_t rows = 0, ids = 1, inner = 1;
  bool wide = false;
  size_t workspace_bytes = 0;  // float rows for float16 and bfloat16
};

// Rows [low, high) of the result. `lanes` is the result itself, or float memory for
// 16-bit floats.
template <class F, class T, class L>
void scatter_segment_rows(const UnsortedPlan& p, const void* data, const void* ids,
                          void* lanes_at, void* out, int64_t low, int64_t high) {
  const auto* x = static_cast<const T*>(data);
  auto* lanes = static_cast<L*>(lanes_at);
  constexpr bool kHalf = sizeof(T) != sizeof(L);
  L empty = F::template identity<L>();
  if constexpr (kHalf) {  // the extreme of the dtype itself
    if (std::abs(empty) > 1) {
      const float top = std::is_same_v<T, float16> ? 65504.0f : 3.38953139e38f;
      empty = empty > 0 ? top : -top;
    }
  }
  std::fill(lanes + low * p.inner, lanes + high * p.inner, empty);
  const auto* narrow = static_cast<const int32_t*>(ids);
  const auto* wide = static_cast<const int64_t*>(ids);
  for (int64_t i = 0; i < p.ids; ++i) {
    const int64_t id = p.wide ? wide[i] : narrow[i];
    if (id < low || id >= high) continue;
    const T* __restrict from = x + i * p.inner;
    L* __restrict to = lanes + id * p.inner;
    if (p.inner == 1) {
      *to = F::apply(*to, static_cast<L>(*from));
      continue;
    }
#pragma omp simd
    for (int64_t j = 0; j < p.inner; ++j)
      to[j] = F::apply(to[j], static_cast<L>(from[j]));
  }
  if constexpr (kHalf) {
    auto* y = static_cast<T*>(out);
    for (int64_t i = low * p.inner; i < high * p.inner; ++i) y[i] = T(lanes[i]);
  }
}

template <class F>
Scatter scatter_of(DType dtype) {
  // Sums and products of integers wrap around; extremes need the sign.
  constexpr bool kWraps = std::is_same_v<F, Sum> || std::is_same_v<F, Product>;
  switch (dtype) {
    case DType::kInt8:
      return scatter_segment_rows<F, int8_t, std::conditional_t<kWraps, uint8_t, int8_t>>;
    case DType::kInt16:
      return scatter_segment_rows<F, int16_t,
                                  std::conditional_t<kWraps, uint16_t, int16_t>>;
    case DType::kInt32:
      return scatter_segment_rows<F, int32_t,
                                  std::conditional_t<kWraps, uint32_t, int32_t>>;
    case DType::kInt64:
      return scatter_segment_rows<F, int64_t,
                                  std::conditional_t<kWraps, uint64_t, int64_t>>;
    case DType::kUInt8:
      return scatter_segment_rows<F, uint8_t, uint8_t>;
    case DType::kUInt16:
      return scatter_segment_rows<F, uint16_t, uint16_t>;
    case DType::kUInt32:
      return scatter_segment_rows<F, uint32_t, uint32_t>;
    case DType::kUInt64:
      return scatter_segment_rows<F, uint64_t, uint64_t>;
    case DType::kFloat16:
      return scatter_segment_rows<F, float16, float>;
    case DType::kBFloat16:
      return scatter_segment_rows<F, bfloat16, float>;
    case DType::kFloat32:
      return scatter_segment_rows<F, float, float>;
    case DType::kFloat64:
      return scatter_segment_rows<F, double, double>;
    default:
      break;
  }
  if constexpr (kWraps) {
    if (dtype == DType::kComplex64) {
      return scatter_segment_rows<F, std::complex<float>, std::complex<float>>;
    }
    return scatter_segment_rows<F, std::complex<double>, std::complex<double>>;
  } else {
    return nullptr;
  }
}

template <class F>
UnsortedPlan prepare_unsorted(const Signature& s) {
  UnsortedPlan p;
  const Shape& data = s.in(0).shape;
  const DType dtype = s.in(0).dtype;
  p.scatter = scatter_of<F>(dtype);
  p.ids_shape = s.in(1).shape;
  p.op = s.op->name.c_str();
  p.rows = s.out().shape[0];
  p.ids = p.ids_shape.num_elements();
  for (int i = p.ids_shape.rank(); i < data.rank(); ++i) p.inner *= data[i];
  p.wide = s.in(1).dtype == DType::kInt64;
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) {
    p.workspace_bytes = static_cast<size_t>(p.rows * p.inner) * sizeof(float);
  }
  return p;
}

void check_unsorted_ids(const UnsortedPlan& p, const void* ids) {
  for (int64_t i = 0; i < p.ids; ++i) {
    const int64_t id = p.wide ? static_cast<const int64_t*>(ids)[i]
                              : static_cast<const int32_t*>(ids)[i];
    if (id < p.rows) continue;
    std::string place;
    int64_t rest = i;
    for (int d = p.ids_shape.rank() - 1; d >= 0; --d) {
      place =
          fmt::format("{}{}{}", rest % p.ids_shape[d], place.empty() ? "" : ",", place);
      rest /= p.ids_shape[d];
    }
    throw InvalidArgumentError(
        fmt::format("{}: segment_ids{} = {} is out of range [0, {})", p.op,
                    place.empty() ? "" : "[" + place + "]", id, p.rows));
  }
}

void launch_unsorted(const UnsortedPlan& p, const LaunchArgs& a) {
  check_unsorted_ids(p, a.inputs[1]);
  if (p.rows == 0 || p.inner == 0) return;
  void* lanes = a.workspace && p.workspace_bytes ? a.workspace : a.outputs[0];
  const int64_t per_row = std::max<int64_t>(1, p.inner * (p.ids / p.rows + 1));
  parallel_for(p.rows, std::max<int64_t>(1, kUnsortedGrain / per_row),
               [&](int64_t b, int64_t e) {
                 p.scatter(p, a.inputs[0], a.inputs[1], lanes, a.outputs[0], b, e);
               });
}

}  // namespace

void register_unsorted_segment_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_unsorted<Sum>, launch_unsorted>("UnsortedSegmentSum",
                                                            "cpu.unsorted_segment_sum"));
  r.add(make_kernel<prepare_unsorted<Product>, launch_unsorted>(
      "UnsortedSegmentProd", "cpu.unsorted_segment_prod"));
  r.add(make_kernel<prepare_unsorted<Smallest>, launch_unsorted>(
      "UnsortedSegmentMin", "cpu.unsorted_segment_min"));
  r.add(make_kernel<prepare_unsorted<Largest>, launch_unsorted>(
      "UnsortedSegmentMax", "cpu.unsorted_segment_max"));
}

}  // namespace tandem::cpu
