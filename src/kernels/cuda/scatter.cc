// ScatterNd, TensorScatter*, GatherV2Grad, TakeAlongAxisGrad, IndexedSlicesToDense. Sums:
// all numbers; minimum and maximum: real numbers; replacement: all but strings.
#include "kernels/cuda/scatter.h"

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "tandem/ops/indexing.h"

namespace tandem::cuda {

std::string scatter_text(const std::string& op, DType dtype, DType index) {
  // Elements that are only moved go by their size.
  const std::string type =
      op == "UPDATE" ? bits_text(dtype_size(dtype)) : type_text(dtype);
  return text_prefix(false) +
         fmt::format("typedef {} T;\ntypedef {} X;\n#define OP_{}\n", type,
                     type_text(index), op) +
         std::string(device_text("scatter.cuh"));
}

void find_scatter(const Signature& s, const std::string& op, DType dtype, DType index,
                  ScatterPlan& p) {
  // Atomics reach 8 bytes; a replacement by the last of equal indices has an order.
  p.ordered = dtype_size(dtype) > 8 || s.deterministic || op == "UPDATE";
  p.scatter = find_function(s.device, s.op->name, scatter_text(op, dtype, index),
                            p.ordered ? "scatter_ordered" : "scatter");
}

void run_scatter(const ScatterPlan& p, const LaunchArgs& a, void* out,
                 const void* updates, const int64_t* rows) {
  ScatterArgs args = p.args;
  const int64_t total = args.groups * args.row * (p.ordered ? 1 : args.count);
  if (total == 0 || args.count == 0) return;
  args.out = out;
  args.updates = updates;
  args.rows = rows;
  args.flags = flags_of(a);
  launch(p.scatter, *a.stream, grid_for(p.scatter, total), args);
}

NdIndex make_nd_index(const Signature& s, int indices, const Shape& params,
                      int batch_dims, const std::string& into) {
  const Shape& shape = s.in(indices).shape;
  const int last = shape.rank() - 1;
  const int depth = static_cast<int>(shape[last]);
  NdIndex nd;
  nd.count = dim_product(shape, 0, last);
  nd.num_rows = dim_product(params, 0, batch_dims + depth);
  nd.row = dim_product(params, batch_dims + depth, params.rank());
  nd.args.depth = depth;
  nd.args.per_batch = dim_product(shape, batch_dims, last);
  int64_t batch_rows = 1;
  for (int d = 0; d < depth; ++d) {
    nd.args.limits[d] = params[batch_dims + d];
    batch_rows *= params[batch_dims + d];
  }
  nd.args.batch_rows = batch_dims ? batch_rows : 0;
  nd.site =
      coordinate_site(s.op->name, shape, params.slice(batch_dims, params.rank()), into);
  nd.function = find_function(s.device, s.op->name,
                              scatter_text("UPDATE", s.out().dtype, s.in(indices).dtype),
                              "nd_rows");
  return nd;
}

void run_nd_rows(const NdIndex& nd, const LaunchArgs& a, const void* indices,
                 int64_t* rows) {
  if (nd.count == 0) return;
  launch(nd.function, *a.stream, grid_for(nd.function, nd.count), indices, rows, nd.count,
         nd.args, flags_of(a), nd.site->id());
}

namespace {

// ---- By coordinates
// ----------------------------------------------------------------------
struct ScatterNdPlan {
  NdIndex nd;
  ScatterPlan scatter;
  size_t out_bytes = 0;
  size_t workspace_bytes = 0;
};
ScatterNdPlan make_scatter_nd(const Signature& s, const std::string& op, int indices,
                              int batch_dims) {
  ScatterNdPlan p;
  p.nd = make_nd_index(s, indices, s.out().shape, batch_dims, "shape");
  find_scatter(s, op, s.out().dtype, s.in(indices).dtype, p.scatter);
  p.scatter.args.count = p.nd.count;
  p.scatter.args.num_rows = p.nd.num_rows;
  p.scatter.args.row = p.scatter.args.stride = p.nd.row;
  p.out_bytes =
      static_cast<size_t>(s.out().shape.num_elements()) * dtype_size(s.out().dtype);
  p.workspace_bytes = static_cast<size_t>(p.nd.count) * sizeof(int64_t);
  return p;
}
ScatterNdPlan prepare_scatter_nd(const Signature& s) {
  return make_scatter_nd(s, "ADD", 0,
                         static_cast<int>(s.attrs.as<BatchDimsAttrs>().batch_dims));
}
void launch_scatter_nd(const ScatterNdPlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.outputs[0], p.out_bytes);
  auto* rows = static_cast<int64_t*>(a.workspace);
  run_nd_rows(p.nd, a, a.inputs[0], rows);
  run_scatter(p.scatter, a, a.outputs[0], a.inputs[1], rows);
}

ScatterNdPlan prepare_tensor_scatter(const Signature& s) {
  std::string op = s.op->name.substr(std::string("TensorScatter").size());
  for (char& c : op) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return make_scatter_nd(s, op, 1, 0);
}
void launch_tensor_scatter(const ScatterNdPlan& p, const LaunchArgs& a) {
  copy_bytes(*a.stream, a.outputs[0], a.inputs[0], p.out_bytes);
  auto* rows = static_cast<int64_t*>(a.workspace);
  run_nd_rows(p.nd, a, a.inputs[1], rows);
  run_scatter(p.scatter, a, a.outputs[0], a.inputs[2], rows);
}

// ---- Sums into zeros by index
// ----------------------------------------------------------------
struct ScatterAddPlan {
  ScatterPlan scatter;
  int64_t inner = 0;  // TakeAlongAxis: the size of what follows the axis
  size_t out_bytes = 0;
  size_t workspace_bytes = 0;
};
ScatterAddPlan make_scatter_add(const Signature& s, int64_t limit, bool take) {
  ScatterAddPlan p;
  const DType index = s.in(1).dtype;
  find_scatter(s, "ADD", s.out().dtype, index, p.scatter);
  p.scatter.rows =
      find_function(s.device, s.op->name, scatter_text("ADD", s.out().dtype, index),
                    take ? "take_rows" : "check_rows");
  p.scatter.site =
      take ? signed_index_site(s.op->name) : index_site(s.op->name, s.in(1).shape);
  p.scatter.indices = s.in(1).shape.num_elements();
  p.scatter.limit = limit;
  p.out_bytes =
      static_cast<size_t>(s.out().shape.num_elements()) * dtype_size(s.out().dtype);
  p.workspace_bytes = static_cast<size_t>(p.scatter.indices) * sizeof(int64_t);
  return p;
}
ScatterAddPlan prepare_gather_grad(const Signature& s) {
  const auto& attrs = s.attrs.as<GatherAttrs>();
  const Shape &out = s.out().shape, &indices = s.in(1).shape;
  const auto axis =
      static_cast<int>(attrs.axis < 0 ? attrs.axis + out.rank() : attrs.axis);
  const auto batch = static_cast<int>(
      attrs.batch_dims < 0 ? attrs.batch_dims + indices.rank() : attrs.batch_dims);
  ScatterAddPlan p = make_scatter_add(s, out[axis], false);
  ScatterArgs& args = p.scatter.args;
  args.groups = dim_product(out, 0, axis);
  args.per_index = dim_product(out, batch, axis);
  args.count = dim_product(indices, batch, indices.rank());
  args.num_rows = out[axis];
  args.row = args.stride = dim_product(out, axis + 1, out.rank());
  return p;
}
ScatterAddPlan prepare_to_dense(const Signature& s) {
  const Shape& out = s.out().shape;
  ScatterAddPlan p = make_scatter_add(s, out[0], false);
  ScatterArgs& args = p.scatter.args;
  args.count = p.scatter.indices;
  args.num_rows = out[0];
  args.row = args.stride = dim_product(out, 1, out.rank());
  return p;
}
ScatterAddPlan prepare_take_grad(const Signature& s) {
  const Shape& out = s.out().shape;
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const auto axis = static_cast<int>(given < 0 ? given + out.rank() : given);
  ScatterAddPlan p = make_scatter_add(s, out[axis], true);
  p.inner = dim_product(out, axis + 1, out.rank());
  ScatterArgs& args = p.scatter.args;
  args.groups = dim_product(out, 0, axis);
  args.count = s.in(1).shape[axis] * p.inner;
  args.num_rows = out[axis] * p.inner;
  return p;
}
void launch_scatter_add(const ScatterAddPlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.outputs[0], p.out_bytes);
  const ScatterPlan& sc = p.scatter;
  if (sc.indices == 0) return;
  auto* rows = static_cast<int64_t*>(a.workspace);
  const Grid grid = grid_for(sc.rows, sc.indices);
  if (p.inner) {
    launch(sc.rows, *a.stream, grid, a.inputs[1], rows, sc.indices, sc.limit, p.inner,
           flags_of(a), sc.site->id());
  } else {
    launch(sc.rows, *a.stream, grid, a.inputs[1], rows, sc.indices, sc.limit, flags_of(a),
           sc.site->id());
  }
  run_scatter(sc, a, a.outputs[0], a.inputs[0], rows);
}

}  // namespace

void register_scatter(Kernels& kernels) {
  kernels.add(make_kernel<prepare_scatter_nd, launch_scatter_nd>(
      "ScatterNd", "cuda.scatter_nd", kNumbers));
  for (const char* op : {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub",
                         "TensorScatterMin", "TensorScatterMax"}) {
    const std::string name = op;
    kernels.add(make_kernel<prepare_tensor_scatter, launch_tensor_scatter>(
        name, "cuda." + name,
        name.ends_with("Update")                         ? kPlain
        : name.ends_with("Min") || name.ends_with("Max") ? kReals
                                                         : kNumbers));
  }
  kernels.add(make_kernel<prepare_gather_grad, launch_scatter_add>(
      "GatherV2Grad", "cuda.gather_grad", kNumbers));
  kernels.add(make_kernel<prepare_to_dense, launch_scatter_add>(
      "IndexedSlicesToDense", "cuda.slices_to_dense", kNumbers));
  kernels.add(make_kernel<prepare_take_grad, launch_scatter_add>(
      "TakeAlongAxisGrad", "cuda.take_along_axis_grad", kNumbers));
}

}  // namespace tandem::cuda
