// FusedBatchNormV3 with its gradient: floats; half precision computes in float32. Sums
// over channels are cut into parts by sizes alone.
#include "kernels/cuda/norm.h"

#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/softmax.h"
#include "kernels/cuda/vector_lanes.h"
#include "ops/nn_geometry.h"
#include "tandem/ops/nn_norm.h"

namespace tandem::cuda {

std::string norm_text(DType dtype) {
  return rows_text(dtype) + std::string(device_text("norm.cuh"));
}

namespace {

// ---- Batch normalisation -----------------------------------------------------------

/// As device/norm.cuh has it.
struct Channels {
  int64_t outer = 1, channels = 0, inner = 1, parts = 1;
};
struct BatchNormPlan {
  Function sums, squares, mean, moments, apply;
  Channels sizes;
  nn::FusedBatchNormAttrs attrs;
  Grid sum_grid;
  size_t workspace_bytes = 0;
};
BatchNormPlan plan_batch(const Signature& s, const TensorInfo& x) {
  BatchNormPlan p;
  p.attrs = s.attrs.as<nn::FusedBatchNormAttrs>();
  const int axis = nn::channel_axis(x.shape.rank(), channels_first(p.attrs.data_format));
  Channels& c = p.sizes;
  c.outer = x.shape.slice(0, axis).num_elements();
  c.channels = x.shape[axis];
  c.inner = x.shape.slice(axis + 1, x.shape.rank()).num_elements();
  gpu_of(s).activate();
  const int64_t jobs = c.inner == 1 ? up(std::max<int64_t>(c.channels, 1), 32)
                                    : std::max<int64_t>(c.channels, 1);
  const int64_t busy = int64_t{2} * gpu_of(s).multiprocessors();
  const int64_t steps = c.inner == 1 ? c.outer / 64 : c.outer * c.inner / 2048;
  c.parts = std::clamp<int64_t>(std::min(up(busy, jobs), steps), 1, 64);
  p.sum_grid = {.x = static_cast<unsigned>(std::min<int64_t>(jobs, 1 << 20)),
                .y = static_cast<unsigned>(c.parts)};
  p.workspace_bytes =
      static_cast<size_t>(2 * c.parts * c.channels) * computed_bytes(x.dtype);
  return p;
}
BatchNormPlan prepare_batch_norm(const Signature& s) {
  BatchNormPlan p = plan_batch(s, s.in(0));
  const std::string text = norm_text(s.in(0).dtype);
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, text, entry);
  };
  if (p.attrs.is_training) {
    p.sums = find("sums_of_x");
    p.squares = find("sums_of_squares");
    p.mean = find("finish_mean");
    p.moments = find("finish_moments");
  } else {
    p.moments = find("given_moments");
  }
  p.apply = find("normalise");
  return p;
}
void launch_batch_norm(const BatchNormPlan& p, const LaunchArgs& a) {
  const Channels& c = p.sizes;
  if (c.channels == 0) return;
  void *const mean = a.outputs[3], *const variance = a.outputs[4];
  const Grid per_channel = grid_for(p.moments, c.channels);
  if (p.attrs.is_training) {
    launch(p.sums, *a.stream, p.sum_grid, a.inputs[0], a.workspace, c);
    launch(p.mean, *a.stream, per_channel, a.workspace, mean, c);
    launch(p.squares, *a.stream, p.sum_grid, a.inputs[0], mean, a.workspace, c);
    const int blend = p.attrs.exponential_avg_factor != 1;
    launch(p.moments, *a.stream, per_channel, a.workspace, mean, variance,
           blend ? a.inputs[3] : nullptr, blend ? a.inputs[4] : nullptr, a.outputs[1],
           a.outputs[2], p.attrs.exponential_avg_factor, blend, c);
  } else {
    launch(p.moments, *a.stream, per_channel, a.inputs[3], a.inputs[4], mean, variance,
           a.outputs[1], a.outputs[2], c);
  }
  const int64_t n = c.outer * c.channels * c.inner;
  if (n == 0) return;
  launch(p.apply, *a.stream, grid_for(p.apply, n), a.inputs[0], mean, variance,
         a.inputs[1], a.inputs[2], a.outputs[0], p.attrs.epsilon, c);
}
BatchNormPlan prepare_batch_grad(const Signature& s) {
  BatchNormPlan p = plan_batch(s, s.in(1));
  const std::string text = norm_text(s.in(1).dtype);
  p.sums = find_function(s.device, s.op->name, text, "sums_of_gradient");
  p.moments = find_function(s.device, s.op->name, text, "finish_gradient");
  p.apply = find_function(s.device, s.op->name, text, "normalise_by_x");
  return p;
}
void launch_batch_grad(const BatchNormPlan& p, const LaunchArgs& a) {
  const Channels& c = p.sizes;
  if (c.channels == 0) return;
  launch(p.sums, *a.stream, p.sum_grid, a.inputs[1], a.inputs[0], a.inputs[3],
         a.workspace, c);
  launch(p.moments, *a.stream, grid_for(p.moments, c.channels), a.workspace, a.inputs[4],
         a.outputs[1], a.outputs[2], p.attrs.epsilon, c);
  const int64_t n = c.outer * c.channels * c.inner;
  if (n == 0) return;
  const int training = p.attrs.is_training;
  launch(p.apply, *a.stream, grid_for(p.apply, n), a.inputs[0], a.inputs[1], a.inputs[2],
         a.inputs[3], a.inputs[4], a.outputs[1], a.outputs[2], a.outputs[0],
         p.attrs.epsilon, training, c);
}

/// Vectors have the dtype that is computed in.
bool vectors_fit(const TensorInfo& x, const TensorInfo& vector) {
  return dtype_size(vector.dtype) == computed_bytes(x.dtype);
}
bool batch_fits(const Signature& s) { return vectors_fit(s.in(0), s.in(1)); }
bool batch_grad_fits(const Signature& s) { return vectors_fit(s.in(1), s.in(2)); }

}  // namespace

void register_norm(Kernels& kernels) {
  kernels.add(make_kernel<prepare_batch_norm, launch_batch_norm>(
      "FusedBatchNormV3", "cuda.batch_norm", kFloats, batch_fits));
  kernels.add(make_kernel<prepare_batch_grad, launch_batch_grad>(
      "FusedBatchNormGradV3", "cuda.batch_norm_grad", kFloats, batch_grad_fits));
}

}  // namespace tandem::cuda
