// Runs of simple float32 instructions, evaluated on a few vectors at a time: the values
// between them never leave the innermost cache, divisions and square roots overlap with
// the instructions around them, and all tensors are read and written in step. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {

inline constexpr int64_t kMicroTile = 128;  // elements that one call computes
inline constexpr int64_t kMicroTail = 32;   // the same at the end of a block
inline constexpr size_t kMicroPointers = 96;

/// out[i] = f(a[i], b[i], c[i]) for a fixed number of elements; `out` may be an operand.
using MicroFn = void (*)(const float* a, const float* b, const float* c, float* out);
/// For kMicroTile and for kMicroTail elements.
struct MicroFns {
  MicroFn tile = nullptr, tail = nullptr;
};

/// Instructions that can be joined with the one that uses their result.
enum class MicroJoin : uint8_t { kAdd, kSub, kMul, kDiv, kSquare, kSqrt, kNone };
inline constexpr size_t kMicroSecond = 4;  // kAdd to kDiv may come second
inline constexpr size_t kMicroFirst = 6;

struct MicroEntry {
  std::string_view op;
  int operands;
  MicroFns run;
  MicroJoin join = MicroJoin::kNone;
};
struct MicroTable {
  std::vector<MicroEntry> entries;
  /// joined[first][second][p](a, b, c): the result of first(a, b) is operand p of second,
  /// c its other one. Both round: joined instructions have the bits of single ones.
  MicroEntry joined[kMicroFirst][kMicroSecond][2];
};
TANDEM_ISA_TABLE(MicroTable, fused_micro)

/// Null when the op has no such form.
const MicroEntry* find_micro(std::string_view op, size_t operands);
/// Null when they cannot be one.
const MicroEntry* join_micro(const MicroEntry& first, const MicroEntry& second,
                             size_t operand);

struct MicroStep {
  MicroFns run;
  uint16_t in[3], out;  // pointers of the run
};

/// Where a pointer of a run starts.
struct MicroPointer {
  enum class Kind : uint8_t {
    kMoving,  // a slot with an element per element of the block
    kFixed,   // a slot with one value, written out for a tile
    kLocal,   // a value of this run alone
  };
  Kind kind = Kind::kMoving;
  bool read = false, written = false;  // before a step writes it; by a step
  uint16_t slot = 0;                   // the number of a local value
};

/// Moving pointers come first.
struct MicroRun {
  std::vector<MicroStep> steps;
  std::vector<MicroPointer> pointers;
  size_t moving = 0, locals = 0;
  /// Bytes of scratch memory.
  size_t scratch() const {
    return (locals * static_cast<size_t>(kMicroTile) +
            moving * static_cast<size_t>(kMicroTail)) *
           sizeof(float);
  }
};

/// Computes n elements; `slots` are the pointers of the program.
void run_micro(const MicroRun& run, std::byte* const* slots, std::byte* scratch,
               int64_t n);

}  // namespace tandem::cpu
