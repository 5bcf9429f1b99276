// MatMul through oneDNN's gemm call, which has a third of the matmul primitive's overhead
// and is as fast for large sizes and faster for thin ones: float32, and float16 and
// bfloat16 through float32 where the primitive (matmul_primitive.cc) does not serve them.
#include <algorithm>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/parallel.h"
#include "kernels/cpu/math_libraries.h"
#include "kernels/cpu/matmul_plan.h"

namespace tandem::cpu {

namespace {

// ---- float32
// -----------------------------------------------------------------------------

void sgemm(const MatMulPlan& p, int64_t i, const float* a, const float* b, float* c) {
  const dnnl_status_t status = dnnl_sgemm(
      p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1.f,
      a + p.a_offset(i), p.lda, b + p.b_offset(i), p.ldb, 0.f, c + i * p.m * p.n, p.n);
  if (status != dnnl_success) {
    throw InternalError("MatMul: oneDNN's gemm failed (out of memory?)");
  }
}

void sgemm_batch(const MatMulPlan& p, const float* a, const float* b, float* c) {
  const double us = p.flops() / 5e4;  // of one product on one core
  if (p.batch == 1 || (p.batch < p.threads && us > 100)) {
    for (int64_t i = 0; i < p.batch; ++i) sgemm(p, i, a, b, c);
    return;
  }
  // Inside a parallel range oneDNN runs on the calling thread alone.
  const auto grain = static_cast<int64_t>(std::max(1.0, 20 / (us + 0.4)));
  parallel_for(p.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sgemm(p, i, a, b, c);
  });
}

void launch_gemm(const MatMulPlan& p, const LaunchArgs& args) {
  if (finish_trivial(p, args.out<float>())) return;
  sgemm_batch(p, args.in<float>(0), args.in<float>(1), args.out<float>());
}

// ---- Halves through float32
// --------------------------------------------------------------

struct WidenedPlan {
  MatMulPlan shape;
  int64_t a_size = 0, b_size = 0, c_size = 0;
  size_t workspace_bytes = 0;
};

WidenedPlan prepare_widened(const Signature& s) {
  WidenedPlan p;
  p.shape = plan_matmul(s);
  p.a_size = s.in(0).shape.num_elements();
  p.b_size = s.in(1).shape.num_elements();
  p.c_size = s.out().shape.num_elements();
  p.workspace_bytes = sizeof(float) * static_cast<size_t>(p.a_size + p.b_size + p.c_size);
  return p;
}

template <class From, class To>
void convert(const From* from, To* to, int64_t n) {
  parallel_for(n, 16384, [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) to[i] = To(static_cast<float>(from[i]));
  });
}

template <class T>
void launch_widened(const WidenedPlan& p, const LaunchArgs& args) {
  if (finish_trivial(p.shape, args.out<T>())) return;
  float* a = static_cast<float*>(args.workspace);
  float* b = a + p.a_size;
  float* c = b + p.b_size;
  convert(args.in<T>(0), a, p.a_size);
  convert(args.in<T>(1), b, p.b_size);
  sgemm_batch(p.shape, a, b, c);
  convert(c, args.out<T>(), p.c_size);
}

}  // namespace

void register_matmul_onednn(KernelRegistry& registry) {
  add_library_kernel(registry, make_kernel<&plan_matmul, &launch_gemm>(
                                   "MatMul", "cpu.matmul.gemm", mask(DType::kFloat32)));
  register_matmul_primitive(registry);
  add_library_kernel(registry,
                     make_kernel<&prepare_widened, &launch_widened<float16>>(
                         "MatMul", "cpu.matmul.widened.f16", mask(DType::kFloat16)));
  add_library_kernel(registry,
                     make_kernel<&prepare_widened, &launch_widened<bfloat16>>(
                         "MatMul", "cpu.matmul.widened.bf16", mask(DType::kBFloat16)));
}

}  // namespace tandem::cpu
