// FusedBatchNormV3, the same with its end, and the gradient where channels come last and
// fill whole vectors: floats; half precision computes in float32. Every pass reads and
// writes 16 bytes a thread; moments take one pass. norm.cc serves the rest.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "ops/fused_norms.h"
#include "ops/nn_geometry.h"

namespace tandem::cuda {

std::string batch_norm_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("vectors.cuh")) +
         std::string(device_text("batch_norm.cuh"));
}

namespace {

constexpr int64_t kBytes = 16;     // of a vector
constexpr int kWidest = 32;        // vectors of a block
constexpr int64_t kThreads = 256;  // of a block
constexpr int64_t kTogether = 4;   // rows that a thread has in flight

/// As device/batch_norm.cuh has it.
struct Rows {
  int64_t rows = 0, vectors = 0, parts = 1;
  int width = kWidest, aligned = 1;
};
struct RowsPlan {
  Function sums, finish, apply;
  Rows sizes;
  Grid sum_grid, finish_grid, apply_grid;
  int64_t apply_parts = 1;
  nn::FusedBatchNormAttrs attrs;
  int relu = 0;
  bool side = false;
  size_t numbers_at = 0, workspace_bytes = 0;
};

size_t computed_bytes(DType dtype) { return dtype == DType::kFloat64 ? 8 : 4; }
int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }
int64_t lanes(DType dtype) { return kBytes / static_cast<int64_t>(dtype_size(dtype)); }

bool has_end(const Signature& s) { return s.op->name == "FusedBatchNormEx"; }
nn::FusedBatchNormAttrs norm_attrs(const Signature& s) {
  return has_end(s) ? s.attrs.as<FusedBatchNormExAttrs>().norm()
                    : s.attrs.as<nn::FusedBatchNormAttrs>();
}

bool rows_fit(const Signature& s, const TensorInfo& x, const TensorInfo& vector) {
  const nn::FusedBatchNormAttrs attrs = norm_attrs(s);
  const int axis = nn::channel_axis(x.shape.rank(), channels_first(attrs.data_format));
  return dtype_size(vector.dtype) == computed_bytes(x.dtype) && x.shape[axis] > 0 &&
         x.shape[axis] % lanes(x.dtype) == 0 &&
         x.shape.slice(axis + 1, x.shape.rank()).num_elements() == 1;
}
bool fits(const Signature& s) { return rows_fit(s, s.in(0), s.in(1)); }
bool grad_fits(const Signature& s) { return rows_fit(s, s.in(1), s.in(2)); }

RowsPlan plan(const Signature& s, const TensorInfo& x) {
  RowsPlan p;
  p.attrs = norm_attrs(s);
  const int axis = nn::channel_axis(x.shape.rank(), channels_first(p.attrs.data_format));
  const int64_t channels = x.shape[axis];
  Rows& r = p.sizes;
  r.rows = x.shape.num_elements() / channels;
  r.vectors = channels / lanes(x.dtype);
  r.width = 1;
  while (r.width < kWidest && r.width < r.vectors) r.width *= 2;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  const int64_t tiles = up(r.vectors, r.width);
  // Blocks that keep a GPU busy, with work for each.
  const auto parts = [&](int64_t per_multiprocessor) {
    return std::clamp<int64_t>(
        std::min(up(per_multiprocessor * gpu.multiprocessors(), tiles),
                 r.rows / (kThreads / r.width * kTogether)),
        1, 4096);
  };
  r.parts = parts(4);
  p.apply_parts = parts(6);
  p.sum_grid = {.x = static_cast<unsigned>(tiles), .y = static_cast<unsigned>(r.parts)};
  p.apply_grid = {.x = static_cast<unsigned>(tiles),
                  .y = static_cast<unsigned>(p.apply_parts)};
  p.finish_grid = {.x = static_cast<unsigned>(up(channels, 8)), .threads = 1024};
  // Parts of sums, then three numbers for each channel.
  p.numbers_at = static_cast<size_t>(2 * r.parts * channels) * computed_bytes(x.dtype);
  p.workspace_bytes =
      p.numbers_at + static_cast<size_t>(3 * channels) * computed_bytes(x.dtype);
  return p;
}
RowsPlan prepare(const Signature& s) {
  RowsPlan p = plan(s, s.in(0));
  const std::string text = batch_norm_text(s.in(0).dtype);
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, text, entry);
  };
  if (p.attrs.is_training) p.sums = find("moments");
  p.finish = find(p.attrs.is_training ? "finish_moments" : "given_moments");
  p.apply = find("normalise");
  if (has_end(s)) {
    p.relu = s.attrs.as<FusedBatchNormExAttrs>().activation == "Relu";
    p.side = s.inputs.size() > kNormSide && s.in(kNormSide).dtype != DType::kInvalid;
  }
  return p;
}
RowsPlan prepare_grad(const Signature& s) {
  RowsPlan p = plan(s, s.in(1));
  const std::string text = batch_norm_text(s.in(1).dtype);
  p.sums = find_function(s.device, s.op->name, text, "gradient_sums");
  p.finish = find_function(s.device, s.op->name, text, "finish_gradient");
  p.apply = find_function(s.device, s.op->name, text, "normalise_by_x");
  return p;
}

int all_aligned(std::initializer_list<const void*> addresses) {
  uint64_t together = 0;
  for (const void* a : addresses) together |= reinterpret_cast<uint64_t>(a);
  return together % kBytes == 0;
}

void launch_norm(const RowsPlan& p, const LaunchArgs& a) {
  Rows r = p.sizes;
  const void* const side = p.side ? a.inputs[kNormSide] : nullptr;
  r.aligned = all_aligned({a.inputs[0], side, a.outputs[0]});
  void *const mean = a.outputs[3], *const variance = a.outputs[4];
  void* const factors = static_cast<std::byte*>(a.workspace) + p.numbers_at;
  if (p.attrs.is_training) {
    launch(p.sums, *a.stream, p.sum_grid, a.inputs[0], a.workspace, r);
    const int blend = p.attrs.exponential_avg_factor != 1;
    launch(p.finish, *a.stream, p.finish_grid, a.workspace, mean, variance,
           blend ? a.inputs[3] : nullptr, blend ? a.inputs[4] : nullptr, a.outputs[1],
           a.outputs[2], a.inputs[1], factors, p.attrs.epsilon,
           p.attrs.exponential_avg_factor, blend, r);
  } else {
    launch(p.finish, *a.stream, p.finish_grid, a.inputs[3], a.inputs[4], mean, variance,
           a.outputs[1], a.outputs[2], a.inputs[1], factors, p.attrs.epsilon, r);
  }
  if (r.rows == 0) return;
  r.parts = p.apply_parts;
  launch(p.apply, *a.stream, p.apply_grid, a.inputs[0], side, mean, factors, a.inputs[2],
         a.outputs[0], p.relu, r);
}
void launch_grad(const RowsPlan& p, const LaunchArgs& a) {
  Rows r = p.sizes;
  r.aligned = all_aligned({a.inputs[0], a.inputs[1], a.outputs[0]});
  void* const dy = a.inputs[0];
  void* const x = a.inputs[1];
  void *const mean = a.inputs[3], *const variance = a.inputs[4];
  void* const numbers = static_cast<std::byte*>(a.workspace) + p.numbers_at;
  const int training = p.attrs.is_training;
  launch(p.sums, *a.stream, p.sum_grid, x, dy, mean, a.workspace, r);
  launch(p.finish, *a.stream, p.finish_grid, a.workspace, variance, a.inputs[2],
         a.outputs[1], a.outputs[2], numbers, p.attrs.epsilon, training, r);
  if (r.rows == 0) return;
  r.parts = p.apply_parts;
  launch(p.apply, *a.stream, p.apply_grid, dy, x, mean, numbers, a.outputs[0], r);
}

}  // namespace

void register_batch_norm(Kernels& kernels) {
  kernels.add(make_kernel<prepare, launch_norm>("FusedBatchNormV3",
                                                "cuda.batch_norm.rows", kFloats, fits));
  kernels.add(make_kernel<prepare, launch_norm>(
      "FusedBatchNormEx", "cuda.batch_norm_ex.rows", kFloats, fits));
  kernels.add(make_kernel<prepare_grad, launch_grad>(
      "FusedBatchNormGradV3", "cuda.batch_norm_grad.rows", kFloats, grad_fits));
}

}  // namespace tandem::cuda
