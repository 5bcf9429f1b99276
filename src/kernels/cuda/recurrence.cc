// LinearRecurrence: floats and complex numbers. Shift: everything but strings.
#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/program.h"
#include "tandem/ops/reduce.h"

namespace tandem::cuda {

std::string recurrence_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("recurrence.cuh"));
}

namespace {

struct AxisPlan {
  Function function;
  int64_t outer = 1, n = 1, inner = 1;
  int32_t reverse = 0;
};
AxisPlan plan_axis(const Signature& s) {
  const auto& attrs = s.attrs.as<RecurrenceAttrs>();
  const Shape& x = s.in(0).shape;
  const int64_t axis = attrs.axis < 0 ? attrs.axis + x.rank() : attrs.axis;
  AxisPlan p;
  for (int i = 0; i < x.rank(); ++i) {
    (i < axis ? p.outer : i == axis ? p.n : p.inner) *= x[i];
  }
  p.reverse = attrs.reverse;
  return p;
}

AxisPlan prepare_recurrence(const Signature& s) {
  AxisPlan p = plan_axis(s);
  p.function = find_function(s.device, s.op->name, recurrence_text(s.in(0).dtype),
                             p.inner == 1 ? "recur_rows" : "recur");
  return p;
}
void launch_recurrence(const AxisPlan& p, const LaunchArgs& a) {
  if (p.outer * p.n * p.inner == 0) return;
  if (p.inner == 1) {
    const Grid grid{
        .x = static_cast<unsigned>(std::min<int64_t>((p.outer + 31) / 32, 1 << 20)),
        .threads = 32};
    launch(p.function, *a.stream, grid, a.inputs[0], a.inputs[1], a.outputs[0], p.outer,
           p.n, p.reverse);
    return;
  }
  launch(p.function, *a.stream, grid_for(p.function, p.outer * p.inner, 64), a.inputs[0],
         a.inputs[1], a.outputs[0], p.outer, p.n, p.inner, p.reverse);
}

AxisPlan prepare_shift(const Signature& s) {
  AxisPlan p = plan_axis(s);
  p.function =
      find_function(s.device, s.op->name, recurrence_text(s.in(0).dtype), "shift");
  return p;
}
void launch_shift(const AxisPlan& p, const LaunchArgs& a) {
  const int64_t n = p.outer * p.n * p.inner;
  if (n == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, n), a.inputs[0], a.outputs[0],
         p.outer, p.n, p.inner, p.reverse);
}

}  // namespace

void register_recurrence(Kernels& kernels) {
  kernels.add(make_kernel<prepare_recurrence, launch_recurrence>(
      "LinearRecurrence", "cuda.linear_recurrence", kFloats | kComplexes));
  kernels.add(make_kernel<prepare_shift, launch_shift>("Shift", "cuda.shift", kPlain));
}

}  // namespace tandem::cuda
