// Sums: Sum and Mean (all numbers), EuclideanNorm (all numbers), L2Loss (floats).
// float adds up in float lanes and collects blocks in double; integers wrap; means of
// integers add up in 64 bits.
#include <cmath>
#include <limits>

#include "kernels/cpu/reduce_inl.h"
#include "kernels/cpu/reduce_isa.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<std::complex<float>> {
  using type = std::complex<double>;
};

template <class L, class A>
struct Adding {
  using Lane = L;
  using Acc = A;
  static Lane identity() { return Lane(0); }
  static Lane apply(Lane a, Lane b) { return static_cast<Lane>(a + b); }
  static void merge(Acc& acc, Lane x) {
    acc = static_cast<Acc>(acc + static_cast<Acc>(x));
  }
  static void combine(Acc& acc, Acc x) { acc = static_cast<Acc>(acc + x); }
};

template <class T>
struct LaneOf {
  using type = T;
};
template <std::integral T>
struct LaneOf<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using SumLane = typename LaneOf<T>::type;

template <class T>
struct SumOp : Adding<SumLane<T>, typename WideOf<SumLane<T>>::type> {
  using In = T;
  static SumLane<T> map(T x) { return static_cast<SumLane<T>>(x); }
};

// 64-bit sums of integers.
template <class T>
struct WideSumOp : Adding<uint64_t, uint64_t> {
  using In = T;
  static uint64_t map(T x) { return static_cast<uint64_t>(x); }
};

template <class T>
struct SquaresOp : Adding<T, typename WideOf<T>::type> {
  using In = T;
  static T map(T x) { return x * x; }
};
template <std::integral T>
struct SquaresOp<T> : Adding<uint64_t, uint64_t> {
  using In = T;
  static uint64_t map(T x) { return static_cast<uint64_t>(x) * static_cast<uint64_t>(x); }
};
template <class T>
struct SquaresOp<std::complex<T>> : Adding<T, typename WideOf<T>::type> {
  using In = std::complex<T>;
  static T map(In x) { return x.real() * x.real() + x.imag() * x.imag(); }
};

template <class T, class Acc>
void finish_sum(const void* acc, int64_t n, int64_t, void* out, void*) {
  const auto* a = static_cast<const Acc*>(acc);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = narrowed<T>(a[i]);
}

template <class T, class Acc>
void finish_mean(const void* acc, int64_t n, int64_t count, void* out, void*) {
  const auto* a = static_cast<const Acc*>(acc);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      y[i] = count ? static_cast<T>(static_cast<Wide>(a[i]) / static_cast<Wide>(count))
                   : T(0);
    } else if constexpr (kIsComplex<T>) {
      // TensorFlow's mean of nothing is 0 here, though NaN for real numbers.
      y[i] = count ? T(a[i] / static_cast<typename Acc::value_type>(count)) : T(0);
    } else {
      y[i] = narrowed<T>(a[i] / static_cast<Acc>(count));
    }
  }
}

template <class T, class Acc>
void finish_norm(const void* acc, int64_t n, int64_t, void* out, void*) {
  const auto* a = static_cast<const Acc*>(acc);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const double norm = std::sqrt(static_cast<double>(a[i]));
    if constexpr (kIsComplex<T>) {
      // The root of a sum of x times its conjugate: 0 times an infinity is no number.
      using R = typename T::value_type;
      y[i] = T(static_cast<R>(norm), static_cast<R>(norm - norm));
    } else {
      y[i] = narrowed<T>(norm);
    }
  }
}

template <class T, class Acc>
void finish_l2(const void* acc, int64_t n, int64_t, void* out, void*) {
  const auto* a = static_cast<const Acc*>(acc);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = narrowed<T>(a[i] / 2);
}

template <class T>
const ReduceLoops* sum_table(Reducer reducer) {
  using C = Computed<T>;
  using Sum = SumOp<C>;
  using Mean = std::conditional_t<std::is_integral_v<T>, WideSumOp<C>, SumOp<C>>;
  using Squares = SquaresOp<C>;
  if (reducer == Reducer::kSum) {
    static constexpr ReduceLoops loops =
        make_loops<Loops<Sum>, T>(sizeof(T), finish_sum<T, typename Sum::Acc>);
    return &loops;
  }
  if (reducer == Reducer::kMean) {
    static constexpr ReduceLoops loops =
        make_loops<Loops<Mean>, T>(sizeof(T), finish_mean<T, typename Mean::Acc>);
    return &loops;
  }
  if (reducer == Reducer::kEuclideanNorm) {
    static constexpr ReduceLoops loops =
        make_loops<Loops<Squares>, T>(sizeof(T), finish_norm<T, typename Squares::Acc>);
    return &loops;
  }
  if constexpr (std::is_floating_point_v<C>) {
    static constexpr ReduceLoops loops =
        make_loops<Loops<Squares>, T>(sizeof(T), finish_l2<T, typename Squares::Acc>);
    return &loops;
  } else {
    return nullptr;
  }
}

}  // namespace

const ReduceLoops* sum_loops(Reducer reducer, DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return sum_table<int8_t>(reducer);
    case DType::kInt16:
      return sum_table<int16_t>(reducer);
    case DType::kInt32:
      return sum_table<int32_t>(reducer);
    case DType::kInt64:
      return sum_table<int64_t>(reducer);
    case DType::kUInt8:
      return sum_table<uint8_t>(reducer);
    case DType::kUInt16:
      return sum_table<uint16_t>(reducer);
    case DType::kUInt32:
      return sum_table<uint32_t>(reducer);
    case DType::kUInt64:
      return sum_table<uint64_t>(reducer);
    case DType::kFloat16:
      return sum_table<float16>(reducer);
    case DType::kBFloat16:
      return sum_table<bfloat16>(reducer);
    case DType::kFloat32:
      return sum_table<float>(reducer);
    case DType::kFloat64:
      return sum_table<double>(reducer);
    case DType::kComplex64:
      return sum_table<std::complex<float>>(reducer);
    case DType::kComplex128:
      return sum_table<std::complex<double>>(reducer);
    default:
      return nullptr;
  }
}

}  // namespace tandem::cpu::TANDEM_ISA
