// The float32 instructions of runs (fused_micro.h), with the formulas of the block
// functions: the same bits.
#include <cmath>
#include <type_traits>

#include "kernels/cpu/fused_micro.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class F, int64_t kCount>
void micro_loop(const float* a, [[maybe_unused]] const float* b,
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
constexpr MicroFns kMicroLoops = {micro_loop<F, kMicroTile>, micro_loop<F, kMicroTail>};

struct MicroAdder {
  MicroTable& table;
  template <class F>
  void unary(const char* op, F, MicroJoin join = MicroJoin::kNone) {
    table.entries.push_back({op, 1, kMicroLoops<F>, join});
  }
  template <class F>
  void binary(const char* op, F, MicroJoin join = MicroJoin::kNone) {
    table.entries.push_back({op, 2, kMicroLoops<F>, join});
  }
  template <class F>
  void ternary(const char* op, F) {
    table.entries.push_back({op, 3, kMicroLoops<F>, MicroJoin::kNone});
  }
};

template <MicroJoin kOp>
float apply_join(float a, float b) {
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
  float operator()(float a, float b, float c) const {
    const float first = apply_join<kFirst>(a, b);
    return kOperand == 0 ? apply_join<kSecond>(first, c) : apply_join<kSecond>(c, first);
  }
};

template <MicroJoin kFirst, MicroJoin kSecond>
void add_joined(MicroTable& t) {
  auto& pair = t.joined[static_cast<size_t>(kFirst)][static_cast<size_t>(kSecond)];
  pair[0] = {"", 3, kMicroLoops<Joined<kFirst, kSecond, 0>>, MicroJoin::kNone};
  pair[1] = {"", 3, kMicroLoops<Joined<kFirst, kSecond, 1>>, MicroJoin::kNone};
}
template <MicroJoin kFirst>
void add_joined_first(MicroTable& t) {
  add_joined<kFirst, MicroJoin::kAdd>(t);
  add_joined<kFirst, MicroJoin::kSub>(t);
  add_joined<kFirst, MicroJoin::kMul>(t);
  add_joined<kFirst, MicroJoin::kDiv>(t);
}

void add_micro_arithmetic(MicroAdder t) {
  t.binary("AddV2", [](float x, float y) { return x + y; }, MicroJoin::kAdd);
  t.binary("Sub", [](float x, float y) { return x - y; }, MicroJoin::kSub);
  t.binary("Mul", [](float x, float y) { return x * y; }, MicroJoin::kMul);
  t.binary("RealDiv", [](float x, float y) { return x / y; }, MicroJoin::kDiv);
  t.binary("DivNoNan", [](float x, float y) { return y == 0 ? float(0) : x / y; });
  t.binary("MulNoNan", [](float x, float y) { return y == 0 ? float(0) : x * y; });
  t.binary("Maximum", [](float x, float y) { return (x > y || x != x) ? x : y; });
  t.binary("Minimum", [](float x, float y) { return (x < y || x != x) ? x : y; });
  t.binary("SquaredDifference", [](float x, float y) {
    const float d = x - y;
    return d * d;
  });
  t.unary("Neg", [](float x) { return -x; });
  t.unary("Abs", [](float x) { return std::fabs(x); });
  t.unary("Square", [](float x) { return x * x; }, MicroJoin::kSquare);
  t.unary("Sqrt", [](float x) { return std::sqrt(x); }, MicroJoin::kSqrt);
  t.unary("Rsqrt", [](float x) { return float(1) / std::sqrt(x); });
  t.unary("Reciprocal", [](float x) { return float(1) / x; });
  t.ternary("ClipByValue", [](float x, float low, float high) {
    const float below = (x < high || x != x) ? x : high;
    return (below > low || below != below) ? below : low;
  });
}

void add_micro_activations(MicroAdder t) {
  t.unary("Relu", [](float x) { return (x > 0 || x != x) ? x : float(0); });
  t.binary("ReluGrad", [](float g, float x) { return x > 0 ? g : float(0); });
  t.unary("Relu6", [](float x) {
    const float low = (x > 0 || x != x) ? x : float(0);
    return low > float(6) ? float(6) : low;
  });
  t.binary("Relu6Grad", [](float g, float x) { return (x > 0 && x < 6) ? g : float(0); });
  t.binary("SigmoidGrad", [](float y, float g) { return g * y * (float(1) - y); });
  t.binary("TanhGrad", [](float y, float g) { return g * (float(1) - y * y); });
  t.binary("EluGrad", [](float g, float y) { return y < 0 ? g * (y + float(1)) : g; });
  t.binary("SqrtGrad", [](float y, float dy) { return dy * float(0.5) / y; });
  t.binary("RsqrtGrad",
           [](float y, float dy) { return dy * (float(-0.5) * y) * (y * y); });
  t.binary("ReciprocalGrad", [](float y, float dy) { return -dy * (y * y); });
}

}  // namespace

const MicroTable& fused_micro() {
  static const MicroTable* table = [] {
    auto* t = new MicroTable;
    add_micro_arithmetic({*t});
    add_micro_activations({*t});
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
