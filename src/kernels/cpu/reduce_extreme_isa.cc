// Products (all numbers), extremes (real numbers; a NaN wins), Any and All (bool).
#include <limits>

#include "kernels/cpu/reduce_inl.h"
#include "kernels/cpu/reduce_isa.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

// A reducer whose lanes and accumulators are of one type.
template <class T, class L, class F>
struct Simple {
  using In = T;
  using Lane = L;
  using Acc = L;
  static Lane identity() { return F::identity(); }
  static Lane map(T x) { return static_cast<Lane>(x); }
  static Lane apply(Lane a, Lane b) { return F::apply(a, b); }
  static void merge(Acc& acc, Lane x) { acc = F::apply(acc, x); }
  static void combine(Acc& acc, Acc x) { acc = F::apply(acc, x); }
};

template <class L>
struct Product {
  static L identity() { return L(1); }
  static L apply(L a, L b) {
    if constexpr (std::is_integral_v<L>) {
      return static_cast<L>(1u * a * b);
    } else {
      return a * b;
    }
  }
};
template <class T>
struct Product<std::complex<T>> {
  using L = std::complex<T>;
  static L identity() { return L(1); }
  static L apply(L a, L b) {
    return {a.real() * b.real() - a.imag() * b.imag(),
            a.real() * b.imag() + a.imag() * b.real()};
  }
};

template <class L>
struct Largest {
  static L identity() {
    return std::numeric_limits<L>::has_infinity ? -std::numeric_limits<L>::infinity()
                                                : std::numeric_limits<L>::lowest();
  }
  static L apply(L a, L b) {
    if constexpr (std::is_integral_v<L>) {
      return a < b ? b : a;
    } else {
      const L larger = a > b ? a : b;  // b when either is NaN
      return a != a ? a : larger;
    }
  }
};
template <class L>
struct Smallest {
  static L identity() {
    return std::numeric_limits<L>::has_infinity ? std::numeric_limits<L>::infinity()
                                                : std::numeric_limits<L>::max();
  }
  static L apply(L a, L b) {
    if constexpr (std::is_integral_v<L>) {
      return b < a ? b : a;
    } else {
      const L smaller = a < b ? a : b;
      return a != a ? a : smaller;
    }
  }
};

template <class T, class Acc>
void finish_same(const void* acc, int64_t n, int64_t, void* out, void*) {
  const auto* a = static_cast<const Acc*>(acc);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = T(a[i]);
}
void finish_bool(const void* acc, int64_t n, int64_t, void* out, void*) {
  const auto* a = static_cast<const uint8_t*>(acc);
  auto* y = static_cast<bool*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] != 0;
}

template <class T>
struct ProductLane {
  using type = T;
};
template <std::integral T>
struct ProductLane<T> {
  using type = std::make_unsigned_t<T>;
};

template <class T, class Op>
const ReduceLoops* same_table() {
  static constexpr ReduceLoops loops =
      make_loops<Loops<Op>, T>(sizeof(T), finish_same<T, typename Op::Acc>);
  return &loops;
}

template <class T>
const ReduceLoops* extreme_table(Reducer reducer) {
  using C = Computed<T>;
  using P = typename ProductLane<C>::type;
  if (reducer == Reducer::kProd) return same_table<T, Simple<C, P, Product<P>>>();
  if constexpr (std::is_arithmetic_v<C>) {
    if (reducer == Reducer::kMax) return same_table<T, Simple<C, C, Largest<C>>>();
    if (reducer == Reducer::kMin) return same_table<T, Simple<C, C, Smallest<C>>>();
  }
  return nullptr;
}

template <class F>
const ReduceLoops* bool_table() {
  static constexpr ReduceLoops loops =
      make_loops<Loops<Simple<uint8_t, uint8_t, F>>, uint8_t>(1, finish_bool);
  return &loops;
}

}  // namespace

const ReduceLoops* extreme_loops(Reducer reducer, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      if (reducer == Reducer::kAny) return bool_table<Largest<uint8_t>>();
      return reducer == Reducer::kAll ? bool_table<Smallest<uint8_t>>() : nullptr;
    case DType::kInt8:
      return extreme_table<int8_t>(reducer);
    case DType::kInt16:
      return extreme_table<int16_t>(reducer);
    case DType::kInt32:
      return extreme_table<int32_t>(reducer);
    case DType::kInt64:
      return extreme_table<int64_t>(reducer);
    case DType::kUInt8:
      return extreme_table<uint8_t>(reducer);
    case DType::kUInt16:
      return extreme_table<uint16_t>(reducer);
    case DType::kUInt32:
      return extreme_table<uint32_t>(reducer);
    case DType::kUInt64:
      return extreme_table<uint64_t>(reducer);
    case DType::kFloat16:
      return extreme_table<float16>(reducer);
    case DType::kBFloat16:
      return extreme_table<bfloat16>(reducer);
    case DType::kFloat32:
      return extreme_table<float>(reducer);
    case DType::kFloat64:
      return extreme_table<double>(reducer);
    case DType::kComplex64:
      return extreme_table<std::complex<float>>(reducer);
    case DType::kComplex128:
      return extreme_table<std::complex<double>>(reducer);
    default:
      return nullptr;
  }
}

}  // namespace tandem::cpu::TANDEM_ISA
