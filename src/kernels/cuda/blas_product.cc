#include "kernels/cuda/blas_product.h"

#include <complex>

#include "tandem/error.h"
#include "tandem/precision.h"

namespace tandem::cuda {

bool tf32_allowed() { return config::tensor_float_32_execution_enabled(); }

bool tile_tensor_cores(const CudaDevice& device, DType dtype) {
  constexpr int kFirst = 80;  // compute capability 8.0
  if (device.arch() < kFirst || dtype == DType::kFloat64) return false;
  return dtype != DType::kFloat32 || tf32_allowed();
}

namespace {

struct DescDelete {
  void operator()(cublasLtMatmulDescOpaque_t* d) const { cublas().desc_destroy(d); }
};
struct LayoutDelete {
  void operator()(cublasLtMatrixLayoutOpaque_t* l) const { cublas().layout_destroy(l); }
};
struct PreferenceDelete {
  void operator()(cublasLtMatmulPreferenceOpaque_t* p) const {
    cublas().preference_destroy(p);
  }
};
using Desc = std::shared_ptr<cublasLtMatmulDescOpaque_t>;
using Layout = std::shared_ptr<cublasLtMatrixLayoutOpaque_t>;

struct Types {
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
};

Types types_of(DType dtype) {
  const auto single = tf32_allowed() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  switch (dtype) {
    case DType::kFloat16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kBFloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kFloat32:
      return {CUDA_R_32F, CUDA_R_32F, single};
    case DType::kFloat64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kComplex64:
      return {CUDA_C_32F, CUDA_C_32F, single};
    default:
      return {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
  }
}

constexpr size_t kWorkspace = 32 << 20;
constexpr uint32_t kAligned = 16;
/// The library wants its workspace at multiples of this; plans place buffers less far
/// apart, so it asks for that much more and takes the first such place.
constexpr size_t kWorkspaceAligned = 256;

void* aligned_workspace(void* workspace) {
  const auto at = reinterpret_cast<uintptr_t>(workspace);
  return reinterpret_cast<void*>((at + kWorkspaceAligned - 1) & ~(kWorkspaceAligned - 1));
}

Layout make_layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t ld,
                   int64_t batch, int64_t stride) {
  cublasLtMatrixLayout_t raw = nullptr;
  check_blas(cublas().layout_create(&raw, type, static_cast<uint64_t>(rows),
                                    static_cast<uint64_t>(columns), ld),
             "describing a matrix");
  Layout layout(raw, LayoutDelete{});
  if (batch > 1) {
    const auto count = static_cast<int32_t>(batch);
    check_blas(cublas().layout_set(raw, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                   sizeof(count)),
               "describing a batch");
    check_blas(cublas().layout_set(raw, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                   &stride, sizeof(stride)),
               "describing a batch");
  }
  return layout;
}

cublasOperation_t operation(bool transpose, bool conjugate) {
  return conjugate ? CUBLAS_OP_C : transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// Nothing when the library has none for pointers of that alignment, or fewer proposals.
std::optional<cublasLtMatmulAlgo_t> choose(const BlasProduct& p, uint32_t alignment,
                                           int proposal, size_t* bytes) {
  const CublasApi& api = cublas();
  cublasLtMatmulPreference_t raw = nullptr;
  check_blas(api.preference_create(&raw), "choosing an algorithm");
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, PreferenceDelete> preference(
      raw);
  const size_t workspace = kWorkspace;
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t what, const void* value,
                       size_t size) {
    check_blas(api.preference_set(raw, what, value, size), "choosing an algorithm");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof(workspace));
  for (const auto what : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(what, &alignment, sizeof(alignment));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(proposal) + 1);
  int found = 0;
  check_blas(
      api.heuristic(p.handle, p.desc.get(), p.first.get(), p.second.get(), p.out.get(),
                    p.out.get(), raw, proposal + 1, results.data(), &found),
      "choosing an algorithm");
  if (found <= proposal) return std::nullopt;
  *bytes = results.back().workspaceSize;
  return results.back().algo;
}

/// False when the library has no algorithm for this end.
bool plan_for_end(BlasProduct& p, const Signature& s, const MatMulAttrs& attrs,
                  cublasLtEpilogue_t end, int proposal) {
  p.shape = matmul_geometry(s, attrs);
  const MatMulGeometry& m = p.shape;
  const DType dtype = s.in(0).dtype;
  p.element = dtype_size(dtype);
  p.is_double = dtype == DType::kFloat64 || dtype == DType::kComplex128;
  if (p.empty() || m.k == 0) return true;
  CudaDevice& device = gpu_of(s);
  p.handle = cublas_handle(device);
  device.activate();
  const Types t = types_of(dtype);
  cublasLtMatmulDesc_t raw = nullptr;
  check_blas(cublas().desc_create(&raw, t.compute, t.scale), "describing a product");
  p.desc = Desc(raw, DescDelete{});
  const auto set = [&](cublasLtMatmulDescAttributes_t what, const auto& value) {
    check_blas(cublas().desc_set(raw, what, &value, sizeof(value)),
               "describing a product");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, operation(m.transpose_b, m.conjugate_b));
  set(CUBLASLT_MATMUL_DESC_TRANSB, operation(m.transpose_a, m.conjugate_a));
  if (end != CUBLASLT_EPILOGUE_DEFAULT) set(CUBLASLT_MATMUL_DESC_EPILOGUE, end);
  p.bias = end & CUBLASLT_EPILOGUE_BIAS;
  // Irregular batches are one product each.
  const int64_t batch = m.regular() ? m.batch : 1;
  p.first = make_layout(t.data, m.transpose_b ? m.k : m.n, m.transpose_b ? m.n : m.k,
                        m.ldb, batch, m.b_stride);
  p.second = make_layout(t.data, m.transpose_a ? m.m : m.k, m.transpose_a ? m.k : m.m,
                         m.lda, batch, m.a_stride);
  p.out = make_layout(t.data, m.n, m.m, m.n, batch, m.m * m.n);
  p.unaligned = choose(p, static_cast<uint32_t>(p.element), 0, &p.unaligned_bytes);
  if (p.element < kAligned) p.aligned = choose(p, kAligned, proposal, &p.aligned_bytes);
  if (!p.aligned && proposal > 0) return false;
  if (!p.aligned) {
    p.aligned = p.unaligned;
    p.aligned_bytes = p.unaligned_bytes;
  }
  p.workspace_bytes = std::max(p.aligned_bytes, p.unaligned_bytes);
  if (p.workspace_bytes) p.workspace_bytes += kWorkspaceAligned - 1;
  return p.aligned.has_value();
}

}  // namespace

BlasProduct plan_product(const Signature& s, const MatMulAttrs& attrs, int proposal) {
  BlasProduct p;
  if (!plan_for_end(p, s, attrs, CUBLASLT_EPILOGUE_DEFAULT, proposal)) {
    throw UnimplementedError(
        s.op->name + ": cuBLASLt has no algorithm for this product; place it on the CPU");
  }
  return p;
}

std::optional<BlasProduct> plan_product(const Signature& s, const MatMulAttrs& attrs,
                                        cublasLtEpilogue_t end, int proposal) {
  std::optional<BlasProduct> p(std::in_place);
  if (!plan_for_end(*p, s, attrs, end, proposal)) p.reset();
  return p;
}

void run_product(const BlasProduct& p, const LaunchArgs& a, const void* bias) {
  const MatMulGeometry& m = p.shape;
  if (p.empty()) return;
  const auto bytes = static_cast<size_t>(m.batch * m.m * m.n) * p.element;
  if (m.k == 0) return fill_zeros(*a.stream, a.outputs[0], bytes);
  // Real and complex scales start with the same number.
  const std::complex<double> one_double = 1, zero_double = 0;
  const std::complex<float> one_float = 1, zero_float = 0;
  const void* one = p.is_double ? static_cast<const void*>(&one_double) : &one_float;
  const void* zero = p.is_double ? static_cast<const void*>(&zero_double) : &zero_float;
  // The bias' address is part of the description: a copy, since the plan is shared.
  cublasLtMatmulDescOpaque_t desc = *p.desc;
  if (p.bias) {
    check_blas(
        cublas().desc_set(&desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)),
        "describing a product");
  }
  void* const workspace = aligned_workspace(a.workspace);
  const auto size = static_cast<int64_t>(p.element);
  const int64_t calls = m.regular() ? 1 : m.batch;
  for (int64_t i = 0; i < calls; ++i) {
    const auto* x = a.in<std::byte>(0) + m.a_offset(i) * size;
    const auto* y = a.in<std::byte>(1) + m.b_offset(i) * size;
    auto* out = a.out<std::byte>() + i * m.m * m.n * size;
    const uint64_t together =
        reinterpret_cast<uint64_t>(x) | reinterpret_cast<uint64_t>(y) |
        reinterpret_cast<uint64_t>(out) | (p.bias ? reinterpret_cast<uint64_t>(bias) : 0);
    const bool aligned = together % kAligned == 0;
    if (!aligned && !p.unaligned) {
      throw UnimplementedError(
          "MatMul: cuBLASLt has no algorithm for operands that are views at odd offsets; "
          "copy them first");
    }
    check_blas(cublas().matmul(p.handle, &desc, one, y, p.first.get(), x, p.second.get(),
                               zero, out, p.out.get(), out, p.out.get(),
                               aligned ? &*p.aligned : &*p.unaligned, workspace,
                               aligned ? p.aligned_bytes : p.unaligned_bytes,
                               static_cast<cudaStream_t>(a.stream->native)),
               "multiplying matrices");
  }
}

}  // namespace tandem::cuda
