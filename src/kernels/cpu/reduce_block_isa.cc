// Reducers that look at a block twice while it is in the cache: LogSumExp (maximum, then
// exponentials) and Moments (mean, then squared differences; blocks are joined by Chan's
// formula). Floats only.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/reduce_inl.h"
#include "kernels/cpu/reduce_isa.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kBlockRows = 64;

template <class T>
struct PlusOp {
  using In = T;
  using Lane = T;
  using Acc = T;
  static T identity() { return 0; }
  static T map(T x) { return x; }
  static T apply(T a, T b) { return a + b; }
  static void merge(T& acc, T x) { acc += x; }
};
template <class T>
struct LargestOp {
  using In = T;
  using Lane = T;
  using Acc = T;
  static T identity() { return -std::numeric_limits<T>::infinity(); }
  static T map(T x) { return x; }
  static T apply(T a, T b) {
    const T larger = a > b ? a : b;
    return a != a ? a : larger;
  }
  static void merge(T& acc, T x) { acc = apply(acc, x); }
};

// a * b + c, rounded once where the instruction set can.
template <class T>
T multiply_add(T a, T b, T c) {
#if defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// exp by range reduction and a Taylor polynomial, within 2 ulp; written so that loops
// over it become vector loops. Results below the smallest normal number are 0, above
// 2^127 (2^1023) they stay there.
inline float exp_lane(float x) {
  const float low = x < -87.33f ? -87.33f : x;
  const float c = low > 88.0f ? 88.0f : low;
  // The low bits of this are round(x / ln 2).
  const float shifted = multiply_add(c, 1.44269504f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  const float r = multiply_add(n, 2.12194440e-4f, multiply_add(n, -0.693359375f, c));
  float p = 1.9841270e-4f;
  p = multiply_add(p, r, 1.3888889e-3f);
  p = multiply_add(p, r, 8.3333333e-3f);
  p = multiply_add(p, r, 4.1666667e-2f);
  p = multiply_add(p, r, 1.6666667e-1f);
  p = multiply_add(p, r, 0.5f);
  p = multiply_add(p * r, r, r) + 1.0f;
  const uint32_t scale = (std::bit_cast<uint32_t>(shifted) + 127u) << 23;
  const float y = p * std::bit_cast<float>(scale);
  return x < -87.33f ? 0.0f : y;
}
inline double exp_lane(double x) {
  const double low = x < -708.3 ? -708.3 : x;
  const double c = low > 709.0 ? 709.0 : low;
  const double shifted = multiply_add(c, 1.4426950408889634, 6755399441055744.0);
  const double n = shifted - 6755399441055744.0;
  const double r = multiply_add(n, -1.90821492927058770002e-10,
                                multiply_add(n, -6.93147180369123816490e-01, c));
  double p = 1.6059043836821613e-10;
  p = multiply_add(p, r, 2.0876756987868099e-9);
  p = multiply_add(p, r, 2.5052108385441719e-8);
  p = multiply_add(p, r, 2.7557319223985891e-7);
  p = multiply_add(p, r, 2.7557319223985893e-6);
  p = multiply_add(p, r, 2.4801587301587302e-5);
  p = multiply_add(p, r, 1.9841269841269841e-4);
  p = multiply_add(p, r, 1.3888888888888889e-3);
  p = multiply_add(p, r, 8.3333333333333333e-3);
  p = multiply_add(p, r, 4.1666666666666667e-2);
  p = multiply_add(p, r, 1.6666666666666667e-1);
  p = multiply_add(p, r, 0.5);
  p = multiply_add(p * r, r, r) + 1.0;
  const uint64_t scale = (std::bit_cast<uint64_t>(shifted) + 1023u) << 52;
  const double y = p * std::bit_cast<double>(scale);
  return x < -708.3 ? 0.0 : y;
}

// ---- LogSumExp ----------------------------------------------------------------------

// log(sum) + shift so far; sum is 0 when shift is -inf.
struct Exponentials {
  double shift, sum;
};

void join(Exponentials& a, double shift, double sum) {
  if (shift == a.shift) {
    a.sum += shift == -std::numeric_limits<double>::infinity() ? 0 : sum;
  } else if (shift > a.shift) {
    a.sum = a.sum * std::exp(a.shift - shift) + sum;
    a.shift = shift;
  } else if (shift < a.shift) {
    a.sum += sum * std::exp(shift - a.shift);
  } else {  // one of them is NaN
    a.shift += shift;
  }
}

// What is subtracted before exponentials: 0 where the maximum is infinite (or NaN), as in
// TensorFlow.
template <class T>
T finite_or_zero(T x) {
  return std::abs(x) <= std::numeric_limits<T>::max() ? x : T(0);
}

template <class T>
struct LogSumExpLoops {
  using Acc = Exponentials;
  static void init(void* acc, int64_t n) {
    std::fill_n(static_cast<Acc*>(acc), n,
                Acc{-std::numeric_limits<double>::infinity(), 0});
  }
  static void rows(const void* x, int64_t rows, int64_t stride, int64_t n, void* acc) {
    const auto* p = static_cast<const T*>(x);
    auto* a = static_cast<Acc*>(acc);
    T block[kBlock];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; i += kBlock) {
        const T* q = p + r * stride + i;
        const int64_t m = std::min(kBlock, n - i);
        T top = LargestOp<T>::identity();
        fold_row<LargestOp<T>>(q, m, top);
        const T shift = finite_or_zero(top);
        for (int64_t k = 0; k < m; ++k) block[k] = exp_lane(q[k] - shift);
        T sum = 0;
        fold_row<PlusOp<T>>(block, m, sum);
        join(a[r], top, sum);
      }
    }
  }
  static void columns(const void* x, int64_t rows, int64_t stride, int64_t inner,
                      void* acc) {
    const auto* p = static_cast<const T*>(x);
    auto* a = static_cast<Acc*>(acc);
    T top[kReduceChunk], shift[kReduceChunk], sum[kReduceChunk];
    for (int64_t r = 0; r < rows; r += kBlockRows) {
      const int64_t m = std::min(kBlockRows, rows - r);
      const T* q = p + r * stride;
      std::fill_n(top, inner, LargestOp<T>::identity());
      std::fill_n(sum, inner, T(0));
      fold_columns<LargestOp<T>>(q, m, stride, inner, top);
      for (int64_t j = 0; j < inner; ++j) shift[j] = finite_or_zero(top[j]);
      for (int64_t k = 0; k < m; ++k, q += stride) {
        for (int64_t j = 0; j < inner; ++j) sum[j] += exp_lane(q[j] - shift[j]);
      }
      for (int64_t j = 0; j < inner; ++j) join(a[j], top[j], sum[j]);
    }
  }
  static void combine(void* acc, const void* other, int64_t n) {
    auto* a = static_cast<Acc*>(acc);
    const auto* b = static_cast<const Acc*>(other);
    for (int64_t i = 0; i < n; ++i) join(a[i], b[i].shift, b[i].sum);
  }
};

template <class T>
void finish_logsumexp(const void* acc, int64_t n, int64_t, void* out, void*) {
  const auto* a = static_cast<const Exponentials*>(acc);
  auto* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const bool infinite = std::isinf(a[i].shift);
    y[i] = narrowed<T>(infinite ? a[i].shift : std::log(a[i].sum) + a[i].shift);
  }
}

// ---- Moments ------------------------------------------------------------------------

struct Spread {
  double count, mean, squares;  // squares: sum of squared differences from the mean
};

void join(Spread& a, const Spread& b) {
  if (b.count == 0) return;
  const double count = a.count + b.count;
  const double delta = b.mean - a.mean;
  a.squares += b.squares + delta * delta * (a.count * b.count / count);
  a.mean += delta * (b.count / count);
  a.count = count;
}

template <class T>
struct MomentsLoops {
  using Acc = Spread;
  static void init(void* acc, int64_t n) {
    std::fill_n(static_cast<Acc*>(acc), n, Acc{});
  }
  static void rows(const void* x, int64_t rows, int64_t stride, int64_t n, void* acc) {
    const auto* p = static_cast<const T*>(x);
    auto* a = static_cast<Acc*>(acc);
    T block[kBlock];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; i += kBlock) {
        const T* q = p + r * stride + i;
        const int64_t m = std::min(kBlock, n - i);
        T sum = 0, squares = 0;
        fold_row<PlusOp<T>>(q, m, sum);
        const double count = static_cast<double>(m);
        const double mean = static_cast<double>(sum) / count;
        const T centre = static_cast<T>(mean);
        for (int64_t k = 0; k < m; ++k) block[k] = (q[k] - centre) * (q[k] - centre);
        fold_row<PlusOp<T>>(block, m, squares);
        join(a[r], {count, mean, static_cast<double>(squares)});
      }
    }
  }
  static void columns(const void* x, int64_t rows, int64_t stride, int64_t inner,
                      void* acc) {
    const auto* p = static_cast<const T*>(x);
    auto* a = static_cast<Acc*>(acc);
    T sum[kReduceChunk], centre[kReduceChunk], squares[kReduceChunk];
    for (int64_t r = 0; r < rows; r += kBlockRows) {
      const int64_t m = std::min(kBlockRows, rows - r);
      const T* q = p + r * stride;
      std::fill_n(sum, inner, T(0));
      std::fill_n(squares, inner, T(0));
      fold_columns<PlusOp<T>>(q, m, stride, inner, sum);
      const double count = static_cast<double>(m);
      for (int64_t j = 0; j < inner; ++j) centre[j] = sum[j] / static_cast<T>(m);
      for (int64_t k = 0; k < m; ++k, q += stride) {
        for (int64_t j = 0; j < inner; ++j) {
          squares[j] += (q[j] - centre[j]) * (q[j] - centre[j]);
        }
      }
      for (int64_t j = 0; j < inner; ++j) {
        join(a[j], {count, static_cast<double>(sum[j]) / count,
                    static_cast<double>(squares[j])});
      }
    }
  }
  static void combine(void* acc, const void* other, int64_t n) {
    auto* a = static_cast<Acc*>(acc);
    const auto* b = static_cast<const Acc*>(other);
    for (int64_t i = 0; i < n; ++i) join(a[i], b[i]);
  }
};

template <class T>
void finish_moments(const void* acc, int64_t n, int64_t count, void* out, void* second) {
  const auto* a = static_cast<const Spread*>(acc);
  auto* mean = static_cast<T*>(out);
  auto* variance = static_cast<T*>(second);
  for (int64_t i = 0; i < n; ++i) {
    const double nothing = count ? 0 : std::numeric_limits<double>::quiet_NaN();
    mean[i] = narrowed<T>(a[i].mean + nothing);
    variance[i] = narrowed<T>(a[i].squares / static_cast<double>(count));
  }
}

template <class T>
const ReduceLoops* blockwise_table(Reducer reducer) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  if (reducer == Reducer::kLogSumExp) {
    static constexpr ReduceLoops loops =
        make_loops<LogSumExpLoops<C>, T>(sizeof(T), finish_logsumexp<T>);
    return &loops;
  }
  static constexpr ReduceLoops loops =
      make_loops<MomentsLoops<C>, T>(sizeof(T), finish_moments<T>);
  return &loops;
}

}  // namespace

const ReduceLoops* block_loops(Reducer reducer, DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return blockwise_table<float16>(reducer);
    case DType::kBFloat16:
      return blockwise_table<bfloat16>(reducer);
    case DType::kFloat32:
      return blockwise_table<float>(reducer);
    case DType::kFloat64:
      return blockwise_table<double>(reducer);
    default:
      return nullptr;
  }
}

}  // namespace tandem::cpu::TANDEM_ISA
