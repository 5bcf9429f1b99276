#include "kernels/cpu/fused_groups.h"

#include <algorithm>

namespace tandem::cpu {

namespace {

// Whether every input of the group is walked from its first to its last element or is a
// single one, and every output is full. A domain of one element says nothing about which
// of its inputs are single.
bool is_flat(const FusedProgram& program, const Signature& s, const FusedPlan& plan,
             size_t g) {
  const FusedGeometry& geometry = plan.groups[g].geometry;
  if (geometry.rows != 1 || geometry.columns == 0) return false;
  const bool walked =
      std::all_of(geometry.access.begin(), geometry.access.end(),
                  [](Access a) { return a == Access::kFull || a == Access::kSingle; });
  const auto outputs =
      s.outputs.subspan(g * program.outputs.size(), program.outputs.size());
  return walked && std::all_of(outputs.begin(), outputs.end(), [&](const TensorInfo& o) {
           return o.shape.num_elements() == geometry.elements();
         });
}

}  // namespace

std::optional<FusedJoin> find_join(const FusedProgram& program, const Signature& s,
                                   const FusedPlan& plan) {
  for (const FusedInstruction& i : program.instructions) {
    if (i.kind != FusedInstruction::Kind::kElementwise) return std::nullopt;
  }
  const size_t n = plan.groups.size();
  FusedJoin join;
  join.flat.assign(n, 0);
  const std::vector<Access>* forms = nullptr;
  for (size_t g = 0; g < n; ++g) {
    const FusedGeometry& geometry = plan.groups[g].geometry;
    join.flat[g] = is_flat(program, s, plan, g);
    if (!join.flat[g] || geometry.elements() == 1) continue;
    if (!forms) forms = &geometry.access;
    join.flat[g] = geometry.access == *forms;
  }
  if (!forms) return std::nullopt;
  int64_t elements = 0;
  bool any = false;
  for (size_t g = 0; g < n; ++g) {
    const int64_t here = plan.groups[g].geometry.elements();
    const bool may = g + 1 < n && join.flat[g] && join.flat[g + 1];
    any = any || may;
    for (size_t i = 0; i < forms->size(); ++i) {
      const bool single = (*forms)[i] == Access::kSingle;
      const auto size = static_cast<int64_t>(dtype_size(program.input_dtypes[i]));
      join.input_steps.push_back(!may ? FusedJoin::kNever : single ? 0 : here * size);
    }
    for (const int32_t o : program.outputs) {
      const auto size = static_cast<int64_t>(dtype_size(program.dtype(o)));
      join.output_steps.push_back(may ? here * size : FusedJoin::kNever);
    }
    join.first.push_back(elements);
    elements += here;
  }
  if (!any) return std::nullopt;
  std::vector<Shape> shapes;
  for (const Access form : *forms) {
    shapes.push_back(form == Access::kSingle ? Shape{} : Shape{elements});
  }
  join.whole.geometry = fused_geometry(Shape{elements}, shapes, -1);
  return join;
}

size_t joined_items(const FusedPlan& plan, const LaunchArgs& args, size_t first,
                    size_t last) {
  const auto inputs = static_cast<size_t>(plan.inputs);
  const auto outputs = static_cast<size_t>(plan.outputs);
  const auto apart = [](void* const* pointers, const int64_t* steps, size_t from,
                        size_t n) {
    int64_t wrong = 0;
    for (size_t k = from; k < from + n; ++k) {
      wrong |= (static_cast<std::byte*>(pointers[k + n]) -
                static_cast<std::byte*>(pointers[k])) ^
               steps[k];
    }
    return wrong != 0;
  };
  size_t i = first + 1;
  if (!plan.join->flat[plan.items[first].group]) return i;
  for (; i < last; ++i) {
    const size_t group = plan.items[i - 1].group;
    if (plan.items[i].group == group) continue;
    if (apart(args.inputs, plan.join->input_steps.data(), group * inputs, inputs) ||
        apart(args.outputs, plan.join->output_steps.data(), group * outputs, outputs)) {
      break;
    }
  }
  return i;
}

}  // namespace tandem::cpu
