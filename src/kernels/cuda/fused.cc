// Fused and FusedMulti: programs that the fusion passes write (op/fused_program.h), on
// the same generator as single ops. dtypes: all but strings.
#include "kernels/cuda/families.h"
#include "kernels/cuda/fused_rows.h"

namespace tandem::cuda {

namespace {

std::vector<Shape> shapes_of(std::span<const TensorInfo> tensors) {
  std::vector<Shape> shapes;
  for (const TensorInfo& t : tensors) shapes.push_back(t.shape);
  return shapes;
}

FusedPlan prepare_fused(const Signature& s) {
  return plan_fused(s.device, FusedProgram::parse(s.attrs.as<FusedAttrs>().program),
                    shapes_of(s.inputs), shapes_of(s.outputs));
}
void launch_fused(const FusedPlan& p, const LaunchArgs& a) {
  run_fused(p, *a.stream, a.inputs, a.outputs, a.workspace);
}

// One launch for all groups where they have one form, else one plan each.
struct GroupsPlan {
  std::optional<MultiPlan> multi;
  std::optional<MultiColumnsPlan> columns;
  std::vector<FusedPlan> groups;
  size_t workspace_bytes = 0;  // the groups run one after the other
};
GroupsPlan prepare_multi(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedAttrs>();
  const FusedProgram program = FusedProgram::parse(attrs.program);
  const std::vector<Shape> inputs = shapes_of(s.inputs), outputs = shapes_of(s.outputs);
  GroupsPlan p;
  p.multi = plan_multi(s.device, program, inputs, outputs, attrs.groups);
  if (p.multi) return p;
  p.columns = plan_multi_columns(s.device, program, inputs, outputs, attrs.groups);
  if (p.columns) {
    p.workspace_bytes = p.columns->workspace_bytes;
    return p;
  }
  const auto k = static_cast<size_t>(program.num_inputs);
  const auto m = program.outputs.size();
  for (size_t g = 0; g < static_cast<size_t>(attrs.groups); ++g) {
    p.groups.push_back(plan_fused(s.device, program, std::span(inputs).subspan(g * k, k),
                                  std::span(outputs).subspan(g * m, m)));
    p.workspace_bytes = std::max(p.workspace_bytes, p.groups.back().workspace_bytes);
  }
  return p;
}
void launch_multi(const GroupsPlan& p, const LaunchArgs& a) {
  if (p.multi) return run_multi(*p.multi, *a.stream, a.inputs, a.outputs);
  if (p.columns) {
    return run_multi_columns(*p.columns, *a.stream, a.inputs, a.outputs, a.workspace);
  }
  for (size_t g = 0; g < p.groups.size(); ++g) {
    const FusedPlan& group = p.groups[g];
    run_fused(group, *a.stream, a.inputs + g * static_cast<size_t>(group.inputs),
              a.outputs + g * static_cast<size_t>(group.outputs), a.workspace);
  }
}

}  // namespace

void register_fused(Kernels& kernels) {
  if (OpTable::get().find("Fused")) {
    kernels.add(make_kernel<prepare_fused, launch_fused>("Fused", "cuda.fused"));
  }
  if (OpTable::get().find("FusedMulti")) {
    kernels.add(
        make_kernel<prepare_multi, launch_multi>("FusedMulti", "cuda.fused_multi"));
  }
}

}  // namespace tandem::cuda
