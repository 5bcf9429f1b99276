// FusedBatchNormV3 and the same with its end where channels come last and fill whole
// vectors: floats; half precision computes in float32. Every pass reads and writes 16
// bytes a thread; moments take one pass. norm.cc serves the rest.
#include "kernels/cuda/batch_norm.h"

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/vector_lanes.h"
#include "ops/fused_norms.h"
#include "ops/nn_geometry.h"

namespace tandem::cuda {

namespace {

constexpr int kWidest = 32;            // vectors of a block
constexpr int64_t kNormThreads = 256;  // of a block
constexpr int64_t kTogether = 4;       // rows that a thread has in flight
constexpr int64_t kPartsSide = 8;      // channels of a block that puts parts together

}  // namespace

// What registers allow: wider vectors, and more of them in flight, leave room for less.
int resident_sums(DType dtype, const NormGradForm& form) {
  return (dtype_size(dtype) == 2 ? 3 : 4) - (form.kept ? 1 : 0);
}

std::string batch_norm_text(DType dtype) {
  return text_prefix(false) +
         fmt::format("typedef {} T;\nconstexpr int kResident = {};\n", type_text(dtype),
                     resident_sums(dtype)) +
         std::string(device_text("vectors.cuh")) +
         std::string(device_text("channel_rows.cuh")) +
         std::string(device_text("batch_norm.cuh"));
}

bool rows_fit(const TensorInfo& x, const TensorInfo& vector, nn::DataFormat format) {
  const int axis = nn::channel_axis(x.shape.rank(), channels_first(format));
  return dtype_size(vector.dtype) == computed_bytes(x.dtype) && x.shape[axis] > 0 &&
         x.shape[axis] % vector_lanes(x.dtype) == 0 &&
         x.shape.slice(axis + 1, x.shape.rank()).num_elements() == 1;
}

RowsPlan plan_rows(const Signature& s, const TensorInfo& x, nn::DataFormat format,
                   int resident) {
  RowsPlan p;
  const int64_t channels =
      x.shape[nn::channel_axis(x.shape.rank(), channels_first(format))];
  Rows& r = p.sizes;
  r.rows = x.shape.num_elements() / channels;
  r.vectors = channels / vector_lanes(x.dtype);
  while (r.width < kWidest && r.width < r.vectors) r.width *= 2;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  const int64_t tiles = up(r.vectors, r.width), height = kNormThreads / r.width;
  // Blocks that keep a GPU busy, with work for each.
  const auto parts = [&](int64_t per_multiprocessor) {
    return std::clamp<int64_t>(
        std::min(up(per_multiprocessor * gpu.multiprocessors(), tiles),
                 r.rows / (height * kTogether)),
        1, 4096);
  };
  r.parts = parts(resident);
  r.whole = r.rows / (height * r.parts) * height;
  r.rest = r.rows % (height * r.parts);
  p.apply_parts = parts(6);
  p.sum_grid = {.x = static_cast<unsigned>(tiles), .y = static_cast<unsigned>(r.parts)};
  p.apply_grid = {.x = static_cast<unsigned>(tiles),
                  .y = static_cast<unsigned>(p.apply_parts)};
  p.finish_grid = {.x = static_cast<unsigned>(up(channels, kPartsSide))};
  const size_t vector = static_cast<size_t>(channels) * computed_bytes(x.dtype);
  p.numbers_at = 2 * static_cast<size_t>(r.parts) * vector;
  p.workspace_bytes = p.numbers_at + 3 * vector;
  return p;
}

int all_aligned(std::initializer_list<const void*> addresses) {
  uint64_t together = 0;
  for (const void* a : addresses) together |= reinterpret_cast<uint64_t>(a);
  return together % kVectorBytes == 0;
}

namespace {

struct NormPlan : RowsPlan {
  nn::FusedBatchNormAttrs attrs;
  int relu = 0;
  bool side = false;
};

bool has_norm_end(const Signature& s) { return s.op->name == "FusedBatchNormEx"; }
nn::FusedBatchNormAttrs attrs_of_norm(const Signature& s) {
  return has_norm_end(s) ? s.attrs.as<FusedBatchNormExAttrs>().norm()
                         : s.attrs.as<nn::FusedBatchNormAttrs>();
}
bool norm_rows_fit(const Signature& s) {
  return rows_fit(s.in(0), s.in(1), attrs_of_norm(s).data_format);
}

NormPlan prepare_norm_rows(const Signature& s) {
  const nn::FusedBatchNormAttrs attrs = attrs_of_norm(s);
  const TensorInfo& x = s.in(0);
  NormPlan p{plan_rows(s, x, attrs.data_format, resident_sums(x.dtype)), attrs};
  const std::string text = batch_norm_text(x.dtype);
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, text, entry);
  };
  if (attrs.is_training) {
    p.sums = find("moments");
    p.finish = find("finish_moments");
  } else {
    p.finish = find("given_moments");
    const int64_t channels = p.sizes.vectors * vector_lanes(x.dtype);
    p.finish_grid = {.x = static_cast<unsigned>(up(channels, kNormThreads))};
  }
  p.apply = find("normalise");
  if (has_norm_end(s)) {
    p.relu = s.attrs.as<FusedBatchNormExAttrs>().activation == "Relu";
    p.side = s.inputs.size() > kNormSide && s.in(kNormSide).dtype != DType::kInvalid;
  }
  return p;
}

void launch_norm_rows(const NormPlan& p, const LaunchArgs& a) {
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

}  // namespace

void register_batch_norm(Kernels& kernels) {
  kernels.add(make_kernel<prepare_norm_rows, launch_norm_rows>(
      "FusedBatchNormV3", "cuda.batch_norm.rows", kFloats, norm_rows_fit));
  kernels.add(make_kernel<prepare_norm_rows, launch_norm_rows>(
      "FusedBatchNormEx", "cuda.batch_norm_ex.rows", kFloats, norm_rows_fit));
}

}  // namespace tandem::cuda
