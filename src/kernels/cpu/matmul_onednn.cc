// MatMul through oneDNN. float32 goes to its gemm call, which has a third of the matmul
// primitive's overhead and is as fast for large sizes and faster for thin ones; float16
// and bfloat16 to the primitive, or through float32 where the processor has no
// instructions for them.
#include <algorithm>
#include <string_view>

#include <oneapi/dnnl/dnnl.hpp>

#include "base/parallel.h"
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

// ---- The matmul primitive
// ----------------------------------------------------------------

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

struct PrimitivePlan {
  MatMulPlan shape;
  dnnl::matmul primitive;
  dnnl::memory::desc a, b, c, scratch;
  size_t workspace_bytes = 0;
};

dnnl::memory::data_type data_type(DType t) {
  return t == DType::kFloat16    ? dnnl::memory::data_type::f16
         : t == DType::kBFloat16 ? dnnl::memory::data_type::bf16
                                 : dnnl::memory::data_type::f32;
}

// `member`: which operand; null for the result, which has every batch dimension.
dnnl::memory::desc describe(const MatMulPlan& p, bool BatchDim::* member,
                            dnnl::memory::data_type type, int64_t rows, int64_t columns,
                            bool transposed) {
  dnnl::memory::dims dims, strides(p.batch_dims.size() + 2);
  for (const BatchDim& d : p.batch_dims) {
    dims.push_back(!member || d.*member ? d.size : 1);
  }
  dims.push_back(rows);
  dims.push_back(columns);
  int64_t step = rows * columns;
  for (size_t i = p.batch_dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[p.batch_dims.size()] = transposed ? 1 : columns;
  strides[p.batch_dims.size() + 1] = transposed ? rows : 1;
  return {dims, type, strides};
}

dnnl::matmul::primitive_desc describe_primitive(const MatMulPlan& p, DType dtype) {
  const auto type = data_type(dtype);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return dnnl::matmul::primitive_desc(
      engine(), describe(p, &BatchDim::in_a, type, p.m, p.k, p.transpose_a),
      describe(p, &BatchDim::in_b, type, p.k, p.n, p.transpose_b),
      describe(p, nullptr, type, p.m, p.n, false), attr, /*allow_empty=*/true);
}

// Without AMX, oneDNN multiplies bfloat16 matrices at half the rate of float32 ones;
// converting them pays unless each element is used only a few times.
bool better_widened(const MatMulPlan& p, DType dtype) {
  constexpr int64_t kThin = 16;
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto amx = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  return dtype == DType::kBFloat16 && (isa & amx) != amx && std::min(p.m, p.n) > kThin;
}

bool primitive_is_fast(const Signature& s) {
  const MatMulPlan p = plan_matmul(s);
  if (p.empty() || p.k == 0 || better_widened(p, s.in(0).dtype)) return false;
  const auto d = describe_primitive(p, s.in(0).dtype);
  return d && std::string_view(d.impl_info_str()).substr(0, 3) != "ref";
}

PrimitivePlan prepare_primitive(const Signature& s) {
  PrimitivePlan p;
  p.shape = plan_matmul(s);
  const auto d = describe_primitive(p.shape, s.in(0).dtype);
  p.primitive = dnnl::matmul(d);
  p.a = d.src_desc();
  p.b = d.weights_desc();
  p.c = d.dst_desc();
  p.scratch = d.scratchpad_desc();
  p.workspace_bytes = p.scratch.get_size();
  return p;
}

void launch_primitive(const PrimitivePlan& p, const LaunchArgs& args) {
  thread_local dnnl::stream stream(engine());
  // oneDNN does not write to sources.
  p.primitive.execute(
      stream, {{DNNL_ARG_SRC, dnnl::memory(p.a, engine(), args.inputs[0])},
               {DNNL_ARG_WEIGHTS, dnnl::memory(p.b, engine(), args.inputs[1])},
               {DNNL_ARG_DST, dnnl::memory(p.c, engine(), args.outputs[0])},
               {DNNL_ARG_SCRATCHPAD, dnnl::memory(p.scratch, engine(), args.workspace)}});
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

void add(KernelRegistry& registry, Kernel kernel) {
  kernel.library_threads = true;
  registry.add(std::move(kernel));
}

}  // namespace

void register_matmul_onednn(KernelRegistry& registry) {
  add(registry, make_kernel<&plan_matmul, &launch_gemm>("MatMul", "cpu.matmul.gemm",
                                                        mask(DType::kFloat32)));
  add(registry, make_kernel<&prepare_primitive, &launch_primitive>(
                    "MatMul", "cpu.matmul.onednn", kHalfs | mask(DType::kFloat32),
                    primitive_is_fast));
  add(registry, make_kernel<&prepare_widened, &launch_widened<float16>>(
                    "MatMul", "cpu.matmul.widened.f16", mask(DType::kFloat16)));
  add(registry, make_kernel<&prepare_widened, &launch_widened<bfloat16>>(
                    "MatMul", "cpu.matmul.widened.bf16", mask(DType::kBFloat16)));
}

}  // namespace tandem::cpu
