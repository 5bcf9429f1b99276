// CheckNumerics: floats. What is found is reported when all numbers have been looked at,
// so that the words are the CPU's.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "tandem/ops/array.h"

namespace tandem::cuda {

std::string check_numerics_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("check_numerics.cuh"));
}

namespace {

struct CheckPlan {
  Function find, report;
  int64_t n = 0;
  size_t bytes = 0;
  std::shared_ptr<ErrorSite> site;
  size_t workspace_bytes = sizeof(int32_t);  // what was found
};
CheckPlan prepare_check(const Signature& s) {
  CheckPlan p;
  p.n = s.in(0).shape.num_elements();
  p.bytes = static_cast<size_t>(p.n) * dtype_size(s.in(0).dtype);
  const std::string text = check_numerics_text(s.in(0).dtype);
  p.find = find_function(s.device, s.op->name, text, "find_bad");
  p.report = find_function(s.device, s.op->name, text, "report_found");
  p.site = std::make_shared<ErrorSite>(
      [message = s.attrs.as<MessageAttrs>().message](const Report& r) {
        return fmt::format("{} : Tensor had {} values [Op:CheckNumerics]", message,
                           r.code == 3   ? "Inf and NaN"
                           : r.code == 1 ? "Inf"
                                         : "NaN");
      });
  return p;
}
void launch_check(const CheckPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  fill_zeros(*a.stream, a.workspace, sizeof(int32_t));
  launch(p.find, *a.stream, grid_for(p.find, p.n), a.inputs[0], p.n, a.workspace);
  launch(p.report, *a.stream, {.threads = 1}, a.workspace, flags_of(a), p.site->id());
  if (a.outputs[0] != a.inputs[0]) {
    copy_bytes(*a.stream, a.outputs[0], a.inputs[0], p.bytes);
  }
}

}  // namespace

void register_check_numerics(Kernels& kernels) {
  kernels.add(make_kernel<prepare_check, launch_check>("CheckNumerics",
                                                       "cuda.check_numerics", kFloats));
}

}  // namespace tandem::cuda
