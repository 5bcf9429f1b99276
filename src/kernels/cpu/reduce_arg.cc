// ArgMax and ArgMin: real numbers and bool to int16, uint16, int32, int64. NaNs are never
// chosen; of equals the first is.
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"
#include "op/kernel.h"
#include "tandem/ops/reduce.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kArgGrain = 32768;
constexpr int64_t kArgColumns = 512;  // at most so many columns at a time
constexpr int kArgParts = 32;

// Whether a comes before b; false when a is NaN.
template <bool kMax, class T>
bool better(T a, T b) {
  return kMax ? a > b : a < b;
}
template <bool kMax, class T>
T worst() {
  if constexpr (std::numeric_limits<T>::has_infinity) {
    return kMax ? -std::numeric_limits<T>::infinity()
                : std::numeric_limits<T>::infinity();
  } else {
    return kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

// What elements are compared as.
template <class T>
struct Compared {
  using type = T;
};
template <>
struct Compared<float16> {
  using type = float;
};
template <>
struct Compared<bfloat16> {
  using type = float;
};

// First index of the best of n contiguous elements. A block is searched for the place
// only when it holds something better than all before.
template <class T, bool kMax>
int64_t arg_row(const void* data, int64_t n) {
  using C = typename Compared<T>::type;
  const auto* x = static_cast<const T*>(data);
  constexpr int kLanes = 32;
  constexpr int64_t kBlock = 1024;
  C best = worst<kMax, C>();
  int64_t place = -1;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t end = std::min(n, b + kBlock);
    C lanes[kLanes];
    std::fill_n(lanes, kLanes, worst<kMax, C>());
    int64_t i = b;
    for (; i + kLanes <= end; i += kLanes) {
#pragma omp simd
      for (int l = 0; l < kLanes; ++l) {
        const C v = static_cast<C>(x[i + l]);
        lanes[l] = better<kMax>(v, lanes[l]) ? v : lanes[l];
      }
    }
    for (; i < end; ++i) {
      const C v = static_cast<C>(x[i]);
      if (better<kMax>(v, lanes[0])) lanes[0] = v;
    }
    C top = lanes[0];
    for (int l = 1; l < kLanes; ++l) {
      if (better<kMax>(lanes[l], top)) top = lanes[l];
    }
    if (place >= 0 && !better<kMax>(top, best)) continue;
    for (int64_t k = b; k < end; ++k) {
      if (static_cast<C>(x[k]) == top) {
        best = top;
        place = k;
        break;
      }
    }
  }
  return place < 0 ? 0 : place;
}

// The same for `width` columns of n rows `stride` elements apart.
template <class T, bool kMax>
void arg_columns(const void* data, int64_t n, int64_t stride, int64_t width,
                 int64_t* place) {
  using C = typename Compared<T>::type;
  const auto* x = static_cast<const T*>(data);
  C best[kArgColumns];
  int32_t at[kArgColumns];
  for (int64_t j = 0; j < width; ++j) {
    best[j] = static_cast<C>(x[j]);
    if (best[j] != best[j]) best[j] = worst<kMax, C>();
    place[j] = 0;
  }
  // Places are kept in 32 bits inside blocks of rows.
  constexpr int64_t kRows = int64_t{1} << 30;
  for (int64_t b = 0; b < n; b += kRows) {
    const int64_t rows = std::min(kRows, n - b);
    std::fill_n(at, width, -1);
    for (int64_t i = b == 0 ? 1 : 0; i < rows; ++i) {
      const T* row = x + (b + i) * stride;
      const auto here = static_cast<int32_t>(i);
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) {
        const C v = static_cast<C>(row[j]);
        const bool take = better<kMax>(v, best[j]);
        best[j] = take ? v : best[j];
        at[j] = take ? here : at[j];
      }
    }
    for (int64_t j = 0; j < width; ++j) {
      if (at[j] >= 0) place[j] = b + at[j];
    }
  }
}

struct ArgLoops {
  int64_t (*row)(const void* x, int64_t n);
  void (*columns)(const void* x, int64_t n, int64_t stride, int64_t width,
                  int64_t* place);
  // Of two parts' places, whether the later one is better.
  bool (*later)(const void* x, int64_t before, int64_t after);
};

template <class T, bool kMax>
bool later_is_better(const void* data, int64_t before, int64_t after) {
  using C = typename Compared<T>::type;
  const auto* x = static_cast<const T*>(data);
  const C a = static_cast<C>(x[before]), b = static_cast<C>(x[after]);
  return better<kMax>(b, a) || (a != a && b == b);
}

template <class T>
ArgLoops arg_loops_of(bool max) {
  if (max) return {arg_row<T, true>, arg_columns<T, true>, later_is_better<T, true>};
  return {arg_row<T, false>, arg_columns<T, false>, later_is_better<T, false>};
}

ArgLoops arg_loops(DType dtype, bool max) {
  switch (dtype) {
    case DType::kInt8:
      return arg_loops_of<int8_t>(max);
    case DType::kInt16:
      return arg_loops_of<int16_t>(max);
    case DType::kInt32:
      return arg_loops_of<int32_t>(max);
    case DType::kInt64:
      return arg_loops_of<int64_t>(max);
    case DType::kUInt16:
      return arg_loops_of<uint16_t>(max);
    case DType::kUInt32:
      return arg_loops_of<uint32_t>(max);
    case DType::kUInt64:
      return arg_loops_of<uint64_t>(max);
    case DType::kFloat16:
      return arg_loops_of<float16>(max);
    case DType::kBFloat16:
      return arg_loops_of<bfloat16>(max);
    case DType::kFloat32:
      return arg_loops_of<float>(max);
    case DType::kFloat64:
      return arg_loops_of<double>(max);
    default:
      return arg_loops_of<uint8_t>(max);  // uint8 and bool
  }
}

struct ArgPlan {
  ArgLoops loops;
  int64_t outer = 1, n = 1, inner = 1;
  int64_t element = 1;
  DType out = DType::kInt64;
};

template <bool kMax>
ArgPlan prepare_arg(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const auto& attrs = s.attrs.as<ArgAttrs>();
  const int axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + x.rank() : attrs.axis);
  ArgPlan p;
  p.loops = arg_loops(s.in(0).dtype, kMax);
  for (int i = 0; i < x.rank(); ++i)
    (i < axis ? p.outer : i == axis ? p.n : p.inner) *= x[i];
  p.element = static_cast<int64_t>(dtype_size(s.in(0).dtype));
  p.out = attrs.output_type;
  return p;
}

void store_places(const ArgPlan& p, void* out, int64_t at, const int64_t* places,
                  int64_t n) {
  const auto put = [&](auto* y) {
    using O = std::remove_reference_t<decltype(*y)>;
    for (int64_t i = 0; i < n; ++i) y[at + i] = static_cast<O>(places[i]);
  };
  switch (p.out) {
    case DType::kInt16:
      return put(static_cast<int16_t*>(out));
    case DType::kUInt16:
      return put(static_cast<uint16_t*>(out));
    case DType::kInt32:
      return put(static_cast<int32_t*>(out));
    default:
      return put(static_cast<int64_t*>(out));
  }
}

void launch_arg(const ArgPlan& p, const LaunchArgs& a) {
  const auto* x = a.in<std::byte>(0);
  void* out = a.outputs[0];
  const auto row_at = [&](int64_t i) { return x + i * p.n * p.inner * p.element; };
  if (p.inner == 1 && p.outer == 1 && p.n > 2 * kArgGrain) {
    int64_t places[kArgParts] = {};
    const int parts = parallel_parts(
        p.n, kArgGrain, kArgParts, [&](int part, int64_t begin, int64_t end) {
          places[part] = begin + p.loops.row(x + begin * p.element, end - begin);
        });
    for (int i = 1; i < parts; ++i) {
      if (p.loops.later(x, places[0], places[i])) places[0] = places[i];
    }
    return store_places(p, out, 0, places, 1);
  }
  if (p.inner == 1) {
    parallel_for(p.outer, std::max<int64_t>(1, kArgGrain / p.n),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = b; i < e; ++i) {
                     const int64_t place = p.loops.row(row_at(i), p.n);
                     store_places(p, out, i, &place, 1);
                   }
                 });
    return;
  }
  const int64_t chunks = (p.inner + kArgColumns - 1) / kArgColumns;
  const int64_t grain =
      std::max<int64_t>(1, kArgGrain / (p.n * std::min(p.inner, kArgColumns)));
  parallel_for(p.outer * chunks, grain, [&](int64_t b, int64_t e) {
    int64_t places[kArgColumns];
    for (int64_t t = b; t < e; ++t) {
      const int64_t outer = t / chunks, from = t % chunks * kArgColumns;
      const int64_t width = std::min(kArgColumns, p.inner - from);
      p.loops.columns(row_at(outer) + from * p.element, p.n, p.inner, width, places);
      store_places(p, out, outer * p.inner + from, places, width);
    }
  });
}

}  // namespace

void register_arg_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_arg<true>, launch_arg>("ArgMax", "cpu.argmax"));
  r.add(make_kernel<prepare_arg<false>, launch_arg>("ArgMin", "cpu.argmin"));
}

}  // namespace tandem::cpu
