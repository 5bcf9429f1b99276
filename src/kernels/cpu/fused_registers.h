// Gives the slots of compiled fused programs their places in the arena: registers are
// used again as soon as their value is dead. Part of compilation.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/fused_code.h"

namespace tandem::cpu {

struct SlotLife {
  uint32_t fixed_bytes = 0;  // 0: a block register for the time the value is needed
  bool broadcast = false;    // one value written out for a tile of a run
};

/// How many slots a step reads.
int fused_operands(const FusedStep& step);
/// Steps were replaced: step i of before is step place_of[i] now.
void move_fused_bounds(FusedCode& code, std::span<const uint32_t> place_of);
/// Joins instructions of runs where only one needs the result of another (fused_micro.h).
void join_fused_steps(FusedCode& code, std::span<const SlotLife> lives);

/// Sets offsets, moving slots and what outputs must not be written over, and makes runs
/// of what can be in one. False when the program needs more slots or registers than there
/// are.
bool assign_registers(FusedCode& code, std::span<const SlotLife> lives,
                      std::span<const Access> access);

}  // namespace tandem::cpu
