// FusedMatMul and FusedConv2D for every dtype: the plain op's kernel, then bias and
// activation over the result in place, each step rounded as by the separate ops.
#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/math_libraries.h"
#include "kernels/cpu/nn_register.h"
#include "op/kernel.h"
#include "ops/fused_products.h"
#include "ops/nn_geometry.h"

namespace tandem::cpu {

namespace {

struct StepsPlan {
  Ref<Prepared> product;
  const Kernel* kernel = nullptr;
  Epilogue epilogue;
  EpilogueShape shape;
  size_t workspace_bytes = 0;
};

/// The kernel of `op` that the registry prefers, on the first two inputs.
template <class A>
StepsPlan prepare_steps(const Signature& s, const char* op, const A& attrs) {
  Signature plain = s;
  plain.op = &OpTable::get().at(op);
  plain.attrs = attrs_ref(attrs);
  plain.inputs = s.inputs.first(2);
  StepsPlan p;
  p.kernel = KernelRegistry::get().choose(plain, kHostPlatform);
  if (!p.kernel) throw InternalError(s.op->name + ": no kernel of " + op);
  p.product = p.kernel->prepare(plain);
  p.workspace_bytes = p.product->workspace_bytes;
  return p;
}

StepsPlan prepare_matmul_steps(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedMatMulAttrs>();
  StepsPlan p = prepare_steps(s, "MatMul", attrs.product());
  p.epilogue = plan_epilogue(s.out().dtype, attrs.activation, attrs.alpha, has_bias(s));
  const Shape& out = s.out().shape;
  p.shape = {out.slice(0, out.rank() - 1).num_elements(), out.dim(-1), 1};
  return p;
}

StepsPlan prepare_conv_steps(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedConvAttrs>();
  StepsPlan p = prepare_steps(s, "Conv2D", attrs.convolution());
  p.epilogue = plan_epilogue(s.out().dtype, attrs.activation, attrs.alpha, has_bias(s));
  const Shape& out = s.out().shape;
  const int axis = nn::channel_axis(out.rank(), channels_first(attrs.data_format));
  p.shape = {out.slice(0, axis).num_elements(), out[axis],
             out.slice(axis + 1, out.rank()).num_elements()};
  return p;
}

void launch_steps(const StepsPlan& p, const LaunchArgs& args) {
  p.kernel->launch(*p.product, args);
  apply_epilogue(p.epilogue, p.shape, args.outputs[0],
                 p.epilogue.bias ? args.inputs[2] : nullptr);
}

}  // namespace

void register_fused_steps_kernels(KernelRegistry& registry) {
  add_library_kernel(registry, make_kernel<&prepare_matmul_steps, &launch_steps>(
                                   "FusedMatMul", "cpu.fused_matmul.steps"));
  add_library_kernel(registry, make_kernel<&prepare_conv_steps, &launch_steps>(
                                   "FusedConv2D", "cpu.fused_conv2d.steps"));
}

}  // namespace tandem::cpu
