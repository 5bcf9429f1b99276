// Two instructions of a run in one call, where only the second needs the first.
#include <algorithm>
#include <utility>

#include "kernels/cpu/fused_registers.h"

namespace tandem::cpu {

namespace {

bool is_register(const FusedCode& code, std::span<const SlotLife> lives, uint16_t slot) {
  return code.slots[slot].place == FusedSlot::Place::kArena && !lives[slot].fixed_bytes;
}

void count_uses(const FusedStep& step, std::vector<int>& uses) {
  const int n = step.micro ? step.micro->operands : fused_operands(step);
  for (int a = 0; a < n; ++a) ++uses[step.in[a]];
}
void remove(FusedCode& code, const std::vector<bool>& gone) {
  std::vector<FusedStep> steps;
  std::vector<uint32_t> place_of;
  for (size_t i = 0; i < gone.size(); ++i) {
    place_of.push_back(static_cast<uint32_t>(steps.size()));
    if (!gone[i]) steps.push_back(code.steps[i]);
  }
  place_of.push_back(static_cast<uint32_t>(steps.size()));
  code.steps = std::move(steps);
  move_fused_bounds(code, place_of);
}

}  // namespace

int fused_operands(const FusedStep& step) {
  switch (step.kind) {
    case FusedStep::Kind::kBlock:
      return kMaxOperands;  // unused ones repeat the first
    case FusedStep::Kind::kGather:
    case FusedStep::Kind::kRowStart:
      return 0;
    default:
      return 1;
  }
}

void move_fused_bounds(FusedCode& code, std::span<const uint32_t> place_of) {
  for (uint32_t* at : {&code.prologue, &code.tile_head}) *at = place_of[*at];
  for (FusedPhase& phase : code.phases) {
    for (uint32_t* at : {&phase.head, &phase.chunk, &phase.tail, &phase.end}) {
      *at = place_of[*at];
    }
  }
}

void join_fused_steps(FusedCode& code, std::span<const SlotLife> lives) {
  std::vector<int> uses(code.slots.size(), 0);
  std::vector<int> computed(code.slots.size(), -1);
  for (const FusedStep& step : code.steps) count_uses(step, uses);
  for (const FusedOutput& out : code.outputs) {
    if (out.form != FusedOutput::Form::kReduced) ++uses[out.slot];
  }
  std::vector<bool> gone(code.steps.size(), false);
  for (const FusedPhase& phase : code.phases) {
    for (uint32_t i = phase.chunk; i < phase.tail; ++i) {
      FusedStep& step = code.steps[i];
      if (!step.micro) continue;
      for (size_t a = 0; a < 2 && step.micro->operands == 2; ++a) {
        const uint16_t s = step.in[a];
        if (uses[s] != 1 || !is_register(code, lives, s) || computed[s] < 0) continue;
        const auto before = static_cast<size_t>(computed[s]);
        const FusedStep& first = code.steps[before];
        const MicroEntry* joined = join_micro(*first.micro, *step.micro, a);
        if (!joined) continue;
        const uint16_t other = step.in[1 - a];
        step.micro = joined;
        step.in[0] = first.in[0];
        step.in[1] = first.in[1];
        step.in[2] = other;
        gone[before] = true;
      }
      computed[step.out] = static_cast<int>(i);
    }
    std::fill(computed.begin(), computed.end(), -1);
  }
  remove(code, gone);
}

}  // namespace tandem::cpu
