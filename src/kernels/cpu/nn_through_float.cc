#include "kernels/cpu/nn_through_float.h"

#include <bit>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "base/parallel.h"

namespace tandem::cpu {

namespace {

constexpr int64_t kConvertGrain = 32768;
constexpr int kMaxInputs = 16, kMaxOutputs = 8;

void widen_halfs(const float16* x, float* y, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(half));
  }
#endif
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
void narrow_to_halfs(const float* x, float16* y, int64_t n) {
  int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= n; i += 8) {
    const __m128i half =
        _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), half);
  }
#endif
  for (; i < n; ++i) y[i] = float16(x[i]);
}
void widen_halfs(const bfloat16* x, float* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    y[i] = std::bit_cast<float>(static_cast<uint32_t>(x[i].bits) << 16);
  }
}
void narrow_to_halfs(const float* x, bfloat16* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t u = std::bit_cast<uint32_t>(x[i]);
    const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    const uint32_t nan = (u >> 16) | 0x40u;
    y[i].bits = static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}

bool is_half(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }

struct HalfTensor {
  int index;
  DType dtype;
  int64_t n;
  size_t at;  // in the workspace
};

struct HalfPlan : Prepared {
  Ref<Prepared> inner;
  LaunchFn launch = nullptr;
  size_t inputs = 0, outputs = 0;
  std::vector<HalfTensor> widened, narrowed;
};

// Widens the half-precision ones of `tensors` in place and says where they go.
size_t replace(std::vector<TensorInfo>& tensors, size_t at,
               std::vector<HalfTensor>& list) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    TensorInfo& t = tensors[i];
    if (!is_half(t.dtype)) continue;
    const int64_t n = t.shape.num_elements();
    list.push_back({static_cast<int>(i), t.dtype, n, at});
    at += (static_cast<size_t>(n) * sizeof(float) + 63) / 64 * 64;
    t.dtype = DType::kFloat32;
  }
  return at;
}

}  // namespace

Ref<Prepared> prepare_through_float(const Signature& s, PrepareFn prepare,
                                    LaunchFn launch) {
  std::vector<TensorInfo> inputs(s.inputs.begin(), s.inputs.end());
  std::vector<TensorInfo> outputs(s.outputs.begin(), s.outputs.end());
  if (inputs.size() > kMaxInputs || outputs.size() > kMaxOutputs) {
    throw InternalError("through_float: too many tensors for " + s.op->name);
  }
  auto* plan = new HalfPlan;
  Ref<Prepared> result(plan);
  size_t bytes = replace(inputs, 0, plan->widened);
  bytes = replace(outputs, bytes, plan->narrowed);
  Signature wide = s;
  wide.inputs = inputs;
  wide.outputs = outputs;
  plan->inner = prepare(wide);
  plan->launch = launch;
  plan->inputs = inputs.size();
  plan->outputs = outputs.size();
  plan->workspace_bytes = bytes + plan->inner->workspace_bytes;
  return result;
}

void launch_through_float(const Prepared& prepared, const LaunchArgs& args) {
  const auto& plan = static_cast<const HalfPlan&>(prepared);
  auto* workspace = static_cast<std::byte*>(args.workspace);
  void* inputs[kMaxInputs];
  void* outputs[kMaxOutputs];
  std::copy_n(args.inputs, plan.inputs, inputs);
  std::copy_n(args.outputs, plan.outputs, outputs);
  size_t used = 0;
  const auto end_of = [](const HalfTensor& t) {
    return t.at + (static_cast<size_t>(t.n) * sizeof(float) + 63) / 64 * 64;
  };
  for (const HalfTensor& t : plan.widened) {
    used = end_of(t);
    void*& slot = inputs[t.index];
    if (!slot) continue;  // absent, or only its shape is looked at
    auto* wide = reinterpret_cast<float*>(workspace + t.at);
    const void* from = slot;
    parallel_for(t.n, kConvertGrain, [&](int64_t b, int64_t e) {
      if (t.dtype == DType::kFloat16) {
        widen_halfs(static_cast<const float16*>(from) + b, wide + b, e - b);
      } else {
        widen_halfs(static_cast<const bfloat16*>(from) + b, wide + b, e - b);
      }
    });
    slot = wide;
  }
  for (const HalfTensor& t : plan.narrowed) {
    used = end_of(t);
    outputs[t.index] = workspace + t.at;
  }
  plan.launch(*plan.inner, {inputs, outputs, workspace + used, args.stream});
  for (const HalfTensor& t : plan.narrowed) {
    const auto* wide = reinterpret_cast<const float*>(workspace + t.at);
    void* to = args.outputs[t.index];
    parallel_for(t.n, kConvertGrain, [&](int64_t b, int64_t e) {
      if (t.dtype == DType::kFloat16) {
        narrow_to_halfs(wide + b, static_cast<float16*>(to) + b, e - b);
      } else {
        narrow_to_halfs(wide + b, static_cast<bfloat16*>(to) + b, e - b);
      }
    });
  }
}

}  // namespace tandem::cpu
