// Variables: assignment and sparse updates in place. The variable's memory is input 0,
// shared with nobody. dtypes: assignment and replacement all but strings, arithmetic all
// numbers, minimum and maximum real numbers.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"

namespace tandem::cuda {

std::string state_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("state.cuh"));
}

namespace {

struct UpdatePlan {
  Function function;
  int64_t n = 0;
};
UpdatePlan plan_update(const Signature& s, const char* entry) {
  UpdatePlan p;
  p.n = s.in(1).shape.num_elements();
  p.function = find_function(s.device, s.op->name, state_text(s.in(0).dtype), entry);
  return p;
}
UpdatePlan prepare_assign(const Signature& s) { return plan_update(s, "assign"); }
UpdatePlan prepare_add(const Signature& s) { return plan_update(s, "assign_add"); }
UpdatePlan prepare_sub(const Signature& s) { return plan_update(s, "assign_sub"); }
void launch_update(const UpdatePlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[0], a.inputs[1], p.n,
         flags_of(a));
}

ScatterPlan prepare_scatter(const Signature& s) {
  const Shape &value = s.in(0).shape, &indices = s.in(1).shape;
  std::string op = s.op->name.substr(std::string("ResourceScatter").size());
  for (char& c : op) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const DType dtype = s.in(0).dtype, index = s.in(1).dtype;
  ScatterPlan p;
  find_scatter(s, op, dtype, index, p);
  const std::string text = scatter_text(op, dtype, index);
  p.rows = find_function(s.device, s.op->name, text, "check_rows");
  if (op == "DIV" && is_integer(dtype)) {
    p.divisors = find_function(s.device, s.op->name, text, "check_divisors");
  }
  p.site = index_site(s.op->name, indices);
  p.indices = indices.num_elements();
  p.limit = value[0];
  p.updates = s.in(2).shape.num_elements();
  p.args.count = p.indices;
  p.args.num_rows = value[0];
  p.args.row = dim_product(value, 1, value.rank());
  const bool scalar = s.in(2).shape.rank() == 0 && indices.rank() + value.rank() > 1;
  p.args.stride = scalar ? 0 : p.args.row;
  p.args.writes_state = 1;
  p.workspace_bytes = static_cast<size_t>(p.indices) * sizeof(int64_t);
  return p;
}
void launch_scatter(const ScatterPlan& p, const LaunchArgs& a) {
  if (p.indices == 0) return;
  auto* rows = static_cast<int64_t*>(a.workspace);
  launch(p.rows, *a.stream, grid_for(p.rows, p.indices), a.inputs[1], rows, p.indices,
         p.limit, flags_of(a), p.site->id());
  if (p.divisors.function && p.updates > 0) {
    launch(p.divisors, *a.stream, grid_for(p.divisors, p.updates), a.inputs[2], p.updates,
           flags_of(a), p.site->id());
  }
  run_scatter(p, a, a.inputs[0], a.inputs[2], rows);
}

}  // namespace

void register_state(Kernels& kernels) {
  kernels.add(make_kernel<prepare_assign, launch_update>("AssignVariableOp",
                                                         "cuda.assign", kPlain));
  kernels.add(make_kernel<prepare_add, launch_update>("AssignAddVariableOp",
                                                      "cuda.assign_add", kNumbers));
  kernels.add(make_kernel<prepare_sub, launch_update>("AssignSubVariableOp",
                                                      "cuda.assign_sub", kNumbers));
  const auto add = [&](const std::string& op, DTypeMask dtypes) {
    kernels.add(make_kernel<prepare_scatter, launch_scatter>(
        "ResourceScatter" + op, "cuda.scatter." + op, dtypes));
  };
  add("Update", kPlain);
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) add(op, kNumbers);
  for (const char* op : {"Min", "Max"}) add(op, kReals);
}

}  // namespace tandem::cuda
