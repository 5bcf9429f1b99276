// The float32 instructions of runs (fused_micro.h), with the formulas of the block
// functions: the same bits.
#include <cmath>
#include <type_traits>

#include "kernels/cpu/fused_micro.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class F, int64_t kCount>
void loop(const float* a, [[maybe_unused]] const float* b,
          [[maybe_unused]] const float* c, float* out) {
#pragma omp simd
  for (int64_t i = 0; i < kCount; ++i) {
    if constexpr (std::is_invocable_v<F, float>) {
      out[i] = F{}(a[i]);
    } else if constexpr (std::is_invocable_v<F, float, float>) {
      out[i] = F{}(a[i], b[i]);
    } else {
      out[i] = F{}(a[i], b[i], c[i]);
    }
  }
}
template <class F>
constexpr MicroFns kLoops = {loop<F, kMicroTile>, loop<F, kMicroTail>};

struct Adder {
  MicroTable& table;
  template <class F>
  void unary(const char* op, F, MicroJoin join = MicroJoin::kNone) {
    table.entries.push_back({op, 1, kLoops<F>, join});
  }
  template <class F>
  void binary(const char* op, F, MicroJoin join = MicroJoin::kNone) {
    table.entries.push_back({op, 2, kLoops<F>, join});
  }
  template <class F>
  void ternary(const char* op, F) {
    table.entries.push_back({op, 3, kLoops<F>, MicroJoin::kNone});
  }
};

using T = float;

template <MicroJoin kOp>
T apply(T a, T b) {
  switch (kOp) {
    case MicroJoin::kAdd:
      return a + b;
    case MicroJoin::kSub:
      return a - b;
    case MicroJoin::kMul:
      return a * b;
    case MicroJoin::kDiv:
      return a / b;
    case MicroJoin::kSquare:
      return a * a;
    default:
      return std::sqrt(a);
  }
}
template <MicroJoin kFirst, MicroJoin kSecond, int kOperand>
struct Joined {
  T operator()(T a, T b, T c) const {
    const T first = apply<kFirst>(a, b);
    return kOperand == 0 ? apply<kSecond>(first, c) : apply<kSecond>(c, first);
  }
};

template <MicroJoin kFirst, MicroJoin kSecond>
void add_joined(MicroTable& t) {
  auto& pair = t.joined[static_cast<size_t>(kFirst)][static_cast<size_t>(kSecond)];
  pair[0] = {"", 3, kLoops<Joined<kFirst, kSecond, 0>>, MicroJoin::kNone};
  pair[1] = {"", 3, kLoops<Joined<kFirst, kSecond, 1>>, MicroJoin::kNone};
}
template <MicroJoin kFirst>
void add_joined_first(MicroTable& t) {
  add_joined<kFirst, MicroJoin::kAdd>(t);
  add_joined<kFirst, MicroJoin::kSub>(t);
  add_joined<kFirst, MicroJoin::kMul>(t);
  add_joined<kFirst, MicroJoin::kDiv>(t);
}

void add_arithmetic(Adder t) {
  t.binary("AddV2", [](T x, T y) { return x + y; }, MicroJoin::kAdd);
  t.binary("Sub", [](T x, T y) { return x - y; }, MicroJoin::kSub);
  t.binary("Mul", [](T x, T y) { return x * y; }, MicroJoin::kMul);
  t.binary("RealDiv", [](T x, T y) { return x / y; }, MicroJoin::kDiv);
  t.binary("DivNoNan", [](T x, T y) { return y == 0 ? T(0) : x / y; });
  t.binary("MulNoNan", [](T x, T y) { return y == 0 ? T(0) : x * y; });
  t.binary("Maximum", [](T x, T y) { return (x > y || x != x) ? x : y; });
  t.binary("Minimum", [](T x, T y) { return (x < y || x != x) ? x : y; });
  t.binary("SquaredDifference", [](T x, T y) {
    const T d = x - y;
    return d * d;
  });
  t.unary("Neg", [](T x) { return -x; });
  t.unary("Abs", [](T x) { return std::fabs(x); });
  t.unary("Square", [](T x) { return x * x; }, MicroJoin::kSquare);
  t.unary("Sqrt", [](T x) { return std::sqrt(x); }, MicroJoin::kSqrt);
  t.unary("Rsqrt", [](T x) { return T(1) / std::sqrt(x); });
  t.unary("Reciprocal", [](T x) { return T(1) / x; });
  t.ternary("ClipByValue", [](T x, T low, T high) {
    const T below = (x < high || x != x) ? x : high;
    return (below > low || below != below) ? below : low;
  });
}

void add_activations(Adder t) {
  t.unary("Relu", [](T x) { return (x > 0 || x != x) ? x : T(0); });
  t.binary("ReluGrad", [](T g, T x) { return x > 0 ? g : T(0); });
  t.unary("Relu6", [](T x) {
    const T low = (x > 0 || x != x) ? x : T(0);
    return low > T(6) ? T(6) : low;
  });
  t.binary("Relu6Grad", [](T g, T x) { return (x > 0 && x < 6) ? g : T(0); });
  t.binary("SigmoidGrad", [](T y, T g) { return g * y * (T(1) - y); });
  t.binary("TanhGrad", [](T y, T g) { return g * (T(1) - y * y); });
  t.binary("EluGrad", [](T g, T y) { return y < 0 ? g * (y + T(1)) : g; });
  t.binary("SqrtGrad", [](T y, T dy) { return dy * T(0.5) / y; });
  t.binary("RsqrtGrad", [](T y, T dy) { return dy * (T(-0.5) * y) * (y * y); });
  t.binary("ReciprocalGrad", [](T y, T dy) { return -dy * (y * y); });
}

}  // namespace

const MicroTable& fused_micro() {
  static const MicroTable* table = [] {
    auto* t = new MicroTable;
    add_arithmetic({*t});
    add_activations({*t});
    add_joined_first<MicroJoin::kAdd>(*t);
    add_joined_first<MicroJoin::kSub>(*t);
    add_joined_first<MicroJoin::kMul>(*t);
    add_joined_first<MicroJoin::kDiv>(*t);
    add_joined_first<MicroJoin::kSquare>(*t);
    add_joined_first<MicroJoin::kSqrt>(*t);
    return t;
  }();
  return *table;
}

}  // namespace tandem::cpu::TANDEM_ISA
