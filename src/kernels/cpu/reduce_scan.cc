// Cumsum and Cumprod over all numbers. Accumulators are those of Sum and Prod
// (reduce_loops.h), so that the totals of pieces come from their loops: a long scan is
// cut into pieces whose totals are known before they are scanned.
#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/reduce_loops.h"
#include "op/kernel.h"
#include "tandem/ops/reduce.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kScanGrain = 16384;  // elements worth about 20 µs
constexpr int64_t kPiece = 8192;  // elements of a piece along the axis, when it is cut
constexpr int64_t kScanRows = 4;  // rows scanned side by side, to hide the latency of one

struct ScanLoops {
  const ReduceLoops* totals;
  /// Scans `rows` <= kScanRows rows of n contiguous elements; acc[r] is what came before
  /// and is updated.
  void (*rows)(const void* x, void* y, int64_t rows, int64_t stride, int64_t n,
               bool reverse, void* acc);
  /// Scans n rows of `width` <= kReduceChunk columns.
  void (*columns)(const void* x, void* y, int64_t n, int64_t stride, int64_t width,
                  bool reverse, void* acc);
};

template <class Acc>
struct Add {
  static Acc apply(Acc a, Acc b) { return static_cast<Acc>(a + b); }
};
template <class Acc>
struct Multiply {
  static Acc apply(Acc a, Acc b) {
    if constexpr (std::is_integral_v<Acc>) {
      return static_cast<Acc>(1u * a * b);
    } else {
      return a * b;
    }
  }
};
template <class T>
struct Multiply<std::complex<T>> {
  using Acc = std::complex<T>;
  static Acc apply(Acc a, Acc b) {
    return {a.real() * b.real() - a.imag() * b.imag(),
            a.real() * b.imag() + a.imag() * b.real()};
  }
};

template <class T, class Acc>
Acc accumulated(T x) {
  if constexpr (std::is_class_v<T> && std::is_arithmetic_v<Acc>) {
    return static_cast<Acc>(static_cast<float>(x));  // float16, bfloat16
  } else {
    return static_cast<Acc>(x);
  }
}
template <class T, class Acc>
T result(Acc x) {
  if constexpr (std::is_class_v<T> && std::is_arithmetic_v<Acc>) {
    return T(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

template <class T, class Acc, class F, bool kExclusive, int kCount>
void scan_rows_n(const T* x, T* y, int64_t stride, int64_t n, bool reverse, Acc* acc) {
  Acc a[kCount];
  for (int r = 0; r < kCount; ++r) a[r] = acc[r];
  const int64_t step = reverse ? -1 : 1;
  int64_t i = reverse ? n - 1 : 0;
  for (int64_t k = 0; k < n; ++k, i += step) {
    for (int r = 0; r < kCount; ++r) {
      const Acc next = F::apply(a[r], accumulated<T, Acc>(x[r * stride + i]));
      y[r * stride + i] = result<T>(kExclusive ? a[r] : next);
      a[r] = next;
    }
  }
  for (int r = 0; r < kCount; ++r) acc[r] = a[r];
}

template <class T, class Acc, class F, bool kExclusive>
void scan_rows(const void* x, void* y, int64_t rows, int64_t stride, int64_t n,
               bool reverse, void* acc) {
  const auto* p = static_cast<const T*>(x);
  auto* q = static_cast<T*>(y);
  auto* a = static_cast<Acc*>(acc);
  if (rows == kScanRows) {
    return scan_rows_n<T, Acc, F, kExclusive, kScanRows>(p, q, stride, n, reverse, a);
  }
  for (int64_t r = 0; r < rows; ++r) {
    scan_rows_n<T, Acc, F, kExclusive, 1>(p + r * stride, q + r * stride, stride, n,
                                          reverse, a + r);
  }
}

template <class T, class Acc, class F, bool kExclusive>
void scan_columns(const void* x, void* y, int64_t n, int64_t stride, int64_t width,
                  bool reverse, void* acc) {
  auto* __restrict a = static_cast<Acc*>(acc);
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = reverse ? n - 1 - k : k;
    const T* __restrict p = static_cast<const T*>(x) + i * stride;
    T* __restrict q = static_cast<T*>(y) + i * stride;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      const Acc next = F::apply(a[j], accumulated<T, Acc>(p[j]));
      q[j] = result<T>(kExclusive ? a[j] : next);
      a[j] = next;
    }
  }
}

template <class T, class Acc, class F>
ScanLoops loops_with(Reducer totals, bool exclusive) {
  const ReduceLoops* reduce = reduce_loops(totals, dtype_of<T>);
  if (exclusive)
    return {reduce, scan_rows<T, Acc, F, true>, scan_columns<T, Acc, F, true>};
  return {reduce, scan_rows<T, Acc, F, false>, scan_columns<T, Acc, F, false>};
}

// SumAcc and ProdAcc are the accumulators of the loops in reduce_sum_isa.cc and
// reduce_extreme_isa.cc.
template <class T, class SumAcc, class ProdAcc>
ScanLoops scan_loops_of(bool product, bool exclusive) {
  return product ? loops_with<T, ProdAcc, Multiply<ProdAcc>>(Reducer::kProd, exclusive)
                 : loops_with<T, SumAcc, Add<SumAcc>>(Reducer::kSum, exclusive);
}

ScanLoops scan_loops(DType dtype, bool product, bool exclusive) {
  using C64 = std::complex<float>;
  using C128 = std::complex<double>;
  switch (dtype) {
    case DType::kInt8:
      return scan_loops_of<int8_t, uint8_t, uint8_t>(product, exclusive);
    case DType::kInt16:
      return scan_loops_of<int16_t, uint16_t, uint16_t>(product, exclusive);
    case DType::kInt32:
      return scan_loops_of<int32_t, uint32_t, uint32_t>(product, exclusive);
    case DType::kInt64:
      return scan_loops_of<int64_t, uint64_t, uint64_t>(product, exclusive);
    case DType::kUInt8:
      return scan_loops_of<uint8_t, uint8_t, uint8_t>(product, exclusive);
    case DType::kUInt16:
      return scan_loops_of<uint16_t, uint16_t, uint16_t>(product, exclusive);
    case DType::kUInt32:
      return scan_loops_of<uint32_t, uint32_t, uint32_t>(product, exclusive);
    case DType::kUInt64:
      return scan_loops_of<uint64_t, uint64_t, uint64_t>(product, exclusive);
    case DType::kFloat16:
      return scan_loops_of<float16, double, float>(product, exclusive);
    case DType::kBFloat16:
      return scan_loops_of<bfloat16, double, float>(product, exclusive);
    case DType::kFloat32:
      return scan_loops_of<float, double, float>(product, exclusive);
    case DType::kFloat64:
      return scan_loops_of<double, double, double>(product, exclusive);
    case DType::kComplex64:
      return scan_loops_of<C64, C128, C64>(product, exclusive);
    default:
      return scan_loops_of<C128, C128, C128>(product, exclusive);
  }
}

struct ScanPlan {
  ScanLoops loops;
  int64_t outer = 1, n = 1, inner = 1;
  bool reverse = false;
  int64_t piece = 1, pieces = 1;  // the axis in pieces
  int64_t chunk = 1, chunks = 1;  // `inner` in pieces
  size_t workspace_bytes = 0;     // accumulators [outer][pieces][inner], when pieces > 1
};

template <bool kProduct>
ScanPlan prepare_scan(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const auto& attrs = s.attrs.as<ScanAttrs>();
  const int axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + x.rank() : attrs.axis);
  ScanPlan p;
  p.loops = scan_loops(s.in(0).dtype, kProduct, attrs.exclusive);
  p.reverse = attrs.reverse;
  for (int i = 0; i < x.rank(); ++i)
    (i < axis ? p.outer : i == axis ? p.n : p.inner) *= x[i];
  p.chunk = std::min<int64_t>(p.inner, kReduceChunk);
  p.chunks = p.chunk ? (p.inner + p.chunk - 1) / p.chunk : 0;
  p.piece = p.n;
  const int64_t total = p.outer * p.n * p.inner;
  if (p.outer * p.chunks < 32 && total > 4 * kPiece) {
    p.piece = std::min(p.n, std::max<int64_t>(kPiece / p.chunk, 16));
    p.pieces = (p.n + p.piece - 1) / p.piece;
  }
  if (p.pieces > 1) {
    p.workspace_bytes =
        static_cast<size_t>(p.outer * p.pieces * p.inner) * p.loops.totals->acc_size;
  }
  return p;
}

// Turns the totals of pieces into what comes before each of them.
void accumulate_totals(const ScanPlan& p, std::byte* acc) {
  const ReduceLoops& loops = *p.loops.totals;
  const auto size = static_cast<int64_t>(loops.acc_size);
  alignas(64) std::byte running[kReduceChunk * kMaxAccumulator];
  alignas(64) std::byte total[kReduceChunk * kMaxAccumulator];
  for (int64_t t = 0; t < p.outer * p.chunks; ++t) {
    const int64_t from = t % p.chunks * p.chunk,
                  width = std::min(p.chunk, p.inner - from);
    loops.init(running, width);
    for (int64_t k = 0; k < p.pieces; ++k) {
      const int64_t piece = p.reverse ? p.pieces - 1 - k : k;
      std::byte* at = acc + ((t / p.chunks * p.pieces + piece) * p.inner + from) * size;
      const auto bytes = static_cast<size_t>(width * size);
      std::memcpy(total, at, bytes);
      std::memcpy(at, running, bytes);
      loops.combine(running, total, width);
    }
  }
}

void launch_scan(const ScanPlan& p, const LaunchArgs& a) {
  if (p.outer == 0 || p.n == 0 || p.inner == 0) return;
  const ReduceLoops& loops = *p.loops.totals;
  const auto element = static_cast<int64_t>(loops.in_size);
  const auto size = static_cast<int64_t>(loops.acc_size);
  const auto* x = a.in<std::byte>(0);
  auto* y = a.out<std::byte>();
  auto* acc = static_cast<std::byte*>(a.workspace);
  // Task t: piece t / chunks (over all outer indices), columns t % chunks.
  const auto offset = [&](int64_t piece) {
    return (piece / p.pieces * p.n + piece % p.pieces * p.piece) * p.inner;
  };
  const auto length = [&](int64_t piece) {
    return std::min(p.piece, p.n - piece % p.pieces * p.piece);
  };
  const int64_t tasks = p.outer * p.pieces * p.chunks;
  const int64_t grain = std::max<int64_t>(1, kScanGrain / (p.piece * p.chunk));
  if (p.pieces > 1) {
    parallel_for(tasks, grain, [&](int64_t b, int64_t e) {
      for (int64_t t = b; t < e; ++t) {
        const int64_t piece = t / p.chunks, from = t % p.chunks * p.chunk;
        const int64_t width = std::min(p.chunk, p.inner - from);
        std::byte* to = acc + (piece * p.inner + from) * size;
        const std::byte* in = x + (offset(piece) + from) * element;
        loops.init(to, width);
        if (p.inner == 1) {
          loops.rows(in, 1, 1, length(piece), to);
        } else {
          loops.columns(in, length(piece), p.inner, width, to);
        }
      }
    });
    accumulate_totals(p, acc);
  }
  parallel_for(tasks, grain, [&](int64_t b, int64_t e) {
    alignas(64) std::byte fresh[kReduceChunk * kMaxAccumulator];
    for (int64_t t = b; t < e;) {
      const int64_t piece = t / p.chunks, from = t % p.chunks * p.chunk;
      const int64_t at = (offset(piece) + from) * element;
      // Equal pieces in a row are scanned side by side.
      int64_t side = 1;
      if (p.inner == 1) {
        while (side < kScanRows && t + side < e &&
               length(piece + side) == length(piece) &&
               offset(piece + side) == offset(piece) + side * p.piece) {
          ++side;
        }
      }
      const int64_t width = p.inner == 1 ? side : std::min(p.chunk, p.inner - from);
      std::byte* before = acc + (piece * p.inner + from) * size;
      if (p.pieces == 1) {
        loops.init(fresh, width);
        before = fresh;
      }
      if (p.inner == 1) {
        p.loops.rows(x + at, y + at, side, p.piece, length(piece), p.reverse, before);
      } else {
        p.loops.columns(x + at, y + at, length(piece), p.inner, width, p.reverse, before);
      }
      t += side;
    }
  });
}

}  // namespace

void register_scan_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_scan<false>, launch_scan>("Cumsum", "cpu.cumsum"));
  r.add(make_kernel<prepare_scan<true>, launch_scan>("Cumprod", "cpu.cumprod"));
}

}  // namespace tandem::cpu
