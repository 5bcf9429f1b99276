// Fused and FusedMulti: programs of many elementwise ops and reductions in one kernel.
// Fusion passes make them after autodiff, so they have no gradient: asking for
// one throws.
#include <fmt/format.h>

#include "op/fused_program.h"
#include "op/output_count.h"
#include "ops/register.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using Kind = FusedInstruction::Kind;

int64_t groups_of(const InferContext& c) {
  const int64_t groups = c.attrs<FusedAttrs>().groups;
  c.require(groups >= 1, fmt::format("groups must be positive, not {}", groups));
  check_output_count(c, groups);
  return groups;
}

void infer_groups(InferContext& c, int64_t groups) {
  const FusedProgram p = FusedProgram::parse(c.attrs<FusedAttrs>().program);
  if (c.num_inputs() != groups * p.num_inputs) {
    c.fail(
        fmt::format("{} inputs are given, but the program has {} and there are {} "
                    "groups. Give the inputs group after group.",
                    c.num_inputs(), p.num_inputs, groups));
  }
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<Shape> shapes;
    for (int32_t i = 0; i < p.num_inputs; ++i) {
      const int at = static_cast<int>(g * p.num_inputs + i);
      if (c.dtype(at) != p.input_dtypes[static_cast<size_t>(i)]) {
        c.fail(fmt::format("input {} has dtype {}, but the program expects {} there", at,
                           dtype_name(c.dtype(at)),
                           dtype_name(p.input_dtypes[static_cast<size_t>(i)])));
      }
      shapes.push_back(c.shape(at));
    }
    const std::vector<Shape> outputs = fused_output_shapes(p, shapes);
    for (size_t o = 0; o < outputs.size(); ++o) {
      c.add_output(p.dtype(p.outputs[o]), outputs[o]);
    }
  }
}
void infer_fused(InferContext& c) {
  c.require(groups_of(c) == 1, "several groups of inputs are FusedMulti's");
  infer_groups(c, 1);
}
void infer_fused_multi(InferContext& c) { infer_groups(c, groups_of(c)); }

// Operations of each instruction by its op's own cost, on the shapes it works on.
double flops_of(const FusedProgram& p, std::span<const Shape> shapes) {
  double flops = 0;
  for (size_t k = 0; k < p.instructions.size(); ++k) {
    const FusedInstruction& i = p.instructions[k];
    std::vector<TensorInfo> inputs(i.arguments.size()), output(1);
    for (size_t a = 0; a < inputs.size(); ++a) {
      inputs[a].dtype = p.dtype(i.arguments[a]);
      inputs[a].shape = shapes[static_cast<size_t>(i.arguments[a])];
    }
    if (i.kind != Kind::kElementwise) {
      flops += static_cast<double>(inputs[0].shape.num_elements());
      continue;
    }
    output[0].dtype = i.dtype;
    output[0].shape = shapes[static_cast<size_t>(p.num_inputs) + k];
    Signature s;
    s.op = &OpTable::get().at(i.op);
    s.attrs = i.attrs.ref();
    s.inputs = inputs;
    s.outputs = output;
    flops += cost_of(s).flops;
  }
  return flops;
}

Cost cost_fused(const Signature& s) {
  Cost c = default_cost(s);
  const auto& attrs = s.attrs.as<FusedAttrs>();
  const FusedProgram p = FusedProgram::parse(attrs.program);
  const auto n = static_cast<size_t>(p.num_inputs);
  for (size_t g = 0; g < static_cast<size_t>(attrs.groups); ++g) {
    std::vector<Shape> shapes;
    bool known = true;
    for (const TensorInfo& t : s.inputs.subspan(g * n, n)) {
      shapes.push_back(t.shape);
      known = known && t.shape.is_known();
    }
    if (known) c.flops += flops_of(p, fused_value_shapes(p, shapes));
  }
  return c;
}

OpDef fused(const char* name, const char* doc, void (*infer)(InferContext&)) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {};  // the program says which dtypes
  def.inputs = {{.name = "inputs", .type = '*', .variadic = true}};
  def.outputs = {"outputs*"};
  def.attrs = &attrs_type<FusedAttrs>();
  def.infer = infer;
  def.grad_inputs = def.grad_outputs = 0;
  def.cost = cost_fused;
  return def;
}

}  // namespace

void register_fused_ops(OpTable& table) {
  table.add(fused("Fused",
                  "Runs a program of elementwise ops and reductions in one pass.",
                  infer_fused));
  table.add(fused("FusedMulti",
                  "Runs one program over many groups of inputs, each with shapes of its "
                  "own.",
                  infer_fused_multi));
}

}  // namespace tandem
