// GatherV2, ResourceGather, GatherNd, TakeAlongAxis, OneHot. Any dtype but strings, by
// element size.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"
#include "tandem/ops/indexing.h"

namespace tandem::cuda {

std::string gather_text(size_t element, DType index) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} E;\ntypedef {} X;\n", bits_text(element),
                     type_text(index)) +
         std::string(device_text("gather.cuh"));
}

namespace {

struct GatherPlan {
  Function narrow, wide;
  size_t wide_bytes = 0;  // of an element in the wide kernel; 0: none
  int64_t times = 1;      // elements in a wide one
  int64_t lines = 0, n = 0, row = 0, axis = 0, outer = 1;
  std::shared_ptr<ErrorSite> site;
};
GatherPlan make_gather(const Signature& s, int axis, int batch_dims) {
  const Shape &params = s.in(0).shape, &indices = s.in(1).shape;
  const size_t element = dtype_size(s.in(0).dtype);
  GatherPlan p;
  p.site = index_site(s.op->name, indices);
  p.outer = std::max<int64_t>(1, dim_product(params, batch_dims, axis));
  p.axis = params[axis];
  p.n = dim_product(indices, batch_dims, indices.rank());
  p.row = dim_product(params, axis + 1, params.rank());
  p.lines = dim_product(params, 0, axis) * p.n;
  p.narrow =
      find_function(s.device, s.op->name, gather_text(element, s.in(1).dtype), "gather");
  while (element * static_cast<size_t>(p.times) < 16 && p.row > 0 &&
         p.row % (p.times * 2) == 0) {
    p.times *= 2;
  }
  if (p.times > 1) {
    p.wide_bytes = element * static_cast<size_t>(p.times);
    p.wide = find_function(s.device, s.op->name, gather_text(p.wide_bytes, s.in(1).dtype),
                           "gather");
  }
  return p;
}
GatherPlan prepare_gather(const Signature& s) {
  const auto& attrs = s.attrs.as<GatherAttrs>();
  const int rank = s.in(0).shape.rank(), index_rank = s.in(1).shape.rank();
  return make_gather(s, static_cast<int>(attrs.axis < 0 ? attrs.axis + rank : attrs.axis),
                     static_cast<int>(attrs.batch_dims < 0 ? attrs.batch_dims + index_rank
                                                           : attrs.batch_dims));
}
GatherPlan prepare_resource_gather(const Signature& s) { return make_gather(s, 0, 0); }
void launch_gather(const GatherPlan& p, const LaunchArgs& a) {
  const int64_t total = p.lines * p.row;
  if (total == 0) return;
  const bool wide = p.wide_bytes &&
                    reinterpret_cast<uint64_t>(a.inputs[0]) % p.wide_bytes == 0 &&
                    reinterpret_cast<uint64_t>(a.outputs[0]) % p.wide_bytes == 0;
  const Function& f = wide ? p.wide : p.narrow;
  const int64_t times = wide ? p.times : 1;
  launch(f, *a.stream, grid_for(f, total / times), a.inputs[0], a.inputs[1], a.outputs[0],
         total / times, p.n, p.row / times, p.axis, p.outer, flags_of(a), p.site->id());
}

struct GatherNdPlan {
  NdIndex nd;
  Function rows;
  size_t workspace_bytes = 0;
};
GatherNdPlan prepare_gather_nd(const Signature& s) {
  GatherNdPlan p;
  p.nd = make_nd_index(s, 1, s.in(0).shape,
                       static_cast<int>(s.attrs.as<BatchDimsAttrs>().batch_dims),
                       "param shape");
  p.rows =
      find_function(s.device, s.op->name,
                    gather_text(dtype_size(s.in(0).dtype), s.in(1).dtype), "gather_rows");
  p.workspace_bytes = static_cast<size_t>(p.nd.count) * sizeof(int64_t);
  return p;
}
void launch_gather_nd(const GatherNdPlan& p, const LaunchArgs& a) {
  auto* rows = static_cast<int64_t*>(a.workspace);
  run_nd_rows(p.nd, a, a.inputs[1], rows);
  const int64_t total = p.nd.count * p.nd.row;
  if (total == 0) return;
  launch(p.rows, *a.stream, grid_for(p.rows, total), a.inputs[0], rows, a.outputs[0],
         total, p.nd.row);
}

struct TakePlan {
  Function function;
  int64_t total = 0, n = 0, axis = 0, inner = 0;
  std::shared_ptr<ErrorSite> site;
};
TakePlan prepare_take(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const auto axis = static_cast<int>(given < 0 ? given + x.rank() : given);
  TakePlan p;
  p.total = s.out().shape.num_elements();
  p.n = s.in(1).shape[axis];
  p.axis = x[axis];
  p.inner = dim_product(x, axis + 1, x.rank());
  p.site = signed_index_site(s.op->name);
  p.function =
      find_function(s.device, s.op->name,
                    gather_text(dtype_size(s.in(0).dtype), s.in(1).dtype), "take_along");
  return p;
}
void launch_take(const TakePlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0], a.inputs[1],
         a.outputs[0], p.total, p.n, p.axis, p.inner, flags_of(a), p.site->id());
}

struct OneHotPlan {
  Function function;
  int64_t total = 0, depth = 0, suffix = 0;
};
OneHotPlan prepare_one_hot(const Signature& s) {
  const Shape &indices = s.in(0).shape, &out = s.out().shape;
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const int axis = given < 0 ? indices.rank() : static_cast<int>(given);
  OneHotPlan p;
  p.total = out.num_elements();
  p.depth = out[axis];
  p.suffix = dim_product(indices, axis, indices.rank());
  p.function =
      find_function(s.device, s.op->name,
                    gather_text(dtype_size(s.out().dtype), s.in(0).dtype), "one_hot");
  return p;
}
void launch_one_hot(const OneHotPlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0], a.inputs[2],
         a.inputs[3], a.outputs[0], p.total, p.depth, p.suffix);
}

}  // namespace

void register_gather(Kernels& kernels) {
  kernels.add(
      make_kernel<prepare_gather, launch_gather>("GatherV2", "cuda.gather", kPlain));
  kernels.add(make_kernel<prepare_resource_gather, launch_gather>(
      "ResourceGather", "cuda.resource_gather"));
  kernels.add(make_kernel<prepare_gather_nd, launch_gather_nd>("GatherNd",
                                                               "cuda.gather_nd", kPlain));
  kernels.add(make_kernel<prepare_take, launch_take>("TakeAlongAxis",
                                                     "cuda.take_along_axis", kPlain));
  kernels.add(make_kernel<prepare_one_hot, launch_one_hot>("OneHot", "cuda.one_hot"));
}

}  // namespace tandem::cuda
