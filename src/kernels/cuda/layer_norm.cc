// LayerNorm and its gradient: floats; half precision computes in float32. Rows of up to
// 8192 elements are read once and kept in registers; longer ones are read again
// (device/norm.cuh). Sums over rows are cut into parts by sizes alone.
#include "kernels/cuda/layer_norm.h"

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/softmax.h"
#include "tandem/ops/nn_norm.h"

namespace tandem::cuda {

int layer_norm_warps(int64_t n, int64_t each) {
  for (int warps = 1; warps <= 8; warps *= 2) {
    if (n <= 32 * warps * each) return warps;
  }
  return 0;
}

std::string layer_norm_text(DType dtype, int64_t n, int warps) {
  return text_prefix(false) +
         fmt::format("typedef {} T;\nconstexpr int kN = {}, kTeamWarps = {};\n",
                     type_text(dtype), n, warps) +
         std::string(device_text("whole_store.cuh")) +
         std::string(device_text("layer_norm.cuh"));
}

namespace {

struct LayerNormPlan {
  Function main, parts, finish;  // `parts`: of long rows only
  int64_t rows = 0, n = 0, count = 1;
  double epsilon = 0;
  bool gamma = false, beta = false;
  bool rows_in_registers = false;
  Grid grid;
  size_t parts_at = 0, workspace_bytes = 0;
};

bool is_given(const Signature& s, size_t i) {
  return s.inputs.size() > i && s.in(static_cast<int>(i)).dtype != DType::kInvalid;
}
/// Elements of a thread: what the kernels have registers for.
int64_t each(DType dtype, bool gradient) {
  return gradient || dtype == DType::kFloat64 ? 16 : 32;
}

LayerNormPlan plan_layer_norm(const Signature& s, const Shape& x, bool gradient) {
  const auto& attrs = s.attrs.as<nn::LayerNormAttrs>();
  const int kept = x.rank() - static_cast<int>(attrs.axis.size());
  const DType dtype = s.out().dtype;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  LayerNormPlan p;
  p.rows = x.slice(0, kept).num_elements();
  p.n = x.slice(kept, x.rank()).num_elements();
  p.epsilon = attrs.epsilon;
  p.gamma = is_given(s, gradient ? 2 : 1);
  p.beta = !gradient && is_given(s, 2);
  if (p.n == 0) return p;
  const int warps =
      std::max(layer_norm_warps(p.n, each(dtype, gradient)), layer_norm_warps(p.n, 32));
  p.rows_in_registers = warps > 0;
  const size_t bytes = dtype == DType::kFloat64 ? 8 : 4;
  if (p.rows_in_registers) {
    const std::string text = layer_norm_text(dtype, p.n, warps);
    p.main = find_function(s.device, s.op->name, text,
                           gradient ? "layer_norm_grad" : "layer_norm");
    // A gradient's blocks have a part each: no more of them than are busy at once.
    const int64_t most = gpu.multiprocessors() * int64_t{gradient ? 2 : 16};
    p.count = std::min(up(p.rows, 8 / warps), most);
    p.grid = {.x = static_cast<unsigned>(p.count)};
    if (gradient) {
      p.finish = find_function(s.device, s.op->name, text, "layer_norm_finish");
      p.workspace_bytes = static_cast<size_t>(2 * p.count * p.n) * bytes;
    }
    return p;
  }
  const std::string text = norm_text(dtype);
  p.grid = row_grid(p.rows, p.n);
  p.main = find_function(s.device, s.op->name, text,
                         gradient ? "layer_norm_by_x" : "layer_norm");
  if (gradient) {
    p.parts = find_function(s.device, s.op->name, text, "layer_norm_parts");
    p.finish = find_function(s.device, s.op->name, text, "layer_norm_finish");
    const int64_t busy = int64_t{2} * gpu.multiprocessors();
    p.count = std::clamp<int64_t>(std::min(busy / up(p.n, 32), up(p.rows, 64)), 1, 64);
    p.parts_at = static_cast<size_t>(2 * p.rows) * bytes;
    p.workspace_bytes = p.parts_at + static_cast<size_t>(2 * p.count * p.n) * bytes;
  }
  return p;
}
LayerNormPlan prepare_layer_norm(const Signature& s) {
  return plan_layer_norm(s, s.in(0).shape, false);
}
LayerNormPlan prepare_layer_norm_grad(const Signature& s) {
  return plan_layer_norm(s, s.in(1).shape, true);
}

void launch_layer_norm(const LayerNormPlan& p, const LaunchArgs& a) {
  if (p.rows == 0 || p.n == 0) return;
  const void* gamma = p.gamma ? a.inputs[1] : nullptr;
  const void* beta = p.beta ? a.inputs[2] : nullptr;
  if (p.rows_in_registers) {
    launch(p.main, *a.stream, p.grid, a.inputs[0], gamma, beta, a.outputs[0], p.rows,
           p.epsilon, rows_together(0, {a.inputs[0], gamma, beta, a.outputs[0]}));
    return;
  }
  launch(p.main, *a.stream, p.grid, a.inputs[0], gamma, beta, a.outputs[0], p.rows, p.n,
         p.epsilon);
}

void launch_layer_norm_grad(const LayerNormPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  const void* gamma = p.gamma ? a.inputs[2] : nullptr;
  const auto tiles = static_cast<unsigned>(up(p.n, 32));
  if (p.rows_in_registers) {
    if (p.rows > 0) {
      launch(p.main, *a.stream, p.grid, a.inputs[0], a.inputs[1], gamma, a.outputs[0],
             a.workspace, p.rows, p.epsilon,
             rows_together(0, {a.inputs[0], a.inputs[1], gamma, a.outputs[0]}));
    }
    launch(p.finish, *a.stream, Grid{.x = tiles, .y = 2, .threads = 1024}, a.workspace,
           a.outputs[1], a.outputs[2], p.count);
    return;
  }
  void* const moments = a.workspace;
  void* const parts = static_cast<std::byte*>(a.workspace) + p.parts_at;
  if (p.rows > 0) {
    launch(p.main, *a.stream, p.grid, a.inputs[0], a.inputs[1], gamma, a.outputs[0],
           moments, p.rows, p.n, p.epsilon);
  }
  const Grid grid{.x = tiles, .y = static_cast<unsigned>(p.count)};
  launch(p.parts, *a.stream, grid, a.inputs[0], a.inputs[1], moments, parts, p.rows, p.n);
  launch(p.finish, *a.stream, grid_for(p.finish, p.n), parts, a.outputs[1], a.outputs[2],
         p.n, p.count);
}

}  // namespace

void register_layer_norm(Kernels& kernels) {
  kernels.add(make_kernel<prepare_layer_norm, launch_layer_norm>(
      "LayerNorm", "cuda.layer_norm", kFloats));
  kernels.add(make_kernel<prepare_layer_norm_grad, launch_layer_norm_grad>(
      "LayerNormGrad", "cuda.layer_norm_grad", kFloats));
}

}  // namespace tandem::cuda
