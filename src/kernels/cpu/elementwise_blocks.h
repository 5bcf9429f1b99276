// Block functions: the inner loops of elementwise ops over contiguous elements, one per
// op and dtype, compiled for each instruction set. The broadcasting kernel and fused
// plans both call them. The table is built on first use and never changes; any thread may
// read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "op/op_def.h"
#include "tandem/dtype.h"

namespace tandem::cpu {

/// Numbers from an op's attributes that a block needs (alpha of LeakyRelu, …).
struct BlockParams {
  double a = 0;
  double b = 0;
};

/// Computes n elements of `out` from the operands in `in`. `out` may be one of the
/// operands when element sizes agree; otherwise they do not overlap. May throw for bad
/// contents (division of integers by zero).
using Block = void (*)(const void* const* in, void* out, int64_t n, const BlockParams& p);

inline constexpr int kMaxOperands = 3;

/// Copies a multiple of 64 bytes past the caches to memory aligned to as much. What large
/// results are written with: plain stores would read every cache line of the output
/// first.
using StreamFn = void (*)(void* destination, const void* source, int64_t bytes);
inline constexpr int64_t kStreamAlign = 64;
/// Results of so many bytes and more go past the caches.
inline constexpr int64_t kStreamedBytes = int64_t{32} << 20;

/// Elements of a cheap op that are worth about 20 µs.
inline constexpr double kGrainElements = 65536;

/// The block functions of one op for one dtype. Bit i of an index into `variants` says
/// that operand i is a single element used for all n; null: no such variant, expand the
/// operand.
struct ElementwiseBlocks {
  int operands = 1;
  DType out = DType::kInvalid;
  float cost = 1;  // time per element relative to an addition of floats in cache
  Block variants[1 << kMaxOperands] = {};
};

/// What the families of blocks fill.
class BlockTable {
 public:
  struct Key {
    std::string op;
    DType dtype;
    bool operator==(const Key&) const = default;
  };
  void add(std::string_view op, DType dtype, const ElementwiseBlocks& blocks);
  void add_cast(DType from, DType to, bool truncate, Block block);
  void set_stream(StreamFn copy) { stream_ = copy; }
  StreamFn stream() const { return stream_; }
  const ElementwiseBlocks* find(std::string_view op, DType dtype) const;
  Block find_cast(DType from, DType to, bool truncate) const {
    return casts_[truncate][static_cast<int>(from)][static_cast<int>(to)];
  }
  /// Ops with the dtypes for which there are blocks.
  const std::unordered_map<std::string, DTypeMask>& ops() const { return ops_; }

 private:
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return std::hash<std::string>()(k.op) * 31 + static_cast<size_t>(k.dtype);
    }
  };
  std::unordered_map<Key, ElementwiseBlocks, KeyHash> blocks_;
  std::unordered_map<std::string, DTypeMask> ops_;
  Block casts_[2][kDTypeCount][kDTypeCount] = {};
  StreamFn stream_ = nullptr;  // null where the machine has no such stores
};

/// All blocks, in the variant for this machine's instruction set.
const BlockTable& block_table();

/// Blocks of an op for the dtype of its type variable T; null when there are none.
inline const ElementwiseBlocks* find_blocks(std::string_view op, DType dtype) {
  return block_table().find(op, dtype);
}
/// Converts n elements; null for strings and resources. `truncate` drops low bits of
/// floating-point numbers instead of rounding.
inline Block find_cast_block(DType from, DType to, bool truncate = false) {
  return block_table().find_cast(from, to, truncate);
}
/// The block parameters that a call's attributes spell out.
BlockParams block_params(AttrsRef attrs);

}  // namespace tandem::cpu
