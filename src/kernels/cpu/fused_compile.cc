// From a fused program to steps: what is computed in which phase, and the reductions
// between phases. Elementwise steps are made in fused_emitter.h, registers in
// fused_registers.cc.
#include <algorithm>

#include "kernels/cpu/fused_emitter.h"

namespace tandem::cpu {

namespace {

using Kind = FusedInstruction::Kind;

constexpr int64_t kLongRow = 256;       // from here on a call per row costs little
constexpr int64_t kFewRowsPerTile = 8;  // column sums over fewer go through lanes

class Compiler : FusedEmitter {
 public:
  Compiler(const FusedProgram& program, const FusedGeometry& geometry,
           const FusedTiling& tiling)
      : FusedEmitter(program, geometry, tiling) {}

  std::optional<FusedCode> compile() {
    if (!find_blocks()) return std::nullopt;
    add_inputs();
    add_outputs();
    for (int32_t v = p_.num_inputs; v < p_.num_values(); ++v) {
      if (forms_.used(v) && forms_.form(v) == Form::kSingle) emit_single(v);
    }
    std::vector<FusedStep> tile_steps;
    for (int32_t v = 0; v < p_.num_values(); ++v) {
      if (forms_.used(v) && forms_.form(v) == Form::kRow && forms_.level(v) == 0) {
        emit_row(v);
      }
    }
    tile_steps.swap(steps_);
    const size_t row_part = tile_steps.size();
    for (int32_t phase = 0; phase < forms_.phases(); ++phase) emit_phase(phase);
    return finish(tile_steps, row_part);
  }

 private:
  // A value with one element per row, before or after the phases' chunks.
  void emit_row(int32_t v) {
    if (v < p_.num_inputs) {
      if (slot(v) == kNone) emit_gather(v, true);
    } else if (instruction(v).kind == Kind::kElementwise) {
      emit_row_block(v);
    } else if (forms_.same_as(v) >= 0) {
      slot(v) = slot(forms_.same_as(v));
    }
    for (int32_t r : forms_.reductions_of(v)) emit_fold(r, true);
  }

  // ---- Reductions
  // ----------------------------------------------------------------------
  uint16_t add_reduction(int32_t r, FusedReduction::Kind kind) {
    const FusedInstruction& i = instruction(r);
    FusedReduction red;
    red.kind = kind;
    red.loops = fused_reducer(i.op, i.dtype);
    if (kind == FusedReduction::Kind::kColumn && i.dtype == DType::kFloat32 &&
        (i.op == "Sum" || i.op == "Mean") && t_.rows_per_tile < kFewRowsPerTile) {
      red.lanes = cpu::find_blocks("AddV2", DType::kFloat32)->variants[0];
    }
    code_.reductions.push_back(red);
    return static_cast<uint16_t>(code_.reductions.size() - 1);
  }

  void emit_fold(int32_t r, bool per_row) {
    const int32_t from = instruction(r).arguments[0];
    // One element per row has but one column.
    const bool all = per_row || instruction(r).kind == Kind::kAllReduce;
    FusedStep step{.kind = all ? StepKind::kAllFold : StepKind::kColumnFold,
                   .per_row = per_row};
    step.index = add_reduction(
        r, all ? FusedReduction::Kind::kAll : FusedReduction::Kind::kColumn);
    code_.reductions.back().of_rows = per_row;
    slot(r) = step.index;
    step.in[0] = per_row ? slot(from) : full_operand(from);
    (per_row ? steps_ : after_).push_back(step);
    code_.cost += per_row ? 0 : 1;
  }

  // Row reductions start before the chunks of their phase and finish after them.
  struct RowReduction {
    int32_t value;
    uint16_t index, accumulators;
  };
  void start_row_reductions(int32_t phase) {
    open_.clear();
    for (int32_t v = p_.num_inputs; v < p_.num_values(); ++v) {
      if (!forms_.used(v) || instruction(v).kind != Kind::kRowReduce ||
          forms_.same_as(v) >= 0 || forms_.level(v) != phase + 1) {
        continue;
      }
      const uint16_t index = add_reduction(v, FusedReduction::Kind::kRow);
      const auto bytes = static_cast<int64_t>(code_.reductions[index].loops->acc_size);
      const uint16_t acc = add_fixed(t_.rows_per_tile * bytes, 0);
      open_.push_back({v, index, acc});
      FusedStep step{.kind = StepKind::kRowStart, .per_row = true, .index = index};
      step.out = acc;
      steps_.push_back(step);
    }
  }
  void fold_full(int32_t v) {
    for (const RowReduction& r : open_) {
      if (instruction(r.value).arguments[0] != v) continue;
      FusedStep step{.kind = StepKind::kRowFold, .index = r.index};
      step.in[0] = full_operand(v);
      step.out = r.accumulators;
      after_.push_back(step);
      code_.cost += 1;
    }
    for (int32_t r : forms_.reductions_of(v)) {
      if (instruction(r).kind != Kind::kRowReduce && forms_.phase(v) == phase_) {
        emit_fold(r, false);
      }
    }
  }
  void finish_row_reductions() {
    for (const RowReduction& r : open_) {
      FusedStep step{.kind = StepKind::kRowFinish, .per_row = true, .index = r.index};
      step.in[0] = r.accumulators;
      slot(r.value) = step.out = row_register(r.value);
      steps_.push_back(step);
    }
  }

  void emit_phase(int32_t phase) {
    phase_ = phase;
    FusedPhase bounds{};
    bounds.head = static_cast<uint32_t>(steps_.size());
    if (t_.chunked) expanded_.clear();
    start_row_reductions(phase);
    for (int32_t v = 0; v < p_.num_values(); ++v) {
      if (!forms_.used(v) || forms_.form(v) != Form::kFull) continue;
      const bool input = v < p_.num_inputs;
      if (!input && forms_.phase(v) != phase) continue;
      if (!input) emit_full(v);
      fold_full(v);
    }
    bounds.chunk = static_cast<uint32_t>(steps_.size());
    // What is written out comes first and reductions last: long runs in between.
    for (auto* part : {&before_, &body_, &after_}) {
      steps_.insert(steps_.end(), part->begin(), part->end());
      part->clear();
    }
    bounds.tail = static_cast<uint32_t>(steps_.size());
    finish_row_reductions();
    for (int32_t v = p_.num_inputs; v < p_.num_values(); ++v) {
      if (forms_.used(v) && forms_.form(v) == Form::kRow &&
          forms_.level(v) == phase + 1) {
        emit_row(v);
      }
    }
    bounds.end = static_cast<uint32_t>(steps_.size());
    code_.phases.push_back(bounds);
  }

  // ---- The whole
  // -----------------------------------------------------------------------
  std::optional<FusedCode> finish(const std::vector<FusedStep>& tile_steps,
                                  size_t row_part) {
    const auto base = static_cast<uint32_t>(prologue_.size() + row_part);
    code_.prologue = static_cast<uint32_t>(prologue_.size());
    code_.tile_head = base;
    code_.steps = prologue_;
    code_.steps.insert(code_.steps.end(), tile_steps.begin(), tile_steps.end());
    code_.steps.insert(code_.steps.end(), steps_.begin(), steps_.end());
    for (FusedPhase& phase : code_.phases) {
      phase.head += base, phase.chunk += base, phase.tail += base, phase.end += base;
    }
    for (size_t o = 0; o < code_.outputs.size(); ++o) {
      code_.outputs[o].slot = slot(p_.outputs[o]);
    }
    if (!assign_registers(code_, lives_, g_.access)) return std::nullopt;
    return std::move(code_);
  }

  std::vector<RowReduction> open_;
};

}  // namespace

FusedTiling fused_tiling(const FusedProgram& program, const FusedGeometry& g,
                         int64_t block) {
  FusedTiling t{block, 1, false};
  if (g.columns > block) {
    t.chunked =
        std::any_of(program.instructions.begin(), program.instructions.end(),
                    [](const FusedInstruction& i) { return i.kind == Kind::kRowReduce; });
  } else if (g.columns < kLongRow) {
    t.rows_per_tile = std::clamp<int64_t>(block / std::max<int64_t>(g.columns, 1), 1,
                                          std::max<int64_t>(g.rows, 1));
  }
  return t;
}

std::optional<FusedCode> compile_fused(const FusedProgram& program,
                                       const FusedGeometry& geometry,
                                       const FusedTiling& tiling) {
  return Compiler(program, geometry, tiling).compile();
}

}  // namespace tandem::cpu
