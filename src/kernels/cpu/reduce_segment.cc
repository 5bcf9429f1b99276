// Sorted segments (SegmentSum, Mean, Prod: all numbers; Min, Max: real numbers) and
// sparse ones (floats), through the loops of reductions. The number of rows of the result
// is read from the ids.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/reduce_loops.h"
#include "op/kernel.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kSegmentGrain = 32768;  // elements worth about 20 µs

struct SegmentPlan {
  const ReduceLoops* loops = nullptr;
  const char* op = "";
  Shape data;
  int64_t inner = 1;
  int64_t ids = 0;            // how many
  int64_t rows = -1;          // of the result; -1: the last id says
  bool one_is_empty = false;  // rows without an id: 1 instead of 0
  bool wide_ids = false, wide_indices = false;
};

// Integers of 32 or 64 bits.
struct Ids {
  const void* data;
  bool wide;
  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i]
                : static_cast<const int32_t*>(data)[i];
  }
};

// First position in [0, n) whose id is at least `id`.
int64_t first_of(const Ids& ids, int64_t n, int64_t id) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (ids[middle] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Throws unless ids are sorted and inside; returns the number of rows.
int64_t check_sorted_ids(const SegmentPlan& p, const Ids& ids) {
  if (p.ids == 0) return std::max<int64_t>(p.rows, 0);
  for (int64_t i = 1; i < p.ids; ++i) {
    if (ids[i] < ids[i - 1]) {
      throw InvalidArgumentError(fmt::format(
          "{}: segment ids are not increasing: {} comes before {} at {}. Sort them, or "
          "use the unsorted form.",
          p.op, ids[i - 1], ids[i], i));
    }
  }
  const int64_t last = ids[p.ids - 1];
  if (p.rows >= 0 && last >= p.rows) {
    throw InvalidArgumentError(
        fmt::format("{}: segment ids must be < num_segments, but {} is not below {}",
                    p.op, last, p.rows));
  }
  const int64_t rows = p.rows >= 0 ? p.rows : last + 1;
  if (ids[0] < 0) {
    throw InvalidArgumentError(
        fmt::format("{}: Segment id {} out of range [0, {}), possibly because "
                    "'segment_ids' input is not "
                    "sorted.",
                    p.op, ids[0], rows));
  }
  return rows;
}

// Fills the result: reduce(acc, from, width, begin, end) takes in rows [begin, end) of
// the ids.
void run_segments(const SegmentPlan& p, const Ids& ids, int64_t rows, std::byte* out,
                  FnRef<void(void*, int64_t, int64_t, int64_t, int64_t)> reduce) {
  const ReduceLoops& loops = *p.loops;
  const int64_t chunks = (p.inner + kReduceChunk - 1) / kReduceChunk;
  const int64_t per_row = p.inner * (p.ids / std::max<int64_t>(rows, 1) + 1);
  const int64_t grain = std::max<int64_t>(
      1, kSegmentGrain / std::max<int64_t>(per_row / std::max<int64_t>(chunks, 1), 1));
  // Tasks are numbered by columns first, so that a range of them walks through the ids in
  // order.
  parallel_for(rows * chunks, grain, [&](int64_t b, int64_t e) {
    alignas(64) std::byte acc[kReduceChunk * kMaxAccumulator];
    int64_t begin = -1, end = -1;
    for (int64_t t = b; t < e; ++t) {
      const int64_t row = t % rows, from = t / rows * kReduceChunk;
      const int64_t width = std::min(kReduceChunk, p.inner - from);
      begin = t == b || row == 0 ? first_of(ids, p.ids, row) : end;
      end = begin;
      while (end < p.ids && ids[end] == row) ++end;
      std::byte* to = out + (row * p.inner + from) * static_cast<int64_t>(loops.out_size);
      if (begin == end && !p.one_is_empty) {
        std::memset(to, 0, static_cast<size_t>(width) * loops.out_size);
        continue;
      }
      loops.init(acc, width);
      if (begin < end) reduce(acc, from, width, begin, end);
      loops.finish(acc, width, end - begin, to, nullptr);
    }
  });
}

Shape output_shape(const SegmentPlan& p, int64_t rows) {
  Shape shape = p.data;
  shape.set(0, rows);
  return shape;
}

template <Reducer kReducer>
SegmentPlan prepare_segment(const Signature& s) {
  SegmentPlan p;
  p.loops = reduce_loops(kReducer, s.in(0).dtype);
  p.op = s.op->name.c_str();
  p.data = s.in(0).shape;
  for (int i = 1; i < p.data.rank(); ++i) p.inner *= p.data[i];
  p.one_is_empty = kReducer == Reducer::kProd;
  p.ids = s.in(1).shape[0];
  p.wide_ids = s.in(1).dtype == DType::kInt64;
  return p;
}

void launch_segment(const SegmentPlan& p, const LaunchArgs& a,
                    OutputAllocator& allocator) {
  const Ids ids{a.inputs[1], p.wide_ids};
  const int64_t rows = check_sorted_ids(p, ids);
  auto* out = static_cast<std::byte*>(allocator.allocate(0, output_shape(p, rows)));
  const auto* x = a.in<std::byte>(0);
  const auto element = static_cast<int64_t>(p.loops->in_size);
  run_segments(p, ids, rows, out,
               [&](void* acc, int64_t from, int64_t width, int64_t begin, int64_t end) {
                 const std::byte* at = x + (begin * p.inner + from) * element;
                 if (p.inner == 1) {
                   p.loops->rows(at, 1, 1, end - begin, acc);
                 } else {
                   p.loops->columns(at, end - begin, p.inner, width, acc);
                 }
               });
}

template <Reducer kReducer>
SegmentPlan prepare_sparse(const Signature& s) {
  SegmentPlan p = prepare_segment<kReducer>(s);
  p.ids = s.in(2).shape[0];
  p.wide_indices = s.in(1).dtype == DType::kInt64;
  p.wide_ids = s.in(2).dtype == DType::kInt64;
  const bool given = s.inputs.size() > 3 && s.in(3).dtype != DType::kInvalid;
  if (given) p.rows = s.in(3).value[0];
  return p;
}

void launch_sparse_segment(const SegmentPlan& p, const LaunchArgs& a,
                           OutputAllocator& allocator) {
  const Ids indices{a.inputs[1], p.wide_indices}, ids{a.inputs[2], p.wide_ids};
  const int64_t rows = check_sorted_ids(p, ids);
  for (int64_t i = 0; i < p.ids; ++i) {
    if (indices[i] < 0 || indices[i] >= p.data[0]) {
      throw InvalidArgumentError(
          fmt::format("{}: Bad: indices[{}] == {} out of range [0, {})", p.op, i,
                      indices[i], p.data[0]));
    }
  }
  auto* out = static_cast<std::byte*>(allocator.allocate(0, output_shape(p, rows)));
  const auto* x = a.in<std::byte>(0);
  const auto element = static_cast<int64_t>(p.loops->in_size);
  run_segments(p, ids, rows, out,
               [&](void* acc, int64_t from, int64_t width, int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   p.loops->columns(x + (indices[i] * p.inner + from) * element, 1,
                                    p.inner, width, acc);
                 }
               });
}

}  // namespace

void register_segment_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_segment<Reducer::kSum>, launch_segment>("SegmentSum",
                                                                    "cpu.segment_sum"));
  r.add(make_kernel<prepare_segment<Reducer::kMean>, launch_segment>("SegmentMean",
                                                                     "cpu.segment_mean"));
  r.add(make_kernel<prepare_segment<Reducer::kProd>, launch_segment>("SegmentProd",
                                                                     "cpu.segment_prod"));
  r.add(make_kernel<prepare_segment<Reducer::kMin>, launch_segment>("SegmentMin",
                                                                    "cpu.segment_min"));
  r.add(make_kernel<prepare_segment<Reducer::kMax>, launch_segment>("SegmentMax",
                                                                    "cpu.segment_max"));
  r.add(make_kernel<prepare_sparse<Reducer::kSum>, launch_sparse_segment>(
      "SparseSegmentSum", "cpu.sparse_segment_sum"));
  r.add(make_kernel<prepare_sparse<Reducer::kMean>, launch_sparse_segment>(
      "SparseSegmentMean", "cpu.sparse_segment_mean"));
}

}  // namespace tandem::cpu
