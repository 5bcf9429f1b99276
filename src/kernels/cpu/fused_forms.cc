#include "kernels/cpu/fused_forms.h"

#include <algorithm>

#include "kernels/cpu/fused_code.h"

namespace tandem::cpu {

namespace {

using Kind = FusedInstruction::Kind;

const FusedInstruction& instruction(const FusedProgram& p, int32_t v) {
  return p.instructions[static_cast<size_t>(v - p.num_inputs)];
}

}  // namespace

FusedForms::FusedForms(const FusedProgram& p, std::span<const Access> access)
    : values_(static_cast<size_t>(p.num_values())) {
  for (int32_t v = 0; v < p.num_inputs; ++v) {
    const Access a = access[static_cast<size_t>(v)];
    at(v).form = a == Access::kSingle                       ? Form::kSingle
                 : a == Access::kRow || a == Access::kOuter ? Form::kRow
                                                            : Form::kFull;
  }
  for (int32_t v = p.num_inputs; v < p.num_values(); ++v) {
    const FusedInstruction& i = instruction(p, v);
    for (int32_t a : i.arguments) {
      at(v).form = std::max(at(v).form, at(a).form);
      at(v).level = std::max(at(v).level, at(a).level);
    }
    if (i.kind == Kind::kElementwise) continue;
    const Form from = at(i.arguments[0]).form;
    if (from == Form::kSingle || (from == Form::kRow && i.kind == Kind::kRowReduce)) {
      at(v).same_as = i.arguments[0];
      continue;
    }
    at(v).form = i.kind == Kind::kRowReduce ? Form::kRow : Form::kSingle;
    if (i.kind == Kind::kRowReduce) ++at(v).level;
  }
  find_used(p);
  find_phases(p);
}

void FusedForms::find_used(const FusedProgram& p) {
  for (int32_t o : p.outputs) at(o).used = true;
  for (int32_t v = p.num_values() - 1; v >= p.num_inputs; --v) {
    if (!at(v).used) continue;
    const FusedInstruction& i = instruction(p, v);
    for (int32_t a : i.arguments) at(a).used = true;
    if (i.kind != Kind::kElementwise && at(v).same_as < 0) {
      at(i.arguments[0]).reductions.push_back(v);
    }
  }
}

void FusedForms::find_phases(const FusedProgram& p) {
  for (int32_t v = p.num_inputs; v < p.num_values(); ++v) {
    const FusedInstruction& i = instruction(p, v);
    if (!at(v).used) continue;
    if (i.kind == Kind::kRowReduce) phases_ = std::max(phases_, at(v).level);
    if (i.kind == Kind::kElementwise && at(v).form == Form::kFull) {
      phases_ = std::max(phases_, at(v).level + 1);
    }
  }
  for (Value& v : values_) v.phase = phases_ - 1;
  for (int32_t v = p.num_values() - 1; v >= p.num_inputs; --v) {
    const FusedInstruction& i = instruction(p, v);
    if (!at(v).used) continue;
    // Row reductions are due as soon as they can be; other reductions follow the value.
    if (i.kind == Kind::kColumnReduce || i.kind == Kind::kAllReduce) continue;
    const bool reduce = i.kind == Kind::kRowReduce;
    if (at(v).same_as >= 0 || (!reduce && at(v).form != Form::kFull)) continue;
    const int32_t due = reduce ? at(v).level - 1 : at(v).phase;
    for (int32_t a : i.arguments) {
      if (a >= p.num_inputs) at(a).phase = std::min(at(a).phase, due);
      at(a).last_phase = std::max(at(a).last_phase, due);
    }
  }
}

bool fused_has_rows(const FusedProgram& p) {
  return std::any_of(p.instructions.begin(), p.instructions.end(),
                     [](const FusedInstruction& i) {
                       return i.kind == Kind::kRowReduce || i.kind == Kind::kColumnReduce;
                     });
}

bool fused_shapes_fit(const FusedProgram& p, const FusedGeometry& g,
                      std::span<const Shape> shapes) {
  const FusedForms forms(p, g.access);
  const auto whole = [&](int32_t v) {
    const int64_t count = shapes[static_cast<size_t>(v)].num_elements();
    switch (forms.form(v)) {
      case FusedForms::Form::kFull:
        return count == g.elements();
      case FusedForms::Form::kRow:
        return count == g.rows;
      default:
        return count == 1;
    }
  };
  for (int32_t v = p.num_inputs; v < p.num_values(); ++v) {
    const FusedInstruction& i = instruction(p, v);
    if (i.kind == Kind::kElementwise || !forms.used(v)) continue;
    if (!whole(i.arguments[0])) return false;
  }
  return std::all_of(p.outputs.begin(), p.outputs.end(), [&](int32_t o) {
    const Kind kind = instruction(p, o).kind;
    return kind == Kind::kColumnReduce || kind == Kind::kAllReduce || whole(o);
  });
}

}  // namespace tandem::cpu
