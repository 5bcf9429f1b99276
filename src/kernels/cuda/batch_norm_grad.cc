// FusedBatchNormGradV3 and the same with the gradient of the relu that came after, where
// channels come last and fill whole vectors: floats; half precision computes in float32.
// What is summed and what is applied are one pass each. norm.cc serves the rest.
#include <fmt/format.h>

#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "ops/fused_norms.h"

namespace tandem::cuda {

std::string batch_norm_grad_text(DType dtype, const NormGradForm& form) {
  static constexpr const char* kMasks[] = {"kNone", "kByX", "kByY"};
  return text_prefix(false) +
         fmt::format(
             "typedef {} T;\nconstexpr int kResident = {};\n"
             "enum Mask {{ kNone, kByX, kByY }};\nconstexpr Mask kMask = {};\n"
             "constexpr bool kTwo = {}, kKept = {};\n",
             type_text(dtype), resident_sums(dtype, form),
             kMasks[static_cast<int>(form.mask)], form.two, form.kept) +
         std::string(device_text("vectors.cuh")) +
         std::string(device_text("channel_rows.cuh")) +
         std::string(device_text("batch_norm_grad.cuh"));
}

namespace {

struct NormGradPlan : RowsPlan {
  NormGradForm form;
  double epsilon = 0;
  int training = 1;
};

bool has_norm_grad_end(const Signature& s) {
  return s.op->name == "FusedBatchNormGradEx";
}
nn::FusedBatchNormAttrs attrs_of_norm_grad(const Signature& s) {
  return has_norm_grad_end(s) ? s.attrs.as<FusedBatchNormGradExAttrs>().norm()
                              : s.attrs.as<nn::FusedBatchNormAttrs>();
}
bool norm_grad_rows_fit(const Signature& s) {
  return rows_fit(s.in(1), s.in(2), attrs_of_norm_grad(s).data_format);
}

NormGradForm norm_grad_form(const Signature& s) {
  if (!has_norm_grad_end(s)) return {};
  const auto has = [&](size_t i) {
    return s.inputs.size() > i && s.inputs[i].dtype != DType::kInvalid;
  };
  return {has(kNormGradY) ? NormMask::kByY : NormMask::kByX, has(kNormGradMore),
          s.attrs.as<FusedBatchNormGradExAttrs>().side};
}

NormGradPlan prepare_norm_grad_rows(const Signature& s) {
  const nn::FusedBatchNormAttrs attrs = attrs_of_norm_grad(s);
  const NormGradForm form = norm_grad_form(s);
  const TensorInfo& x = s.in(1);
  NormGradPlan p{plan_rows(s, x, attrs.data_format, resident_sums(x.dtype, form)), form,
                 attrs.epsilon, attrs.is_training};
  const std::string text = batch_norm_grad_text(x.dtype, form);
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, text, entry);
  };
  p.sums = find("gradient_sums");
  p.finish = find("finish_gradient");
  p.apply = find("normalise_by_x");
  return p;
}

void launch_norm_grad_rows(const NormGradPlan& p, const LaunchArgs& a) {
  void *const dy = a.inputs[0], *const x = a.inputs[1], *const scale = a.inputs[2];
  void *const mean = a.inputs[3], *const variance = a.inputs[4];
  void* const more = p.form.two ? a.inputs[kNormGradMore] : nullptr;
  void* const y = p.form.mask == NormMask::kByY ? a.inputs[kNormGradY] : nullptr;
  void* const offset =
      p.form.mask == NormMask::kByX ? a.inputs[kNormGradOffset] : nullptr;
  void* const kept = p.form.kept ? a.outputs[kNormGradSide] : nullptr;
  void* const numbers = static_cast<std::byte*>(a.workspace) + p.numbers_at;
  Rows r = p.sizes;
  r.aligned = all_aligned({dy, x, more, y, kept, a.outputs[0]});
  launch(p.sums, *a.stream, p.sum_grid, x, dy, more, y, kept, mean, variance, scale,
         offset, a.workspace, p.epsilon, r);
  launch(p.finish, *a.stream, p.finish_grid, a.workspace, variance, scale, a.outputs[1],
         a.outputs[2], numbers, p.epsilon, p.training, r);
  if (r.rows == 0) return;
  r.parts = p.apply_parts;
  launch(p.apply, *a.stream, p.apply_grid, p.form.kept ? kept : dy, y, x, mean, numbers,
         offset, a.outputs[0], r);
}

}  // namespace

void register_batch_norm_grad(Kernels& kernels) {
  kernels.add(make_kernel<prepare_norm_grad_rows, launch_norm_grad_rows>(
      "FusedBatchNormGradV3", "cuda.batch_norm_grad.rows", kFloats, norm_grad_rows_fit));
  kernels.add(make_kernel<prepare_norm_grad_rows, launch_norm_grad_rows>(
      "FusedBatchNormGradEx", "cuda.batch_norm_grad_ex.rows", kFloats,
      norm_grad_rows_fit));
}

}  // namespace tandem::cuda
