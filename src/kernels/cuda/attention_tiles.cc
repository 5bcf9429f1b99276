// ScaledDotProductAttention and its gradient on tensor cores, without the matrix of
// scores in memory: float16, bfloat16, and float32 rounded to TF32 where that is allowed;
// compute capability 8.0 and newer, heads of up to 128. The same bits every time.
#include <fmt/format.h>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "kernels/cuda/shared_memory.h"

namespace tandem::cuda {

namespace {

constexpr int64_t kLargestTiledHead = 128;  // of a head
/// Queries or keys of a head, and blocks: places in a tile are counted in 32 bits.
constexpr int64_t kMostPlaces = int64_t{1} << 30;

}  // namespace

std::string attention_tiles_text(DType dtype, const AttentionForm& f, bool gradient) {
  return text_prefix(false) +
         fmt::format(
             "typedef {} T;\nconstexpr int kSize = {}, kValueSize = {}, kWarps = {}, "
             "kTile = {};\nconstexpr bool kHeadsFirst = {}, kCausal = {}, kMask = {}, "
             "kBias = {}, kScores = {};\n",
             type_text(dtype), f.size, f.value_size, f.warps, f.tile, f.heads_first,
             f.causal, f.mask, f.bias, f.scores) +
         std::string(device_text("mma.cuh")) +
         std::string(device_text("attention_tiles.cuh")) +
         std::string(
             device_text(gradient ? "attention_backward.cuh" : "attention_forward.cuh"));
}

size_t attention_tiles_shared(DType dtype, const AttentionForm& f, bool gradient) {
  const int64_t element = static_cast<int64_t>(dtype_size(dtype));
  const int64_t row = up(f.size, 16) * 16 + 16 / element;
  const int64_t value_row = up(f.value_size, 16) * 16 + 16 / element;
  const int64_t own = int64_t{16} * f.warps, passing = int64_t{2} * f.tile;
  int64_t bytes = passing * (row + value_row) * element;
  bytes += own * (gradient ? row + value_row : row) * element;
  if (gradient) bytes += 2 * passing * 4;  // sums and dots of the queries that pass by
  return static_cast<size_t>(bytes);
}

AttentionForm attention_form(const AttentionCall& call, DType dtype, bool gradient,
                             int arch, int multiprocessors, int variant) {
  AttentionForm f;
  f.size = call.shape.size;
  f.value_size = call.shape.value_size;
  f.heads_first = call.attrs.heads_first;
  f.causal = call.attrs.causal;
  f.mask = call.mask;
  f.bias = call.bias;
  f.scores = call.scores;
  // Large blocks read less, small ones keep more multiprocessors busy.
  const bool halfs = dtype_size(dtype) == 2;
  const int64_t widest = std::max(f.size, f.value_size);
  const int64_t warps = call.shape.batch * call.shape.heads * up(call.shape.queries, 16);
  f.warps = warps < int64_t{3} * multiprocessors ? 2 : 4;
  if (!gradient && halfs && widest <= 64 && warps >= int64_t{32} * multiprocessors) {
    f.warps = 8;
  }
  // What a warp adds up is in registers, and wide heads leave few for the scores.
  f.tile = widest > 64 && (gradient || !halfs) ? 32 : 64;
  if (variant & kHalfTile) f.tile /= 2;
  if (variant & kOtherWarps) f.warps = f.warps == 4 ? 8 : 4;
  while (attention_tiles_shared(dtype, f, gradient) > shared_memory_limit(arch)) {
    if (f.tile > 16) {
      f.tile /= 2;
    } else if (f.warps > 1) {
      f.warps /= 2;
    } else {
      f.warps = 0;
      break;
    }
  }
  return f;
}

bool attention_tiles_fit(const Signature& s) {
  if (!s.device || s.device->platform() != cuda_platform()) return false;
  const CudaDevice& gpu = gpu_of(s);
  const DType dtype = s.in(0).dtype;
  if (!tile_tensor_cores(gpu, dtype)) return false;
  const AttentionCall call = attention_call(s);
  const nn::AttentionShape& a = call.shape;
  const bool gradient = s.op->name.ends_with("Grad");
  return a.size > 0 && a.value_size > 0 && a.size <= kLargestTiledHead &&
         a.value_size <= kLargestTiledHead && a.queries < kMostPlaces &&
         a.keys < kMostPlaces && a.batch * a.heads <= kMostPlaces &&
         a.batch * a.heads * (up(a.queries, 16) + up(a.keys, 16)) <= kMostPlaces &&
         attention_form(call, dtype, gradient, gpu.arch(), 1).warps > 0;
}

namespace {

struct AttentionTilesPlan {
  Function main, dots;
  AttentionCall call;
  Grid grid;
  bool even_rows = false;  // of a whole number of 16 bytes
  size_t workspace_bytes = 0;
};

AttentionTilesPlan plan_attention_tiles(const Signature& s, bool gradient, int variant) {
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  const DType dtype = s.in(0).dtype;
  AttentionTilesPlan p;
  p.call = attention_call(s);
  const nn::AttentionShape& a = p.call.shape;
  const AttentionForm form =
      attention_form(p.call, dtype, gradient, gpu.arch(), gpu.multiprocessors(), variant);
  const std::string text = attention_tiles_text(dtype, form, gradient);
  const size_t shared = attention_tiles_shared(dtype, form, gradient);
  p.main = find_function(s.device, s.op->name, text,
                         gradient ? "tiles_backward" : "tiles_forward", shared);
  const int64_t own = int64_t{16} * form.warps;
  int64_t blocks = up(a.queries, own) * a.batch * a.heads;
  if (gradient) {
    blocks += up(a.keys, own) * a.batch * a.key_heads;
    p.dots = find_function(s.device, s.op->name, text, "row_dots");
    p.workspace_bytes = static_cast<size_t>(p.call.rows()) * sizeof(float);
  }
  p.grid = {.x = static_cast<unsigned>(blocks),
            .threads = static_cast<unsigned>(32 * form.warps),
            .shared = static_cast<unsigned>(shared)};
  const int64_t chunk = 16 / static_cast<int64_t>(dtype_size(dtype));
  p.even_rows = a.size % chunk == 0 && a.value_size % chunk == 0;
  return p;
}
template <int variant>
AttentionTilesPlan prepare_attention_tiles(const Signature& s) {
  return plan_attention_tiles(s, false, variant);
}
template <int variant>
AttentionTilesPlan prepare_attention_tiles_grad(const Signature& s) {
  return plan_attention_tiles(s, true, variant);
}

/// The sizes, with whether rows can be copied 16 bytes at a time: views may begin
/// anywhere.
AttentionSizes sizes_for(const AttentionTilesPlan& p,
                         std::initializer_list<const void*> tensors) {
  AttentionSizes sizes = p.call.sizes;
  uintptr_t all = 0;
  for (const void* t : tensors) all |= reinterpret_cast<uintptr_t>(t);
  sizes.together = p.even_rows && all % 16 == 0;
  return sizes;
}

void launch_tiles(const AttentionTilesPlan& p, const LaunchArgs& a) {
  if (p.call.rows() == 0) return;
  launch(p.main, *a.stream, p.grid, p.call.inputs(a), a.outputs[0], a.outputs[1],
         sizes_for(p, {a.inputs[0], a.inputs[1], a.inputs[2], a.outputs[0]}));
}

/// As device/attention_backward.cuh has it.
struct Gradients {
  const void *log_sums, *dots, *grad;
  void *q, *k, *v, *scores;
};
void launch_tiles_grad(const AttentionTilesPlan& p, const LaunchArgs& a) {
  if (p.grid.x == 0) return;
  const AttentionSizes sizes =
      sizes_for(p, {a.inputs[0], a.inputs[1], a.inputs[2], a.inputs[5], a.inputs[7],
                    a.outputs[0], a.outputs[1], a.outputs[2]});
  if (p.call.rows() > 0) {
    launch(p.dots, *a.stream, grid_for(p.dots, p.call.rows() * 8), a.inputs[5],
           a.inputs[7], a.workspace, sizes);
  }
  const Gradients g{a.inputs[6],
                    a.workspace,
                    a.inputs[7],
                    a.outputs[0],
                    a.outputs[1],
                    a.outputs[2],
                    p.call.scores ? a.outputs[3] : nullptr};
  launch(p.main, *a.stream, p.grid, p.call.inputs(a), g, sizes);
}

/// Whether there is enough to do for other forms to be worth measuring.
bool is_large(const Signature& s) {
  constexpr int64_t kLarge = 1 << 20;  // scores
  const nn::AttentionShape a = attention_call(s).shape;
  return a.batch * a.heads * a.queries >= kLarge / std::max<int64_t>(a.keys, 1) &&
         attention_tiles_fit(s);
}

constexpr DTypeMask kTileTypes =
    mask(DType::kFloat32) | mask(DType::kFloat16) | mask(DType::kBFloat16);

template <int variant>
void add_kernels(Kernels& kernels, bool (*supports)(const Signature&)) {
  const std::string end = variant ? fmt::format(".tiles.{}", variant + 1) : ".tiles";
  kernels.add(make_kernel<prepare_attention_tiles<variant>, launch_tiles>(
      "ScaledDotProductAttention", "cuda.attention" + end, kTileTypes, supports));
  kernels.add(make_kernel<prepare_attention_tiles_grad<variant>, launch_tiles_grad>(
      "ScaledDotProductAttentionGrad", "cuda.attention_grad" + end, kTileTypes,
      supports));
}

}  // namespace

void register_attention_tiles(Kernels& kernels) {
  add_kernels<0>(kernels, attention_tiles_fit);
  add_kernels<kHalfTile>(kernels, is_large);
  add_kernels<kOtherWarps>(kernels, is_large);
  add_kernels<kHalfTile | kOtherWarps>(kernels, is_large);
}

}  // namespace tandem::cuda
