// ScatterNd, TensorScatter*, the gradients of gathers, IndexedSlices. All run on
// scatter_rows.
#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "kernels/cpu/scatter_rows.h"
#include "tandem/error.h"
#include "tandem/ops/indexing.h"

namespace tandem::cpu {

namespace {

// ---- ScatterNd, TensorScatter*
// ----------------------------------------------------------------
struct ScatterNdPlan {
  NdIndex nd;
  DType dtype = DType::kInvalid;
  ScatterLoop loop = nullptr;
  size_t workspace_bytes = 0;  // row numbers
};

ScatterNdPlan make_scatter_nd(const Signature& s, ScatterOp op, int indices,
                              int batch_dims) {
  ScatterNdPlan p;
  p.nd = make_nd_index(s, indices, s.out().shape, batch_dims);
  p.dtype = s.out().dtype;
  p.loop = scatter_loop(op, p.dtype);
  p.workspace_bytes = static_cast<size_t>(p.nd.count) * sizeof(int64_t);
  return p;
}

ScatterNdPlan prepare_scatter_nd(const Signature& s) {
  return make_scatter_nd(s, ScatterOp::kAdd, 0,
                         static_cast<int>(s.attrs.as<BatchDimsAttrs>().batch_dims));
}

void run_scatter_nd(const ScatterNdPlan& p, const LaunchArgs& a, int indices, int updates,
                    const void* initial) {
  auto* rows = static_cast<int64_t*>(a.workspace);
  nd_rows(p.nd, a.in<void>(indices), rows);
  scatter_rows(p.loop, p.dtype,
               {.out = a.out<void>(),
                .updates = a.in<void>(updates),
                .rows = rows,
                .initial = initial,
                .count = p.nd.count,
                .num_rows = p.nd.num_rows,
                .row = p.nd.row,
                .stride = p.nd.row,
                .init = initial ? ScatterInit::kCopy : ScatterInit::kZero});
}

void launch_scatter_nd(const ScatterNdPlan& p, const LaunchArgs& a) {
  run_scatter_nd(p, a, 0, 1, nullptr);
}

template <ScatterOp op>
ScatterNdPlan prepare_tensor_scatter(const Signature& s) {
  return make_scatter_nd(s, op, 1, 0);
}
void launch_tensor_scatter(const ScatterNdPlan& p, const LaunchArgs& a) {
  run_scatter_nd(p, a, 1, 2, a.in<void>(0));
}

// ---- Sums into zeros by index: gradients of GatherV2 and TakeAlongAxis,
// IndexedSlicesToDense ----
struct ScatterAddPlan {
  IndexCheck check;
  DType dtype = DType::kInvalid;
  ScatterLoop loop = nullptr;
  ScatterCall call;             // sizes
  int64_t inner = 1, axis = 1;  // TakeAlongAxis
  size_t workspace_bytes = 0;
};

ScatterAddPlan make_scatter_add(const Signature& s, int indices, int64_t limit) {
  ScatterAddPlan p;
  p.check = {.op = s.op->name.c_str(),
             .dtype = s.in(indices).dtype,
             .shape = s.in(indices).shape,
             .limit = limit};
  p.dtype = s.out().dtype;
  p.loop = scatter_loop(ScatterOp::kAdd, p.dtype);
  p.call.init = ScatterInit::kZero;
  p.workspace_bytes = static_cast<size_t>(p.check.shape.num_elements()) * sizeof(int64_t);
  return p;
}

void run_scatter_add(const ScatterAddPlan& p, const LaunchArgs& a, const void* updates) {
  ScatterCall call = p.call;
  call.out = a.out<void>();
  call.updates = updates;
  call.rows = static_cast<const int64_t*>(a.workspace);
  call.stride = call.row;
  scatter_rows(p.loop, p.dtype, call);
}

// grad [batch, outer, n, row], indices [batch, n] → [batch, outer, axis, row].
ScatterAddPlan prepare_gather_grad(const Signature& s) {
  const auto& attrs = s.attrs.as<GatherAttrs>();
  const Shape& out = s.out().shape;
  const Shape& indices = s.in(1).shape;
  const auto axis =
      static_cast<int>(attrs.axis < 0 ? attrs.axis + out.rank() : attrs.axis);
  const auto batch_dims = static_cast<int>(
      attrs.batch_dims < 0 ? attrs.batch_dims + indices.rank() : attrs.batch_dims);
  ScatterAddPlan p = make_scatter_add(s, 1, out[axis]);
  p.call.groups = dim_product(out, 0, axis);
  p.call.groups_per_index = dim_product(out, batch_dims, axis);
  p.call.count = dim_product(indices, batch_dims, indices.rank());
  p.call.num_rows = out[axis];
  p.call.row = dim_product(out, axis + 1, out.rank());
  return p;
}
void launch_gather_grad(const ScatterAddPlan& p, const LaunchArgs& a) {
  check_indices(p.check, a.in<void>(1), static_cast<int64_t*>(a.workspace));
  run_scatter_add(p, a, a.in<void>(0));
}

// values [n…, row…], indices [n…] → dense_shape.
ScatterAddPlan prepare_to_dense(const Signature& s) {
  const Shape& out = s.out().shape;
  ScatterAddPlan p = make_scatter_add(s, 1, out[0]);
  p.call.count = s.in(1).shape.num_elements();
  p.call.num_rows = out[0];
  p.call.row = dim_product(out, 1, out.rank());
  return p;
}

// grad and indices [outer, n, inner] → [outer, axis, inner]; elements are scattered one
// by one.
ScatterAddPlan prepare_take_grad(const Signature& s) {
  const Shape& out = s.out().shape;
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const auto axis = static_cast<int>(given < 0 ? given + out.rank() : given);
  ScatterAddPlan p = make_scatter_add(s, 1, out[axis]);
  p.inner = dim_product(out, axis + 1, out.rank());
  p.axis = out[axis];
  p.call.groups = dim_product(out, 0, axis);
  p.call.count = s.in(1).shape[axis] * p.inner;
  p.call.num_rows = p.axis * p.inner;
  return p;
}
void launch_take_grad(const ScatterAddPlan& p, const LaunchArgs& a) {
  auto* rows = static_cast<int64_t*>(a.workspace);
  std::atomic<bool> bad{false};
  by_index(p.check.dtype, [&]<class I>(std::type_identity<I>) {
    const auto* indices = a.in<I>(1);
    parallel_for(p.check.shape.num_elements(), 16 * 1024,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     int64_t k = indices[i];
                     k += k < 0 ? p.axis : 0;
                     if (static_cast<uint64_t>(k) >= static_cast<uint64_t>(p.axis))
                       bad = true;
                     rows[i] = k * p.inner + i % p.inner;
                   }
                 });
  });
  if (bad) {
    throw InvalidArgumentError(
        fmt::format("{}: an index is not in [{}, {})", p.check.op, -p.axis, p.axis));
  }
  run_scatter_add(p, a, a.in<void>(0));
}

// ---- IndexedSlicesConcat
// ------------------------------------------------------------------------
struct SlicesConcatPlan {
  DType dtype = DType::kInvalid;
  int64_t values_a = 0, values_b = 0, indices_a = 0, indices_b = 0;
  DType index_a = DType::kInt32, index_b = DType::kInt32, index_out = DType::kInt32;
};

SlicesConcatPlan prepare_slices_concat(const Signature& s) {
  return {s.in(0).dtype,
          s.in(0).shape.num_elements(),
          s.in(2).shape.num_elements(),
          s.in(1).shape.num_elements(),
          s.in(3).shape.num_elements(),
          s.in(1).dtype,
          s.in(3).dtype,
          s.out(1).dtype};
}

void append_indices(void* out, DType out_type, int64_t at, const void* in, DType in_type,
                    int64_t n) {
  const size_t size = dtype_size(out_type);
  auto* to = static_cast<std::byte*>(out) + static_cast<size_t>(at) * size;
  if (in_type == out_type) {
    parallel_copy(to, in, static_cast<size_t>(n) * size);
  } else {
    std::copy_n(static_cast<const int32_t*>(in), n, reinterpret_cast<int64_t*>(to));
  }
}

void launch_slices_concat(const SlicesConcatPlan& p, const LaunchArgs& a) {
  const size_t size = dtype_size(p.dtype);
  const size_t first = static_cast<size_t>(p.values_a) * size;
  parallel_copy(a.out<std::byte>(0), a.in<std::byte>(0), first);
  parallel_copy(a.out<std::byte>(0) + first, a.in<std::byte>(2),
                static_cast<size_t>(p.values_b) * size);
  append_indices(a.out<void>(1), p.index_out, 0, a.in<void>(1), p.index_a, p.indices_a);
  append_indices(a.out<void>(1), p.index_out, p.indices_a, a.in<void>(3), p.index_b,
                 p.indices_b);
}

}  // namespace

void register_scatter_kernels(KernelRegistry& r) {
  r.add(
      make_kernel<prepare_scatter_nd, launch_scatter_nd>("ScatterNd", "cpu.scatter_nd"));
  r.add(make_kernel<prepare_tensor_scatter<ScatterOp::kUpdate>, launch_tensor_scatter>(
      "TensorScatterUpdate", "cpu.tensor_scatter_update"));
  r.add(make_kernel<prepare_tensor_scatter<ScatterOp::kAdd>, launch_tensor_scatter>(
      "TensorScatterAdd", "cpu.tensor_scatter_add"));
  r.add(make_kernel<prepare_tensor_scatter<ScatterOp::kSub>, launch_tensor_scatter>(
      "TensorScatterSub", "cpu.tensor_scatter_sub"));
  r.add(make_kernel<prepare_tensor_scatter<ScatterOp::kMin>, launch_tensor_scatter>(
      "TensorScatterMin", "cpu.tensor_scatter_min"));
  r.add(make_kernel<prepare_tensor_scatter<ScatterOp::kMax>, launch_tensor_scatter>(
      "TensorScatterMax", "cpu.tensor_scatter_max"));
  r.add(make_kernel<prepare_gather_grad, launch_gather_grad>("GatherV2Grad",
                                                             "cpu.gather_grad"));
  r.add(make_kernel<prepare_take_grad, launch_take_grad>("TakeAlongAxisGrad",
                                                         "cpu.take_along_axis_grad"));
  r.add(make_kernel<prepare_to_dense, launch_gather_grad>("IndexedSlicesToDense",
                                                          "cpu.slices_to_dense"));
  r.add(make_kernel<prepare_slices_concat, launch_slices_concat>("IndexedSlicesConcat",
                                                                 "cpu.slices_concat"));
}

}  // namespace tandem::cpu
