// MaxPoolWithArgmax and its gradient: floats and integers of up to 64 bits. The gradient
// goes where the indices say, which need not be those of the forward pass: a scatter.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"
#include "ops/nn_geometry.h"

namespace tandem::cuda {

std::string pool_text(const nn::PoolShape& pool, DType dtype);

namespace {

nn::PoolShape argmax_shape(const Signature& s) {
  const auto& a = s.attrs.as<nn::MaxPoolArgmaxAttrs>();
  return nn::pool_shape(s.op->name,
                        {.ksize = a.ksize, .strides = a.strides, .padding = a.padding},
                        s.in(0).shape);
}

struct ArgmaxPlan {
  Function function;
  int64_t n = 0;
  int32_t in_batch = 0;
};
ArgmaxPlan prepare_argmax(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::MaxPoolArgmaxAttrs>();
  ArgmaxPlan p;
  p.n = s.out().shape.num_elements();
  p.in_batch = attrs.include_batch_in_index;
  if (p.n == 0) return p;
  p.function = find_function(
      s.device, s.op->name, pool_text(argmax_shape(s), s.out().dtype),
      attrs.argmax_type == DType::kInt64 ? "max_pool_argmax64" : "max_pool_argmax32");
  return p;
}
void launch_argmax(const ArgmaxPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[0], a.outputs[0],
         a.outputs[1], p.in_batch);
}

struct ArgmaxGradPlan {
  ScatterPlan scatter;
  size_t out_bytes = 0;
  size_t workspace_bytes = 0;
};
ArgmaxGradPlan prepare_argmax_grad(const Signature& s) {
  const Shape &in = s.in(0).shape, &grad = s.in(1).shape;
  const DType dtype = s.out().dtype, index = s.in(2).dtype;
  const bool in_batch = s.attrs.as<nn::MaxPoolArgmaxAttrs>().include_batch_in_index;
  ArgmaxGradPlan p;
  ScatterPlan& sc = p.scatter;
  find_scatter(s, "ADD", dtype, index, sc);
  sc.rows = find_function(s.device, s.op->name, scatter_text("ADD", dtype, index),
                          "check_rows");
  sc.site = std::make_shared<ErrorSite>([](const Report& r) {
    return fmt::format(
        "MaxPoolGradWithArgmax: argmax {} is outside the valid range of [0, {})", r.value,
        r.extra);
  });
  sc.indices = grad.num_elements();
  sc.args.groups = in_batch ? 1 : in[0];
  sc.args.count = in_batch ? sc.indices : dim_product(grad, 1, 4);
  sc.args.num_rows = sc.limit = in_batch ? in.num_elements() : dim_product(in, 1, 4);
  p.out_bytes = static_cast<size_t>(in.num_elements()) * dtype_size(dtype);
  p.workspace_bytes = static_cast<size_t>(sc.indices) * sizeof(int64_t);
  return p;
}
void launch_argmax_grad(const ArgmaxGradPlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.outputs[0], p.out_bytes);
  const ScatterPlan& sc = p.scatter;
  if (sc.indices == 0) return;
  auto* rows = static_cast<int64_t*>(a.workspace);
  launch(sc.rows, *a.stream, grid_for(sc.rows, sc.indices), a.inputs[2], rows, sc.indices,
         sc.limit, flags_of(a), sc.site->id());
  run_scatter(sc, a, a.outputs[0], a.inputs[1], rows);
}

}  // namespace

void register_pool_argmax(Kernels& kernels) {
  constexpr DTypeMask kMaxima = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  kernels.add(make_kernel<prepare_argmax, launch_argmax>("MaxPoolWithArgmax",
                                                         "cuda.pool.argmax", kMaxima));
  kernels.add(make_kernel<prepare_argmax_grad, launch_argmax_grad>(
      "MaxPoolGradWithArgmax", "cuda.pool.argmax_grad", kMaxima));
}

}  // namespace tandem::cuda
