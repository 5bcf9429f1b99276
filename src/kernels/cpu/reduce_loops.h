// The inner loops of reductions, type-erased: one table of functions per reducer and
// dtype. The driver (reduce_driver.h) cuts a reduction over any axes into calls of `rows`
// and `columns`; segment ops use them too. All functions are pure and run on any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::cpu {

enum class Reducer : uint8_t {
  kSum,
  kMean,
  kProd,
  kMax,
  kMin,
  kAny,
  kAll,
  kEuclideanNorm,
  kL2Loss,
  kLogSumExp,
  kMoments,  // two outputs: mean and variance
};

/// At most this many accumulators go through one call of `columns`, `init`, `combine` or
/// `finish`.
inline constexpr int64_t kReduceChunk = 1024;
/// Bytes of the largest accumulator.
inline constexpr size_t kMaxAccumulator = 32;

struct ReduceLoops {
  size_t in_size, acc_size, out_size;
  /// acc[0, n) = identity.
  void (*init)(void* acc, int64_t n);
  /// acc[r] takes in the n contiguous elements at x + r * stride, for r in [0, rows).
  void (*rows)(const void* x, int64_t rows, int64_t stride, int64_t n, void* acc);
  /// acc[j] takes in x[r * stride + j] for r in [0, rows), j in [0, inner), inner <=
  /// kReduceChunk.
  void (*columns)(const void* x, int64_t rows, int64_t stride, int64_t inner, void* acc);
  /// acc[i] takes in other[i].
  void (*combine)(void* acc, const void* other, int64_t n);
  /// Results of reductions over `count` elements each; `second` only for reducers with
  /// two outputs.
  void (*finish)(const void* acc, int64_t n, int64_t count, void* out, void* second);
};

/// The loops for inputs of that dtype on this machine; null where the reducer does not
/// take it.
const ReduceLoops* reduce_loops(Reducer reducer, DType dtype);

}  // namespace tandem::cpu
