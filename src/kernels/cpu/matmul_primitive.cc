// MatMul and FusedMatMul through oneDNN's matmul primitive: float16 and bfloat16 where
// the processor computes them, and large float32 products with an end that runs inside.
#include <algorithm>
#include <string_view>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/math_libraries.h"
#include "kernels/cpu/matmul_plan.h"
#include "kernels/cpu/nn_onednn.h"
#include "ops/fused_products.h"

namespace tandem::cpu {

namespace {

struct PrimitivePlan {
  dnnl::matmul primitive;
  dnnl::memory::desc a, b, c, bias, scratch;
  bool bias_given = false;
  Epilogue rest;  // what the primitive does not do
  EpilogueShape result;
  size_t workspace_bytes = 0;
};

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

dnnl::matmul::primitive_desc describe_primitive(const MatMulPlan& p, DType dtype,
                                                const onednn::End& end = {}) {
  const auto type = onednn::data_type(dtype);
  const dnnl::primitive_attr attr = end.attr();
  const auto a = describe(p, &BatchDim::in_a, type, p.m, p.k, p.transpose_a);
  const auto b = describe(p, &BatchDim::in_b, type, p.k, p.n, p.transpose_b);
  const auto c = describe(p, nullptr, type, p.m, p.n, false);
  if (!end.bias) return {onednn::engine(), a, b, c, attr, /*allow_empty=*/true};
  dnnl::memory::dims dims(p.batch_dims.size() + 2, 1), strides(dims.size(), p.n);
  dims.back() = p.n;
  strides.back() = 1;
  return {onednn::engine(), a, b, dnnl::memory::desc(dims, type, strides), c, attr, true};
}

// Without AMX, oneDNN multiplies bfloat16 matrices at half the rate of float32 ones;
// converting them pays unless each element is used only a few times.
bool better_widened(const MatMulPlan& p, DType dtype) {
  constexpr int64_t kThin = 16;
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto amx = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  return dtype == DType::kBFloat16 && (isa & amx) != amx && std::min(p.m, p.n) > kThin;
}

bool is_fast(const MatMulPlan& p, DType dtype) {
  if (p.empty() || p.k == 0 || better_widened(p, dtype)) return false;
  const auto d = describe_primitive(p, dtype);
  return d && std::string_view(d.impl_info_str()).substr(0, 3) != "ref";
}
bool primitive_is_fast(const Signature& s) {
  return is_fast(plan_matmul(s), s.in(0).dtype);
}

onednn::End end_of(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  return {has_bias(s), attrs.activation, attrs.alpha};
}
bool fused_is_fast(const Signature& s) {
  const DType dtype = s.in(0).dtype;
  // A pass over the result that follows anyway may as well add the bias: gemm is faster.
  if (dtype == DType::kFloat32 && !end_of(s).complete()) return false;
  return is_fast(plan_product(s, s.attrs.as<FusedMatMulAttrs>().product()), dtype);
}

PrimitivePlan plan_of_primitive(const dnnl::matmul::primitive_desc& d) {
  PrimitivePlan p;
  p.primitive = dnnl::matmul(d);
  p.a = d.src_desc();
  p.b = d.weights_desc();
  p.c = d.dst_desc();
  p.bias = d.bias_desc();
  p.scratch = d.scratchpad_desc();
  p.workspace_bytes = p.scratch.get_size();
  return p;
}

PrimitivePlan prepare_primitive(const Signature& s) {
  return plan_of_primitive(describe_primitive(plan_matmul(s), s.in(0).dtype));
}

PrimitivePlan prepare_fused_primitive(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  const MatMulPlan shape = plan_product(s, attrs.product());
  const onednn::End end = end_of(s);
  PrimitivePlan p = plan_of_primitive(describe_primitive(shape, s.in(0).dtype, end));
  p.bias_given = end.bias;
  p.rest = plan_epilogue(s.out().dtype, end.complete() ? "" : end.activation, end.alpha,
                         false);
  p.result = {shape.batch * shape.m, shape.n, 1};
  return p;
}

void launch_primitive(const PrimitivePlan& p, const LaunchArgs& args) {
  const auto memory = [](const dnnl::memory::desc& desc, void* data) {
    return dnnl::memory(desc, onednn::engine(), data);
  };
  // oneDNN does not write to sources.
  std::unordered_map<int, dnnl::memory> memories = {
      {DNNL_ARG_SRC, memory(p.a, args.inputs[0])},
      {DNNL_ARG_WEIGHTS, memory(p.b, args.inputs[1])},
      {DNNL_ARG_DST, memory(p.c, args.outputs[0])},
      {DNNL_ARG_SCRATCHPAD, memory(p.scratch, args.workspace)}};
  if (p.bias_given) memories.emplace(DNNL_ARG_BIAS, memory(p.bias, args.inputs[2]));
  p.primitive.execute(onednn::stream(), memories);
  apply_epilogue(p.rest, p.result, args.outputs[0], nullptr);
}

}  // namespace

void register_matmul_primitive(KernelRegistry& registry) {
  constexpr DTypeMask kTypes = kHalfs | mask(DType::kFloat32);
  add_library_kernel(registry,
                     make_kernel<&prepare_primitive, &launch_primitive>(
                         "MatMul", "cpu.matmul.onednn", kTypes, primitive_is_fast));
  add_library_kernel(
      registry, make_kernel<&prepare_fused_primitive, &launch_primitive>(
                    "FusedMatMul", "cpu.fused_matmul.onednn", kTypes, fused_is_fast));
}

}  // namespace tandem::cpu
