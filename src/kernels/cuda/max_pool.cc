// MaxPool and its gradient where channels come last and fill whole vectors: floats. The
// gradient keeps a byte per output element that says where the maximum was. pool.cc
// serves the rest.
#include "kernels/cuda/families.h"
#include "kernels/cuda/pool_text.h"
#include "kernels/cuda/program.h"
#include "kernels/cuda/vector_lanes.h"

namespace tandem::cuda {

std::string max_pool_text(const nn::PoolShape& pool, DType dtype) {
  return pool_constants(pool, dtype) + std::string(device_text("vectors.cuh")) +
         std::string(device_text("max_pool.cuh"));
}

namespace {

constexpr int64_t kMostTaps = 64;  // a thread visits them all, one after the other

nn::PoolShape max_pool_shape(const Signature& s) {
  return nn::pool_shape(s.op->name, s.attrs.as<nn::PoolAttrs>(), s.in(0).shape);
}
bool max_pool_fits(const Signature& s) {
  const nn::PoolShape pool = max_pool_shape(s);
  int64_t taps = 1;
  for (int d = 0; d < pool.spatial; ++d) taps *= pool.dims[d].size;
  return !pool.channels_first && pool.channels > 0 &&
         pool.channels % vector_lanes(s.out().dtype) == 0 && taps <= kMostTaps;
}

struct MaxPoolPlan {
  Function first, second;
  int64_t in_vectors = 0, out_vectors = 0;
  size_t workspace_bytes = 0;
};
MaxPoolPlan plan_max_pool(const Signature& s, const Shape& output) {
  MaxPoolPlan p;
  p.in_vectors = s.in(0).shape.num_elements() / vector_lanes(s.out().dtype);
  p.out_vectors = output.num_elements() / vector_lanes(s.out().dtype);
  gpu_of(s).activate();
  return p;
}
MaxPoolPlan prepare_max_pool(const Signature& s) {
  MaxPoolPlan p = plan_max_pool(s, s.out().shape);
  if (p.out_vectors == 0) return p;
  p.first = find_function(s.device, s.op->name,
                          max_pool_text(max_pool_shape(s), s.out().dtype), "max_pool");
  return p;
}
MaxPoolPlan prepare_max_pool_grad(const Signature& s) {
  MaxPoolPlan p = plan_max_pool(s, s.in(2).shape);
  if (p.in_vectors == 0) return p;
  const std::string text = max_pool_text(max_pool_shape(s), s.out().dtype);
  p.first = find_function(s.device, s.op->name, text, "max_pool_where");
  p.second = find_function(s.device, s.op->name, text, "max_pool_route");
  p.workspace_bytes = static_cast<size_t>(s.in(2).shape.num_elements());
  return p;
}

int both_aligned(const void* a, const void* b) {
  return (reinterpret_cast<uint64_t>(a) | reinterpret_cast<uint64_t>(b)) % kVectorBytes ==
         0;
}

void launch_max_pool(const MaxPoolPlan& p, const LaunchArgs& a) {
  if (p.out_vectors == 0) return;
  launch(p.first, *a.stream, grid_for(p.first, p.out_vectors), a.inputs[0], a.outputs[0],
         both_aligned(a.inputs[0], a.outputs[0]));
}
void launch_max_pool_grad(const MaxPoolPlan& p, const LaunchArgs& a) {
  if (p.in_vectors == 0) return;
  if (p.out_vectors > 0) {
    launch(p.first, *a.stream, grid_for(p.first, p.out_vectors), a.inputs[0], a.workspace,
           both_aligned(a.inputs[0], nullptr));
  }
  launch(p.second, *a.stream, grid_for(p.second, p.in_vectors), a.workspace, a.inputs[2],
         a.outputs[0], both_aligned(a.inputs[2], a.outputs[0]));
}

}  // namespace

void register_max_pool(Kernels& kernels) {
  for (const std::string rank : {"", "3D"}) {
    kernels.add(make_kernel<prepare_max_pool, launch_max_pool>(
        "MaxPool" + rank, "cuda.pool.max.vectors" + rank, kFloats, max_pool_fits));
    kernels.add(make_kernel<prepare_max_pool_grad, launch_max_pool_grad>(
        "MaxPool" + rank + "Grad", "cuda.pool.max_grad.vectors" + rank, kFloats,
        max_pool_fits));
  }
}

}  // namespace tandem::cuda
