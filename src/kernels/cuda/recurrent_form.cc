#include <algorithm>

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/recurrent.h"
#include "tandem/ops/nn_sequence.h"

namespace tandem::cuda {

namespace {

/// Of a step by tiles, each of which reads its weights and states for itself. Beyond this
/// the library's larger tiles win.
constexpr double kMostTraffic = 24e6;

bool tiles_pay(const RecurrentShape& r) {
  const auto blocks = static_cast<double>(up(r.batch, 16) * up(r.units, 8));
  const auto reads = static_cast<double>((16 + 8 * r.gates()) * r.units);
  return blocks * reads * static_cast<double>(r.element()) <= kMostTraffic;
}

bool cluster_fits(const RecurrentShape& r, const Signature& s) {
  constexpr int kFirstArch = 90;
  constexpr int kLeastProcessors = 16;  // less is a part of a GPU, too small for clusters
  if (!s.device || r.units == 0 || r.units > kLargestCluster) return false;
  CudaDevice& gpu = gpu_of(s);
  return gpu.arch() >= kFirstArch && tile_tensor_cores(gpu, r.dtype) &&
         (gpu.activate(), gpu.multiprocessors() >= kLeastProcessors);
}

std::string common_text(const RecurrentShape& r, bool forward) {
  return text_prefix(false) +
         fmt::format(
             "typedef {} T;\ntypedef {} C;\nconstexpr bool kLstm = {};\n"
             "constexpr int kUnits = {};\n{}",
             type_text(r.dtype), r.dtype == DType::kFloat64 ? "double" : "float", r.lstm,
             r.units, forward ? "#define FORWARD\n" : "") +
         std::string(device_text("recurrent.cuh"));
}
std::string tile_text(bool tensor_cores, int tiles) {
  return fmt::format("constexpr bool kTensorCores = {};\nconstexpr int kTiles = {};\n",
                     tensor_cores, tiles) +
         std::string(device_text("tile.cuh"));
}

}  // namespace

RecurrentShape recurrent_shape(const Signature& s) {
  const auto& attrs = s.attrs.as<nn::RecurrentAttrs>();
  const Shape& x = s.in(0).shape;
  RecurrentShape r;
  r.lstm = s.op->name.starts_with("Lstm");
  r.dtype = s.in(0).dtype;
  r.time_major = attrs.time_major;
  r.backwards = attrs.go_backwards;
  r.batch = x[r.time_major ? 1 : 0];
  r.time = x[r.time_major ? 0 : 1];
  r.in = x[2];
  r.units = s.in(2).shape[0];
  return r;
}

bool recurrent_fits(RecurrentForm form, const Signature& s) {
  const RecurrentShape r = recurrent_shape(s);
  const bool cluster = cluster_fits(r, s);
  if (form == RecurrentForm::kCluster || cluster) {
    return cluster == (form == RecurrentForm::kCluster);
  }
  return tiles_pay(r) == (form == RecurrentForm::kStep);
}

RecurrentOrder order_of(const RecurrentShape& r) {
  return {r.batch, r.time, r.time_major, r.backwards};
}

ClusterForm cluster_form(const RecurrentShape& r, int multiprocessors) {
  constexpr int kMostBlocks = 8;  // that every GPU with clusters has
  ClusterForm form;
  form.own = static_cast<int>(8 * up(r.units, int64_t{8} * kMostBlocks));
  while (form.blocks * form.own < r.units) form.blocks *= 2;
  form.warps = form.own == 8 ? 4 : 8;
  // Few sequences per cluster keep its steps short; many keep clusters from queueing.
  const int64_t clusters = up(r.batch, 8);
  form.batch_tiles = clusters * form.blocks > int64_t{2} * multiprocessors ? 2 : 1;
  return form;
}
std::string cluster_text(const RecurrentShape& r, const ClusterForm& form, bool forward) {
  return common_text(r, forward) + tile_text(true, 1) +
         fmt::format(
             "constexpr int kBlocks = {}, kOwn = {}, kWarps = {}, kBatchTiles = {};\n",
             form.blocks, form.own, form.warps, form.batch_tiles) +
         std::string(device_text("recurrent_cluster.cuh"));
}
Grid cluster_grid(const RecurrentShape& r, const ClusterForm& form) {
  const int64_t clusters = up(r.batch, int64_t{8} * form.batch_tiles);
  return {.x = static_cast<unsigned>(clusters * form.blocks),
          .threads = static_cast<unsigned>(32 * form.warps),
          .early = false};
}

StepForm step_form(const RecurrentShape& r, const CudaDevice& device, bool forward) {
  StepForm form;
  form.tensor_cores = tile_tensor_cores(device, r.dtype);
  const int64_t steps = up(forward ? r.units : r.width(), 8);
  form.warps = steps >= 16 ? 8 : steps >= 3 ? 4 : 2;
  return form;
}
std::string step_text(const RecurrentShape& r, const StepForm& form, bool forward) {
  const int tiles = forward ? static_cast<int>(r.gates()) : 1;
  return common_text(r, forward) + tile_text(form.tensor_cores, tiles) +
         fmt::format("constexpr int kWarps = {};\n", form.warps) +
         std::string(device_text("recurrent_step.cuh"));
}
Grid step_grid(const RecurrentShape& r, const StepForm& form) {
  return {.x = static_cast<unsigned>(up(r.batch, 16)),
          .y = static_cast<unsigned>(up(r.units, 8)),
          .threads = static_cast<unsigned>(32 * form.warps)};
}

BlasProduct plan_matrices(const RecurrentShape& r, Device* device, const Shape& a,
                          const Shape& b, const MatMulAttrs& attrs) {
  const int64_t m = a[attrs.transpose_a ? 1 : 0], n = b[attrs.transpose_b ? 0 : 1];
  std::vector<TensorInfo> inputs(2), outputs(1);
  const auto set = [&](TensorInfo& info, const Shape& shape) {
    info.dtype = r.dtype;
    info.shape = shape;
  };
  set(inputs[0], a);
  set(inputs[1], b);
  set(outputs[0], {m, n});
  Signature s;
  s.op = &OpTable::get().at("MatMul");
  s.inputs = inputs;
  s.outputs = outputs;
  s.device = device;
  return plan_product(s, attrs);
}
void run_matrices(const BlasProduct& product, const StreamContext& stream, const void* a,
                  const void* b, void* out, void* workspace) {
  void* const inputs[] = {const_cast<void*>(a), const_cast<void*>(b)};
  run_product(product, {inputs, &out, workspace, &stream});
}

bool recurrent_given(const Signature& s, size_t input) {
  return s.inputs.size() > input &&
         s.in(static_cast<int>(input)).dtype != DType::kInvalid;
}
std::string recurrent_id(RecurrentForm form, const char* op) {
  const char* name = form == RecurrentForm::kCluster ? "cluster"
                     : form == RecurrentForm::kStep  ? "step"
                                                     : "product";
  return fmt::format("cuda.recurrent.{}.{}", name, op);
}

}  // namespace tandem::cuda
