// IsotonicRegression, SegmentRunMean: float32, float64.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"

namespace tandem::cuda {

std::string monotone_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("monotone.cuh"));
}

namespace {

struct MonotonePlan {
  Function function;
  int64_t rows = 0, n = 0;
};
MonotonePlan plan_monotone(const Signature& s, const char* entry) {
  const Shape& x = s.in(0).shape;
  MonotonePlan p;
  p.n = x[x.rank() - 1];
  p.rows = p.n ? x.num_elements() / p.n : 0;
  p.function = find_function(s.device, s.op->name, monotone_text(s.in(0).dtype), entry);
  return p;
}
MonotonePlan prepare_fit(const Signature& s) { return plan_monotone(s, "fit_rows"); }
void launch_fit(const MonotonePlan& p, const LaunchArgs& a) {
  if (p.rows == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.rows, 32), a.inputs[0],
         a.outputs[0], a.outputs[1], p.rows, p.n);
}
MonotonePlan prepare_means(const Signature& s) { return plan_monotone(s, "run_means"); }
void launch_means(const MonotonePlan& p, const LaunchArgs& a) {
  if (p.rows == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.rows, 32), a.inputs[0],
         a.inputs[1], a.outputs[0], p.rows, p.n);
}

}  // namespace

void register_monotone(Kernels& kernels) {
  constexpr DTypeMask kWide = mask(DType::kFloat32, DType::kFloat64);
  kernels.add(make_kernel<prepare_fit, launch_fit>("IsotonicRegression",
                                                   "cuda.isotonic_regression", kWide));
  kernels.add(make_kernel<prepare_means, launch_means>("SegmentRunMean",
                                                       "cuda.segment_run_mean", kWide));
}

}  // namespace tandem::cuda
