// The first half of compiling fused programs: slots, and the steps of elementwise
// instructions. Used by fused_compile.cc alone.
#pragma once

#include <bit>
#include <map>
#include <vector>

#include "kernels/cpu/fused_blocks.h"
#include "kernels/cpu/fused_code.h"
#include "kernels/cpu/fused_forms.h"
#include "kernels/cpu/fused_registers.h"

namespace tandem::cpu {

class FusedEmitter {
 protected:
  using Kind = FusedInstruction::Kind;
  using StepKind = FusedStep::Kind;
  using Place = FusedSlot::Place;
  using Form = FusedForms::Form;

  FusedEmitter(const FusedProgram& program, const FusedGeometry& geometry,
               const FusedTiling& tiling)
      : p_(program), g_(geometry), t_(tiling), forms_(program, geometry.access) {
    code_.block = tiling.block;
    code_.rows_per_tile = tiling.rows_per_tile;
    code_.chunked = tiling.chunked;
    slot_.assign(static_cast<size_t>(p_.num_values()), kNone);
  }

  static constexpr uint16_t kNone = 0xffff;

  const FusedInstruction& instruction(int32_t v) const {
    return p_.instructions[static_cast<size_t>(v - p_.num_inputs)];
  }
  uint8_t size_of(int32_t v) const {
    return static_cast<uint8_t>(dtype_size(p_.dtype(v)));
  }
  uint16_t& slot(int32_t v) { return slot_[static_cast<size_t>(v)]; }

  bool find_blocks() {
    blocks_.resize(p_.instructions.size());
    for (int32_t v = p_.num_inputs; v < p_.num_values(); ++v) {
      const FusedInstruction& i = instruction(v);
      if (!forms_.used(v)) continue;
      if (i.kind != Kind::kElementwise) {
        if (!fused_reducer(i.op, i.dtype)) return false;
        continue;
      }
      std::vector<DType> dtypes;
      for (int32_t a : i.arguments) dtypes.push_back(p_.dtype(a));
      const auto found =
          fused_blocks(OpTable::get().at(i.op), i.attrs.ref(), dtypes, i.dtype);
      if (!found) return false;
      blocks_[static_cast<size_t>(v - p_.num_inputs)] = *found;
    }
    return true;
  }

  // ---- Slots
  // ---------------------------------------------------------------------------
  uint16_t add_slot(Place place, uint8_t size, size_t index = 0) {
    code_.slots.push_back({place, size, static_cast<uint16_t>(index), 0});
    lives_.push_back({});
    return static_cast<uint16_t>(code_.slots.size() - 1);
  }
  uint16_t add_register(uint8_t size) { return add_slot(Place::kArena, size); }
  /// Memory in the arena that is never given to another value.
  uint16_t add_fixed(int64_t bytes, uint8_t size) {
    const uint16_t s = add_slot(Place::kArena, size);
    lives_[s].fixed_bytes = static_cast<uint32_t>(bytes);
    return s;
  }

  void add_inputs() {
    for (int32_t v = 0; v < p_.num_inputs; ++v) {
      const auto i = static_cast<size_t>(v);
      if (!forms_.used(v)) continue;
      const Access access = g_.access[i];
      const bool single_row = t_.rows_per_tile == 1;
      const bool gathered =
          access == Access::kGeneral ||
          (!single_row && (access == Access::kInner || access == Access::kOuter));
      if (access == Access::kColumn && !single_row) {
        const uint16_t from = add_slot(Place::kInput, size_of(v), i);
        slot(v) = add_fixed(t_.rows_per_tile * g_.columns * size_of(v), size_of(v));
        FusedStep step{.kind = StepKind::kTile, .size = size_of(v)};
        step.in[0] = from;
        step.out = slot(v);
        prologue_.push_back(step);
        code_.prologue_inputs.push_back(static_cast<uint16_t>(i));
      } else if (!gathered) {
        slot(v) = add_slot(Place::kInput, size_of(v), i);
      }
    }
  }

  void add_outputs() {
    for (size_t o = 0; o < p_.outputs.size(); ++o) {
      const int32_t v = p_.outputs[o];
      FusedOutput out;
      out.size = size_of(v);
      const Kind kind = instruction(v).kind;
      const bool rows = kind == Kind::kElementwise || kind == Kind::kRowReduce;
      if (!rows && forms_.same_as(v) < 0) {
        out.form = FusedOutput::Form::kReduced;
      } else if (forms_.form(v) == Form::kSingle) {
        out.form = FusedOutput::Form::kSingle;
      } else if (forms_.form(v) == Form::kRow) {
        out.form = FusedOutput::Form::kRow;
      } else if (slot(v) != kNone) {
        const bool late = code_.slots[slot(v)].place == Place::kStore;
        out.form = late ? FusedOutput::Form::kLate : FusedOutput::Form::kCopy;
      } else if (t_.chunked && forms_.phase(v) + 1 < forms_.phases()) {
        out.form = FusedOutput::Form::kLate;
        slot(v) = add_slot(Place::kStore, size_of(v));
      } else {
        slot(v) = add_slot(Place::kOutput, size_of(v), o);
        lives_[slot(v)].fixed_bytes = static_cast<uint32_t>(t_.block * size_of(v));
      }
      code_.outputs.push_back(out);
    }
  }

  // ---- Elementwise steps
  // ---------------------------------------------------------------
  FusedStep block_step(int32_t v, unsigned scalars) {
    const FusedBlocks& b = blocks_[static_cast<size_t>(v - p_.num_inputs)];
    FusedStep step;
    step.block = b.blocks.variants[scalars];
    step.params = b.params;
    step.size = size_of(v);
    return step;
  }
  const ElementwiseBlocks& blocks(int32_t v) const {
    return blocks_[static_cast<size_t>(v - p_.num_inputs)].blocks;
  }
  /// The variant with most of these operands as single elements.
  unsigned best_variant(int32_t v, unsigned scalars) const {
    unsigned best = 0;
    for (unsigned m = scalars; m; m = (m - 1) & scalars) {
      if (blocks(v).variants[m] && std::popcount(m) > std::popcount(best)) best = m;
    }
    return best;
  }

  // The runner loads all operands; those there are not repeat the first.
  static void pad_operands(FusedStep& step, size_t operands) {
    for (size_t a = operands; a < kMaxOperands; ++a) step.in[a] = step.in[0];
  }

  void emit_single(int32_t v) {
    if (forms_.same_as(v) >= 0) slot(v) = slot(forms_.same_as(v));
    if (instruction(v).kind != Kind::kElementwise) return;
    FusedStep step = block_step(v, 0);
    const auto& arguments = instruction(v).arguments;
    for (size_t a = 0; a < arguments.size(); ++a) {
      const int32_t from = arguments[a];
      step.in[a] = slot(from);
      if (from < p_.num_inputs) {
        code_.prologue_inputs.push_back(static_cast<uint16_t>(from));
      }
    }
    slot(v) = step.out = add_fixed(16, size_of(v));
    pad_operands(step, arguments.size());
    prologue_.push_back(step);
  }

  uint16_t row_register(int32_t v) {
    return add_fixed(t_.rows_per_tile * size_of(v), size_of(v));
  }

  void emit_row_block(int32_t v) {
    const auto& arguments = instruction(v).arguments;
    unsigned singles = 0;
    for (size_t a = 0; a < arguments.size(); ++a) {
      if (forms_.form(arguments[a]) == Form::kSingle) singles |= 1u << a;
    }
    // With one row per tile every operand is one element.
    const unsigned variant = t_.rows_per_tile == 1 ? 0 : best_variant(v, singles);
    FusedStep step = block_step(v, variant);
    step.per_row = true;
    for (size_t a = 0; a < arguments.size(); ++a) {
      step.in[a] = slot(arguments[a]);
      if (t_.rows_per_tile == 1 || !(singles >> a & 1) || (variant >> a & 1)) continue;
      FusedStep fill{
          .kind = StepKind::kFill, .per_row = true, .size = size_of(arguments[a])};
      fill.in[0] = slot(arguments[a]);
      fill.out = row_register(arguments[a]);
      steps_.push_back(fill);
      step.in[a] = fill.out;
    }
    slot(v) = step.out = row_register(v);
    pad_operands(step, arguments.size());
    steps_.push_back(step);
  }

  void emit_gather(int32_t v, bool per_row) {
    FusedStep step{.kind = StepKind::kGather, .per_row = per_row, .size = size_of(v)};
    step.index = static_cast<uint16_t>(v);
    step.out = per_row ? row_register(v) : add_register(size_of(v));
    slot(v) = step.out;
    (per_row ? steps_ : before_).push_back(step);
    if (!per_row) code_.cost += 1;
  }

  // A single element or one per row, written out for the whole tile.
  uint16_t expanded(int32_t v) {
    const auto it = expanded_.find(v);
    if (it != expanded_.end()) return it->second;
    const bool repeat = forms_.form(v) == Form::kRow && t_.rows_per_tile > 1;
    FusedStep step{.kind = repeat ? StepKind::kRepeat : StepKind::kFill,
                   .size = size_of(v)};
    step.in[0] = slot(v);
    step.out = add_register(size_of(v));
    before_.push_back(step);
    code_.cost += 1;
    return expanded_[v] = step.out;
  }

  // The same for a tile of a run.
  uint16_t broadcast(int32_t v) {
    const auto it = broadcast_.find(v);
    if (it != broadcast_.end()) return it->second;
    FusedStep step{.kind = StepKind::kFill, .size = size_of(v)};
    step.count = static_cast<int32_t>(kMicroTile);
    step.in[0] = slot(v);
    step.out = add_fixed(kMicroTile * size_of(v), size_of(v));
    lives_[step.out].broadcast = true;
    if (forms_.form(v) == Form::kSingle) {
      prologue_.push_back(step);
      if (v < p_.num_inputs) code_.prologue_inputs.push_back(static_cast<uint16_t>(v));
    } else {
      steps_.push_back(step);  // before the chunks
    }
    return broadcast_[v] = step.out;
  }

  uint16_t full_operand(int32_t v) {
    if (v >= p_.num_inputs || (slot(v) != kNone && !gathered_.count(v))) return slot(v);
    // In chunks, what was gathered for one phase is gone in the next.
    const auto [it, first] = gathered_.try_emplace(v, phase_);
    if (first || (t_.chunked && it->second != phase_)) emit_gather(v, false);
    it->second = phase_;
    return slot(v);
  }

  const MicroEntry* find_micro_form(int32_t v) const {
    const FusedInstruction& i = instruction(v);
    bool floats = i.kind == Kind::kElementwise && i.dtype == DType::kFloat32;
    for (int32_t a : i.arguments) floats = floats && p_.dtype(a) == DType::kFloat32;
    return floats ? find_micro(i.op, i.arguments.size()) : nullptr;
  }
  // The nearest full value that the same phase computes before or after v; -1 for none.
  int32_t neighbour(int32_t v, int32_t step) const {
    for (int32_t n = v + step; n >= p_.num_inputs && n < p_.num_values(); n += step) {
      if (forms_.used(n) && forms_.form(n) == Form::kFull &&
          forms_.phase(n) == forms_.phase(v)) {
        return n;
      }
    }
    return -1;
  }
  // A single instruction is faster as one call for the whole block.
  const MicroEntry* micro_form(int32_t v) const {
    for (const int32_t step : {-1, 1}) {
      const int32_t n = neighbour(v, step);
      if (n >= 0 && find_micro_form(n)) return find_micro_form(v);
    }
    return nullptr;
  }

  void emit_full(int32_t v) {
    const auto& arguments = instruction(v).arguments;
    unsigned ones = 0;
    for (size_t a = 0; a < arguments.size(); ++a) {
      const Form form = forms_.form(arguments[a]);
      const bool one =
          form == Form::kSingle || (form == Form::kRow && t_.rows_per_tile == 1);
      if (one) ones |= 1u << a;
    }
    const MicroEntry* micro = micro_form(v);
    const unsigned variant = micro ? 0 : best_variant(v, ones);
    FusedStep step = block_step(v, variant);
    step.micro = micro;
    for (size_t a = 0; a < arguments.size(); ++a) {
      const int32_t from = arguments[a];
      if (forms_.form(from) == Form::kFull) {
        step.in[a] = full_operand(from);
      } else if (micro && (ones >> a & 1)) {
        step.in[a] = broadcast(from);
      } else {
        step.in[a] = (variant >> a & 1) ? slot(from) : expanded(from);
      }
    }
    if (slot(v) == kNone) {
      const bool crosses = t_.chunked && forms_.last_phase(v) > forms_.phase(v);
      slot(v) = crosses ? add_slot(Place::kStore, size_of(v)) : add_register(size_of(v));
    }
    step.out = slot(v);
    pad_operands(step, arguments.size());
    body_.push_back(step);
    code_.cost += static_cast<double>(blocks(v).cost);
  }

  const FusedProgram& p_;
  const FusedGeometry& g_;
  const FusedTiling t_;
  const FusedForms forms_;
  FusedCode code_;
  std::vector<SlotLife> lives_;
  std::vector<FusedBlocks> blocks_;  // of each instruction
  std::vector<uint16_t> slot_;  // of each value; of column and all reductions the number
  std::vector<FusedStep> prologue_, steps_;
  std::vector<FusedStep> before_, body_, after_;  // of the phase's chunks
  std::map<int32_t, uint16_t> expanded_, broadcast_;
  std::map<int32_t, int32_t> gathered_;  // inputs and the phase they were gathered for
  int32_t phase_ = 0;
};

}  // namespace tandem::cpu
