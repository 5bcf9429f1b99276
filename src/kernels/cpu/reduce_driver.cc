#include "kernels/cpu/reduce_driver.h"

#include <algorithm>
#include <cstddef>

#include "base/parallel.h"

namespace tandem::cpu {

namespace {

// Elements worth about 20 µs.
constexpr int64_t kReduceGrain = 49152;
// Reductions with fewer tasks than this are cut along the reduced elements too.
constexpr int64_t kEnoughTasks = 64;

const std::byte* bytes_at(const void* p, int64_t bytes) {
  return static_cast<const std::byte*>(p) + bytes;
}
std::byte* bytes_at(void* p, int64_t bytes) { return static_cast<std::byte*>(p) + bytes; }

int64_t walked_offset(int64_t index, const ReducePlan::Dim* dims, int rank) {
  int64_t offset = 0;
  for (int i = rank - 1; i > 0; --i) {
    offset += index % dims[i].size * dims[i].stride;
    index /= dims[i].size;
  }
  return rank > 0 ? offset + index * dims[0].stride : offset;
}

// Reduces elements [begin, end) (numbered over the outer reduced dimensions, then depth)
// of `width` outputs from column `from` of outer index `outer` into acc.
void reduce_range(const ReducePlan& p, const void* input, int64_t outer, int64_t from,
                  int64_t width, int64_t begin, int64_t end, void* acc) {
  const auto element = static_cast<int64_t>(p.loops->in_size);
  const int64_t base =
      walked_offset(outer, p.kept, p.kept_rank) + from * (p.row_form ? p.stride : 1);
  while (begin < end) {
    const int64_t q = begin / p.depth, d = begin % p.depth;
    const int64_t n = std::min(p.depth - d, end - begin);
    const int64_t offset = base + walked_offset(q, p.reduced, p.reduced_rank);
    if (p.row_form) {
      p.loops->rows(bytes_at(input, (offset + d) * element), width, p.stride, n, acc);
    } else {
      p.loops->columns(bytes_at(input, (offset + d * p.stride) * element), n, p.stride,
                       width, acc);
    }
    begin += n;
  }
}

}  // namespace

ReducePlan plan_reduction(const ReduceLoops* loops, const Shape& input,
                          std::span<const bool> reduced) {
  ReducePlan p;
  p.loops = loops;
  // Neighbours of one kind become one dimension; dimensions of size 1 go.
  struct Merged {
    int64_t size, stride;
    bool reduced;
  } dims[kMaxRank];
  int rank = 0;
  int64_t stride = 1;
  for (int i = input.rank() - 1; i >= 0; --i) {  // innermost first
    const bool r = reduced[static_cast<size_t>(i)];
    (r ? p.count : p.outputs) *= input[i];
    if (input[i] == 1) continue;
    if (rank > 0 && dims[rank - 1].reduced == r) {
      dims[rank - 1].size *= input[i];
    } else {
      dims[rank++] = {input[i], stride, r};
    }
    stride *= input[i];
  }
  if (p.outputs == 0) return p;
  int next = 0;
  p.row_form = rank == 0 || dims[0].reduced;
  if (rank > 0) (p.row_form ? p.depth : p.width) = dims[next++].size;
  p.stride = p.row_form ? p.depth : p.width;
  if (rank > 1) (p.row_form ? p.width : p.depth) = dims[next++].size;
  for (int i = rank - 1; i >= next; --i) {
    if (dims[i].reduced) {
      p.reduced[p.reduced_rank++] = {dims[i].size, dims[i].stride};
      p.reduced_count *= dims[i].size;
    } else {
      p.kept[p.kept_rank++] = {dims[i].size, dims[i].stride};
      p.kept_count *= dims[i].size;
    }
  }
  const int64_t work = std::max<int64_t>(p.count, 1);  // per output
  // Columns: wide pieces read memory in order. Rows: pieces of about a grain.
  p.chunk = p.row_form ? std::clamp<int64_t>(kReduceGrain / work, 1, 256)
                       : (work >= 512 ? kReduceChunk : kReduceChunk / 4);
  p.chunk = std::min(p.chunk, p.width);
  p.chunks = (p.width + p.chunk - 1) / p.chunk;
  const int64_t tasks = p.kept_count * p.chunks;
  p.grain = std::max<int64_t>(1, kReduceGrain / std::max<int64_t>(1, p.chunk * work));
  const int64_t total = p.outputs * work;
  if (tasks < kEnoughTasks && total >= 2 * kReduceGrain) {
    p.parts =
        static_cast<int>(std::min({kEnoughTasks / tasks, total / kReduceGrain, p.count}));
  }
  if (p.parts > 1) {
    p.workspace_bytes = static_cast<size_t>(p.parts * p.outputs) * loops->acc_size;
  } else {
    p.parts = 1;
  }
  return p;
}

void run_reduction(const ReducePlan& p, const void* input, void* output, void* second,
                   void* workspace) {
  if (p.outputs == 0) return;
  const ReduceLoops& loops = *p.loops;
  const auto acc_size = static_cast<int64_t>(loops.acc_size);
  const auto out_size = static_cast<int64_t>(loops.out_size);
  const int64_t tasks = p.kept_count * p.chunks;
  const auto finish = [&](void* acc, int64_t first, int64_t n) {
    loops.finish(acc, n, p.count, bytes_at(output, first * out_size),
                 second ? bytes_at(second, first * out_size) : nullptr);
  };
  if (p.parts == 1) {
    parallel_for(tasks, p.grain, [&](int64_t begin, int64_t end) {
      alignas(64) std::byte acc[kReduceChunk * kMaxAccumulator];
      for (int64_t t = begin; t < end; ++t) {
        const int64_t outer = t / p.chunks, from = t % p.chunks * p.chunk;
        const int64_t n = std::min(p.chunk, p.width - from);
        loops.init(acc, n);
        reduce_range(p, input, outer, from, n, 0, p.count, acc);
        finish(acc, outer * p.width + from, n);
      }
    });
    return;
  }
  // Each part reduces its share of the elements of all outputs; then the parts are joined
  // in order.
  const int64_t per_part = (p.count + p.parts - 1) / p.parts;
  const int parts = parallel_parts(
      p.count, per_part, p.parts, [&](int part, int64_t begin, int64_t end) {
        for (int64_t t = 0; t < tasks; ++t) {
          const int64_t outer = t / p.chunks, from = t % p.chunks * p.chunk;
          const int64_t n = std::min(p.chunk, p.width - from);
          void* acc =
              bytes_at(workspace, (part * p.outputs + outer * p.width + from) * acc_size);
          loops.init(acc, n);
          reduce_range(p, input, outer, from, n, begin, end, acc);
        }
      });
  for (int part = 1; part < parts; ++part) {
    loops.combine(workspace, bytes_at(workspace, part * p.outputs * acc_size), p.outputs);
  }
  finish(workspace, 0, p.outputs);
}

}  // namespace tandem::cpu
