#include "kernels/cpu/elementwise_plan.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "kernels/cpu/bytes16.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kShortRun = 32;      // below it a call per run costs more than copying
constexpr int64_t kExpandChunk = 512;  // elements written out at a time
constexpr int64_t kUnit = 64;          // ranges of threads start at multiples of it
constexpr size_t kMaxElement = 16;
constexpr int64_t kStreamChunk = 8192;  // bytes computed into the L1 cache at a time

// Dimensions of size 1 go, and neighbours that every operand walks as one are merged.
void collapse(ElementwisePlan& p) {
  int rank = 0;
  for (int d = 0; d < p.rank; ++d) {
    if (p.dims[d] == 1) continue;
    bool merge = rank > 0;
    for (int i = 0; merge && i < p.operands; ++i) {
      merge = p.in[i].strides[rank - 1] == p.in[i].strides[d] * p.dims[d];
    }
    const int to = merge ? rank - 1 : rank++;
    p.dims[to] = merge ? p.dims[to] * p.dims[d] : p.dims[d];
    for (int i = 0; i < p.operands; ++i) p.in[i].strides[to] = p.in[i].strides[d];
  }
  p.rank = rank;
}

void set_strides(ElementwisePlan& p, OperandPlan& operand, const Shape& shape) {
  int64_t stride = 1;
  for (int d = p.rank - 1, s = shape.rank() - 1; s >= 0; --d, --s) {
    operand.strides[d] = shape[s] == 1 ? 0 : stride;
    stride *= shape[s];
  }
}

void classify(const ElementwisePlan& p, OperandPlan& operand) {
  int64_t stride = 1;
  operand.contiguous = true;
  for (int d = p.rank - 1; d >= 0; --d) {
    operand.contiguous = operand.contiguous && operand.strides[d] == stride;
    stride *= p.dims[d];
  }
  operand.tiled = p.rank > 1 && operand.strides[p.rank - 1] == 1;
  for (int d = 0; d + 1 < p.rank; ++d)
    operand.tiled = operand.tiled && operand.strides[d] == 0;
}

// A position in the output with the operands' offsets at it.
struct Cursor {
  int64_t index[kMaxRank] = {};
  int64_t offset[kMaxOperands] = {};

  Cursor(const ElementwisePlan& p, int64_t element) {
    for (int d = p.rank - 1; d >= 0; --d) {
      index[d] = element % p.dims[d];
      element /= p.dims[d];
      for (int i = 0; i < p.operands; ++i) offset[i] += index[d] * p.in[i].strides[d];
    }
  }
  /// To the start of the next run of the innermost dimension.
  void next_run(const ElementwisePlan& p) {
    int d = p.rank - 1;
    for (int i = 0; i < p.operands; ++i) offset[i] -= index[d] * p.in[i].strides[d];
    index[d] = 0;
    while (--d >= 0) {
      ++index[d];
      for (int i = 0; i < p.operands; ++i) offset[i] += p.in[i].strides[d];
      if (index[d] < p.dims[d]) return;
      for (int i = 0; i < p.operands; ++i) offset[i] -= p.dims[d] * p.in[i].strides[d];
      index[d] = 0;
    }
  }
};

const std::byte* element_at(const void* base, int64_t elements, uint32_t size) {
  return static_cast<const std::byte*>(base) + elements * static_cast<int64_t>(size);
}
std::byte* element_at(void* base, int64_t elements, uint32_t size) {
  return static_cast<std::byte*>(base) + elements * static_cast<int64_t>(size);
}

// Computes stretches in the L1 cache and streams them out. Ranges start at multiples of
// kUnit.
void run_streamed(const ElementwisePlan& p, const void** operands, std::byte* out,
                  int64_t n) {
  alignas(kStreamAlign) std::byte buffer[kStreamChunk];
  const int64_t chunk = kStreamChunk / p.out_size;
  const int64_t whole = n - n % kUnit;
  for (int64_t e = 0; e < whole;) {
    const int64_t m = std::min(chunk, whole - e);
    p.block(operands, buffer, m, p.params);
    p.stream(out + e * p.out_size, buffer, m * p.out_size);
    for (int i = 0; i < p.operands; ++i) {
      if (!(p.scalars >> i & 1)) operands[i] = element_at(operands[i], m, p.in[i].size);
    }
    e += m;
  }
  if (whole < n) p.block(operands, out + whole * p.out_size, n - whole, p.params);
}

// An output over an operand is in the cache already; one at an odd address cannot be
// streamed.
bool streamable(const ElementwisePlan& p, const void* const* in, const void* out) {
  if (!p.stream || reinterpret_cast<uintptr_t>(out) % kStreamAlign != 0) return false;
  for (int i = 0; i < p.operands; ++i) {
    if (in[i] == out) return false;
  }
  return true;
}

void run_flat(const ElementwisePlan& p, const void* const* in, void* out, int64_t begin,
              int64_t end) {
  const void* operands[kMaxOperands];
  for (int i = 0; i < p.operands; ++i) {
    operands[i] = (p.scalars >> i & 1) ? in[i] : element_at(in[i], begin, p.in[i].size);
  }
  if (streamable(p, in, out)) {
    return run_streamed(p, operands, element_at(out, begin, p.out_size), end - begin);
  }
  p.block(operands, element_at(out, begin, p.out_size), end - begin, p.params);
}

void run_runs(const ElementwisePlan& p, const void* const* in, void* out, int64_t begin,
              int64_t end) {
  const int64_t length = p.dims[p.rank - 1];
  Cursor cursor(p, begin);
  for (int64_t e = begin; e < end;) {
    const int64_t m = std::min(length - cursor.index[p.rank - 1], end - e);
    const void* operands[kMaxOperands];
    for (int i = 0; i < p.operands; ++i) {
      operands[i] = element_at(in[i], cursor.offset[i], p.in[i].size);
    }
    p.block(operands, element_at(out, e, p.out_size), m, p.params);
    e += m;
    cursor.next_run(p);
  }
}

// Writes out `count` elements of operand i from the cursor on.
template <class T>
void expand(const ElementwisePlan& p, int i, const void* base, Cursor cursor,
            int64_t count, void* out) {
  const T* x = static_cast<const T*>(base);
  T* o = static_cast<T*>(out);
  const int inner = p.rank - 1;
  const int64_t step = p.in[i].strides[inner];  // 0 or 1
  while (count > 0) {
    const int64_t m = std::min(p.dims[inner] - cursor.index[inner], count);
    const T* from = x + cursor.offset[i];
    if (step == 0) {
      std::fill_n(o, m, *from);
    } else {
      std::copy_n(from, m, o);
    }
    o += m;
    count -= m;
    cursor.next_run(p);
  }
}
void expand_any(const ElementwisePlan& p, int i, const void* base, const Cursor& cursor,
                int64_t count, void* out) {
  switch (p.in[i].size) {
    case 1:
      return expand<uint8_t>(p, i, base, cursor, count, out);
    case 2:
      return expand<uint16_t>(p, i, base, cursor, count, out);
    case 4:
      return expand<uint32_t>(p, i, base, cursor, count, out);
    case 8:
      return expand<uint64_t>(p, i, base, cursor, count, out);
    default:
      return expand<Bytes16>(p, i, base, cursor, count, out);
  }
}

void run_expand(const ElementwisePlan& p, const void* const* in, void* out, int64_t begin,
                int64_t end) {
  alignas(64) std::byte buffers[kMaxOperands][kExpandChunk * kMaxElement];
  const void* operands[kMaxOperands];
  // Chunks of whole periods: patterns are written out once and stay.
  const int64_t period = std::max<int64_t>(p.rank ? p.dims[p.rank - 1] : 1, 1);
  const int64_t chunk =
      period <= kExpandChunk ? kExpandChunk - kExpandChunk % period : kExpandChunk;
  const bool whole_periods = period <= kExpandChunk;
  for (int64_t e = begin; e < end;) {
    int64_t m = std::min(chunk, end - e);
    if (whole_periods && e % period != 0) m = std::min(m, chunk - e % period);
    const Cursor cursor(p, e);
    for (int i = 0; i < p.operands; ++i) {
      const OperandPlan& operand = p.in[i];
      if (operand.contiguous) {
        operands[i] = element_at(in[i], e, operand.size);
        continue;
      }
      operands[i] = buffers[i];
      const bool kept = operand.tiled && whole_periods && e > begin &&
                        (e - begin) >= chunk && e % period == 0;
      if (!kept) expand_any(p, i, in[i], cursor, operand.tiled ? chunk : m, buffers[i]);
    }
    p.blocks.variants[0](operands, element_at(out, e, p.out_size), m, p.params);
    e += m;
  }
}

}  // namespace

ElementwisePlan plan_elementwise(const ElementwiseBlocks& blocks,
                                 const BlockParams& params,
                                 std::span<const TensorInfo> inputs,
                                 const TensorInfo& output) {
  ElementwisePlan p;
  p.blocks = blocks;
  p.params = params;
  p.operands = static_cast<uint8_t>(blocks.operands);
  p.rank = output.shape.rank();
  p.n = output.shape.num_elements();
  p.out_size = static_cast<uint32_t>(dtype_size(output.dtype));
  p.grain = std::max<int64_t>(static_cast<int64_t>(kGrainElements / blocks.cost), kUnit);
  std::copy(output.shape.begin(), output.shape.end(), p.dims);
  if (p.n == 0) return p;
  for (int i = 0; i < p.operands; ++i) {
    p.in[i].size =
        static_cast<uint32_t>(dtype_size(inputs[static_cast<size_t>(i)].dtype));
    set_strides(p, p.in[i], inputs[static_cast<size_t>(i)].shape);
  }
  collapse(p);
  bool strings = false;
  for (int i = 0; i < p.operands; ++i) {
    classify(p, p.in[i]);
    if (p.rank > 0 && p.in[i].strides[p.rank - 1] == 0)
      p.scalars |= static_cast<uint8_t>(1 << i);
    strings = strings || inputs[static_cast<size_t>(i)].dtype == DType::kString;
  }
  p.block = blocks.variants[p.scalars];
  if (output.dtype != DType::kString && p.n * p.out_size >= kStreamedBytes) {
    p.stream = block_table().stream();
  }
  // Strings cannot be copied as bytes; their blocks have every variant.
  if (p.rank <= 1) {
    p.walk = p.block ? ElementwisePlan::Walk::kFlat : ElementwisePlan::Walk::kExpand;
  } else if (p.block && (strings || p.dims[p.rank - 1] >= kShortRun)) {
    p.walk = ElementwisePlan::Walk::kRuns;
  } else {
    p.walk = ElementwisePlan::Walk::kExpand;
  }
  return p;
}

void run_elementwise(const ElementwisePlan& p, const void* const* in, void* out) {
  if (p.n == 0) return;
  if (p.n <= p.grain && p.walk == ElementwisePlan::Walk::kFlat) {
    p.block(in, out, p.n, p.params);
    return;
  }
  const auto range = [&](int64_t begin, int64_t end) {
    switch (p.walk) {
      case ElementwisePlan::Walk::kFlat:
        return run_flat(p, in, out, begin, end);
      case ElementwisePlan::Walk::kRuns:
        return run_runs(p, in, out, begin, end);
      case ElementwisePlan::Walk::kExpand:
        return run_expand(p, in, out, begin, end);
    }
  };
  const int64_t units = (p.n + kUnit - 1) / kUnit;
  parallel_for(units, std::max<int64_t>(p.grain / kUnit, 1),
               [&](int64_t b, int64_t e) { range(b * kUnit, std::min(e * kUnit, p.n)); });
}

}  // namespace tandem::cpu
