// Repeat: any dtype but strings, by element size. RepeatGrad: all numbers.
#include <fmt/format.h>

#include "kernels/cuda/host_words.h"
#include "kernels/cuda/move_plan.h"
#include "kernels/cuda/scatter.h"
#include "kernels/cuda/sorted_segments.h"
#include "kernels/cuda/wide_elements.h"
#include "ops/array_common.h"
#include "tandem/ops/array.h"

namespace tandem::cuda {

std::string repeat_text(size_t element) {
  return copy_prefix(element, true) + std::string(device_text("repeat.cuh"));
}

namespace {

/// A tensor [outer, n, inner] whose slices along the axis have counts.
struct RepeatSlices {
  int64_t outer = 1, n = 0, inner = 1;
  Ints counts;  // one for all, or one for each; none below 0
};
RepeatSlices slices_of(const Signature& s, const Shape& shape) {
  const int64_t given = s.attrs.as<AxisAttrs>().axis;
  const auto axis = static_cast<int>(given < 0 ? given + shape.rank() : given);
  RepeatSlices r{dim_product(shape, 0, axis), shape[axis],
                 dim_product(shape, axis + 1, shape.rank()), *known_ints(s.in(1))};
  for (int64_t& c : r.counts) c = std::max<int64_t>(c, 0);
  return r;
}
std::vector<int64_t> starts_of(const RepeatSlices& slices) {
  std::vector<int64_t> starts = {0};
  for (int64_t c : slices.counts) starts.push_back(starts.back() + c);
  return starts;
}

struct RepeatPlan {
  StridedCopy even;  // one count for all
  bool is_even = false;
  WideFunction function;
  HostWords starts;
  int64_t elements = 0, n = 0, total = 0, inner = 1;
  size_t workspace_bytes = 0;
};
RepeatPlan prepare_repeat(const Signature& s) {
  const RepeatSlices r = slices_of(s, s.in(0).shape);
  const size_t element = element_of(s.in(0));
  RepeatPlan p;
  p.is_even = r.counts.size() == 1;
  if (p.is_even) {
    const int64_t times = r.counts[0];
    const CopyDim dims[] = {{r.outer, r.n * r.inner, r.n * times * r.inner},
                            {r.n, r.inner, times * r.inner},
                            {times, 0, r.inner},
                            {r.inner, 1, 1}};
    p.even = StridedCopy(s.device, element, dims);
    return p;
  }
  p.elements = s.out().shape.num_elements();
  if (p.elements == 0) return p;
  p.n = r.n;
  p.inner = r.inner;
  const std::vector<int64_t> starts = starts_of(r);
  p.total = starts.back();
  p.starts = HostWords(s.device, starts);
  p.workspace_bytes = p.starts.bytes();
  p.function = WideFunction::find(s, element, r.inner, "repeat", repeat_text);
  return p;
}
void launch_repeat(const RepeatPlan& p, const LaunchArgs& a) {
  if (p.is_even) return p.even.run(*a.stream, a.inputs[0], a.outputs[0]);
  if (p.elements == 0) return;
  auto* starts = static_cast<int64_t*>(a.workspace);
  p.starts.run(*a.stream, starts);
  const bool wide = p.function.fits(a.inputs[0], a.outputs[0]);
  const int64_t times = wide ? p.function.times : 1;
  const Function& f = wide ? p.function.wide : p.function.narrow;
  launch(f, *a.stream, grid_for(f, p.elements / times), a.inputs[0], a.outputs[0], starts,
         p.elements / times, p.n, p.total, p.inner / times);
}

struct RepeatGradPlan {
  Function function;
  HostWords starts;
  SegmentArgs args;
  int64_t rows = 0;
  size_t workspace_bytes = 0;
};
RepeatGradPlan prepare_repeat_grad(const Signature& s) {
  const RepeatSlices r = slices_of(s, s.out().shape);
  RepeatGradPlan p;
  p.args.outer = r.outer;
  p.args.segments = r.n;
  p.args.inner = r.inner;
  if (s.out().shape.num_elements() == 0) return p;
  if (r.counts.size() == 1) {
    p.args.times = r.counts[0];
    p.rows = r.n * p.args.times;
  } else {
    const std::vector<int64_t> starts = starts_of(r);
    p.rows = starts.back();
    p.starts = HostWords(s.device, starts);
    p.workspace_bytes = p.starts.bytes();
  }
  p.args.n = p.rows;
  p.function =
      find_function(s.device, s.op->name,
                    segments_text("Sum", s.out().dtype, DType::kInt64, DType::kInt64),
                    "reduce_segments");
  return p;
}
void launch_repeat_grad(const RepeatGradPlan& p, const LaunchArgs& a) {
  SegmentArgs args = p.args;
  args.x = a.inputs[0];
  args.out = a.outputs[0];
  if (p.workspace_bytes) {
    auto* starts = static_cast<int64_t*>(a.workspace);
    p.starts.run(*a.stream, starts);
    args.starts = starts;
  }
  run_segments(p.function, *a.stream, args, p.rows);
}

}  // namespace

void register_repeat(Kernels& kernels) {
  kernels.add(
      make_kernel<prepare_repeat, launch_repeat>("Repeat", "cuda.repeat", kPlain));
  kernels.add(make_kernel<prepare_repeat_grad, launch_repeat_grad>(
      "RepeatGrad", "cuda.repeat_grad", kNumbers));
}

}  // namespace tandem::cuda
