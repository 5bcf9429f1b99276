// ScaledDotProductAttention and its gradient through cuDNN: half precision, causal or
// not, with key heads that several query heads share; no mask and no bias. A candidate
// beside our own kernels, which plans take where it was measured to be faster, and the
// default of large calls (is_known_better). Its sums of the gradient by the query come in
// any order, so it has no part in deterministic programs. It wants operands at multiples
// of 16 bytes; where a call has views at other offsets, our own kernel serves after all.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cuda/cudnn_attention_graph.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "op/kernel_fit.h"
#include "tandem/error.h"

namespace tandem::cuda {

namespace {

constexpr DTypeMask kHalfTypes = mask(DType::kFloat16) | mask(DType::kBFloat16);
constexpr int64_t kLargestHead = 128;
constexpr int64_t kFewestScores = 1 << 20;  // worth a plan of the library
constexpr int kFirstAttentionArch = 80;
constexpr size_t kFirstAttentionVersion =
    90600;  // clears the sums of the gradient itself

bool is_grad(const Signature& s) { return s.op->name.ends_with("Grad"); }

AttentionCase case_of(const Signature& s) {
  const nn::AttentionAttrs attrs =
      is_grad(s) ? nn::forward_attrs(s.attrs.as<nn::AttentionGradAttrs>())
                 : s.attrs.as<nn::AttentionAttrs>();
  return {.shape = nn::attention_shape(s.op->name, attrs, s.in(0).shape, s.in(1).shape,
                                       s.in(2).shape),
          .dtype = s.in(0).dtype,
          .heads_first = attrs.heads_first,
          .causal = attrs.causal};
}
float attention_scale(const Signature& s, const AttentionCase& c) {
  const double given = is_grad(s) ? s.attrs.as<nn::AttentionGradAttrs>().scale
                                  : s.attrs.as<nn::AttentionAttrs>().scale;
  return static_cast<float>(
      given != 0 ? given : 1 / std::sqrt(static_cast<double>(c.shape.size)));
}

bool cudnn_attention_fits(const Signature& s) {
  if (!s.device || s.device->platform() != cuda_platform()) return false;
  for (const int i : {3, 4}) {  // mask, bias
    if (s.inputs.size() > static_cast<size_t>(i) && s.in(i).dtype != DType::kInvalid) {
      return false;
    }
  }
  if (s.deterministic) return false;
  const AttentionCase c = case_of(s);
  const nn::AttentionShape& a = c.shape;
  const auto head = [](int64_t size) { return size % 8 == 0 && size <= kLargestHead; };
  if (a.size == 0 || a.value_size == 0 || !head(a.size) || !head(a.value_size)) {
    return false;
  }
  if (c.causal && a.queries != a.keys) return false;
  if (a.batch * a.heads * a.queries * a.keys < kFewestScores) return false;
  if (gpu_of(s).arch() < kFirstAttentionArch || gpu_of(s).is_imagined()) return false;
  const CudnnApi* api = find_cudnn();
  return api && api->version >= kFirstAttentionVersion;
}

/// Whether a call that nobody measures, as one outside of compiled functions, goes to
/// cuDNN. For 8 x 1024 queries of 12 heads of 64 plans found it the faster one on an
/// H200, where our own kernel takes 1.5 times as long as PyTorch; other architectures
/// were not measured. The call must be large for the library's sake too: it makes a plan
/// for every new size, and smaller calls, of which there may be many sizes, would not
/// earn that time back.
bool is_known_better(const Signature& s) {
  constexpr int kMeasuredArch = 90;
  constexpr int64_t kManyScores = int64_t{1} << 26, kManyKeys = 512, kSmallestHead = 64;
  if (!cudnn_attention_fits(s)) return false;
  const nn::AttentionShape a = case_of(s).shape;
  return gpu_of(s).arch() >= kMeasuredArch && a.keys >= kManyKeys &&
         std::min(a.size, a.value_size) >= kSmallestHead &&
         a.batch * a.heads * a.queries * a.keys >= kManyScores;
}
bool is_candidate(const Signature& s) {
  return cudnn_attention_fits(s) && !is_known_better(s);
}

/// The kernel that serves where cuDNN cannot.
const Kernel& own_kernel(const Signature& s) {
  for (const Kernel* k : KernelRegistry::get().find(*s.op, s.device->platform())) {
    if (k->id.find("cudnn") == std::string::npos && kernel_fits(*k, s)) return *k;
  }
  throw InternalError(s.op->name + ": no kernel of our own fits");
}

struct CudnnAttention {
  std::shared_ptr<const DnnPlan> plan;  // null: the library has no engine for it
  const Kernel* own = nullptr;
  Ref<Prepared> own_prepared;
  float scale = 1;
  bool causal = false;
  size_t sums_at = 0, query_sums_at = 0;  // of the workspace
  size_t workspace_bytes = 0;
};

size_t padded(size_t bytes) { return (bytes + 255) / 256 * 256; }

CudnnAttention prepare_cudnn_attention(const Signature& s) {
  const AttentionCase c = case_of(s);
  const nn::AttentionShape& a = c.shape;
  const bool grad = is_grad(s);
  const std::vector<int64_t> key = {1,  // attention
                                    grad,
                                    static_cast<int64_t>(c.dtype),
                                    c.heads_first,
                                    c.causal,
                                    a.batch,
                                    a.queries,
                                    a.keys,
                                    a.heads,
                                    a.key_heads,
                                    a.size,
                                    a.value_size};
  CudnnAttention p;
  p.plan = find_plan(gpu_of(s), key, [&](const DnnTarget& target) {
    return build_plan(grad ? attention_grad_graph(c) : attention_graph(c), target, {});
  });
  p.own = &own_kernel(s);
  p.own_prepared = p.own->prepare(s);
  p.scale = attention_scale(s, c);
  p.causal = c.causal;
  p.workspace_bytes = p.plan ? padded(p.plan->workspace_bytes) : 0;
  if (grad && p.plan) {
    const auto rows = static_cast<size_t>(a.batch * a.heads * a.queries);
    p.sums_at = p.workspace_bytes;
    p.query_sums_at = p.sums_at + padded(rows * sizeof(float));
    p.workspace_bytes =
        p.query_sums_at + rows * static_cast<size_t>(a.size) * sizeof(float);
  }
  p.workspace_bytes = std::max(p.workspace_bytes, p.own_prepared->workspace_bytes);
  return p;
}

/// The numbers that the graph takes from the host, and what it takes from the device.
class Operands {
 public:
  Operands(const CudnnAttention& p, bool grad) : scale_(p.scale) {
    add(kAttentionScale, &scale_);
    if (p.causal) add(kAttentionHidden, &hidden_);
    if (grad) add(kAttentionOne, &one_);
    on_host_ = count_;
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  void add(int64_t id, void* address) {
    ids_[count_] = id;
    addresses_[count_++] = address;
  }
  void run(const CudnnAttention& p, const LaunchArgs& a) const {
    uint64_t together = 0;
    for (size_t i = on_host_; i < count_; ++i) {
      together |= reinterpret_cast<uint64_t>(addresses_[i]);
    }
    if (!p.plan || together % kDnnAligned != 0) {
      p.own->launch(*p.own_prepared, a);
      return;
    }
    run_plan(*p.plan, *a.stream, {ids_, count_}, {addresses_, count_}, a.workspace);
  }

 private:
  float scale_, hidden_ = std::numeric_limits<float>::lowest(), one_ = 1;
  int64_t ids_[16] = {};
  void* addresses_[16] = {};
  size_t count_ = 0, on_host_ = 0;
};

void launch_cudnn_attention(const CudnnAttention& p, const LaunchArgs& a) {
  Operands x(p, false);
  x.add(kAttentionQuery, a.inputs[0]);
  x.add(kAttentionKey, a.inputs[1]);
  x.add(kAttentionValue, a.inputs[2]);
  x.add(kAttentionOutput, a.outputs[0]);
  x.add(kAttentionLogSums, a.outputs[1]);
  x.run(p, a);
}
void launch_cudnn_attention_grad(const CudnnAttention& p, const LaunchArgs& a) {
  auto* const work = static_cast<std::byte*>(a.workspace);
  Operands x(p, true);
  x.add(kAttentionQuery, a.inputs[0]);
  x.add(kAttentionKey, a.inputs[1]);
  x.add(kAttentionValue, a.inputs[2]);
  x.add(kAttentionOutput, a.inputs[5]);
  x.add(kAttentionLogSums, a.inputs[6]);
  x.add(kAttentionGrad, a.inputs[7]);
  x.add(kAttentionByQuery, a.outputs[0]);
  x.add(kAttentionByKey, a.outputs[1]);
  x.add(kAttentionByValue, a.outputs[2]);
  x.add(kAttentionSums, work + p.sums_at);
  x.add(kAttentionQuerySums, work + p.query_sums_at);
  x.run(p, a);
}

}  // namespace

void register_cudnn_attention_defaults(Kernels& kernels) {
  kernels.add(make_kernel<prepare_cudnn_attention, launch_cudnn_attention>(
      "ScaledDotProductAttention", "cuda.cudnn.attention.large", kHalfTypes,
      is_known_better));
  kernels.add(make_kernel<prepare_cudnn_attention, launch_cudnn_attention_grad>(
      "ScaledDotProductAttentionGrad", "cuda.cudnn.attention_grad.large", kHalfTypes,
      is_known_better));
}

void register_cudnn_attention(Kernels& kernels) {
  kernels.add(make_kernel<prepare_cudnn_attention, launch_cudnn_attention>(
      "ScaledDotProductAttention", "cuda.cudnn.attention", kHalfTypes, is_candidate));
  kernels.add(make_kernel<prepare_cudnn_attention, launch_cudnn_attention_grad>(
      "ScaledDotProductAttentionGrad", "cuda.cudnn.attention_grad", kHalfTypes,
      is_candidate));
}

}  // namespace tandem::cuda
