// MaxPool and AvgPool of one to three spatial dimensions with their gradients: floats,
// and integers for maxima. A window's first maximum gets its gradient.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/pool_text.h"
#include "kernels/cuda/program.h"
#include "ops/nn_geometry.h"

namespace tandem::cuda {

std::string pool_constants(const nn::PoolShape& pool, DType dtype) {
  std::string text =
      text_prefix(false) + fmt::format(
                               "typedef {} T;\nconstexpr bool kChannelsFirst = {};\n"
                               "constexpr i64 kBatch = {}, kChannels = {};\n",
                               type_text(dtype), pool.channels_first, pool.batch,
                               pool.channels);
  // Three spatial dimensions; those that are not there have one place.
  const auto list = [&](const char* name, auto member, int64_t missing) {
    text += fmt::format("constexpr int {}[3] = {{", name);
    for (int d = pool.spatial - 3; d < pool.spatial; ++d) {
      text += fmt::format("{}{}", d < 0 ? missing : member(pool.dims[d]),
                          d + 1 < pool.spatial ? ", " : "};\n");
    }
  };
  using Dim = nn::WindowDim;
  list("kIn", [](const Dim& d) { return d.in; }, 1);
  list("kOut", [](const Dim& d) { return d.out; }, 1);
  list("kSize", [](const Dim& d) { return d.size; }, 1);
  list("kStride", [](const Dim& d) { return d.stride; }, 1);
  list("kBefore", [](const Dim& d) { return d.before; }, 0);
  return text;
}

std::string pool_text(const nn::PoolShape& pool, DType dtype) {
  return pool_constants(pool, dtype) + std::string(device_text("pool.cuh"));
}

namespace {

struct PoolPlan {
  Function function;
  int64_t n = 0;
};
PoolPlan plan_pool(const Signature& s, const Shape& input, const char* entry) {
  PoolPlan p;
  p.n = s.out().shape.num_elements();
  if (p.n == 0) return p;
  gpu_of(s).activate();
  const nn::PoolShape pool =
      nn::pool_shape(s.op->name, s.attrs.as<nn::PoolAttrs>(), input);
  p.function = find_function(s.device, s.op->name, pool_text(pool, s.out().dtype), entry);
  return p;
}
PoolPlan prepare_max(const Signature& s) {
  return plan_pool(s, s.in(0).shape, "max_pool");
}
PoolPlan prepare_avg(const Signature& s) {
  return plan_pool(s, s.in(0).shape, "avg_pool");
}
PoolPlan prepare_max_grad(const Signature& s) {
  return plan_pool(s, s.in(0).shape, "max_pool_grad");
}
PoolPlan prepare_avg_grad(const Signature& s) {
  return plan_pool(s, s.out().shape, "avg_pool_grad");
}
void launch_pool(const PoolPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[0], a.outputs[0]);
}
void launch_max_grad(const PoolPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[0], a.inputs[2],
         a.outputs[0]);
}
PoolPlan prepare_pick(const Signature& s) {
  return plan_pool(s, s.in(0).shape, "max_pool_pick");
}
void launch_avg_grad(const PoolPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.n), a.inputs[1], a.outputs[0]);
}

}  // namespace

void register_pool(Kernels& kernels) {
  constexpr DTypeMask kMaxima = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  for (const std::string rank : {"", "3D"}) {
    const auto id = [&](const char* name) { return "cuda.pool." + (name + rank); };
    kernels.add(
        make_kernel<prepare_max, launch_pool>("MaxPool" + rank, id("max"), kMaxima));
    kernels.add(make_kernel<prepare_max_grad, launch_max_grad>("MaxPool" + rank + "Grad",
                                                               id("max_grad"), kMaxima));
    kernels.add(make_kernel<prepare_pick, launch_max_grad>("MaxPool" + rank + "GradGrad",
                                                           id("max_grad_grad"), kMaxima));
    kernels.add(
        make_kernel<prepare_avg, launch_pool>("AvgPool" + rank, id("avg"), kFloats));
    kernels.add(make_kernel<prepare_avg_grad, launch_avg_grad>("AvgPool" + rank + "Grad",
                                                               id("avg_grad"), kFloats));
  }
}

}  // namespace tandem::cuda
