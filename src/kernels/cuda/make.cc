// Fill, ZerosLike, OnesLike, Empty: all but strings. Range: real numbers. LinSpace:
// floats. BiasAdd: all numbers.
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "kernels/common/one_element.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/move_plan.h"
#include "ops/array_range.h"
#include "ops/nn_geometry.h"
#include "tandem/ops/array.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::cuda {

std::string make_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("make.cuh"));
}

namespace {

StridedCopy prepare_fill(const Signature& s) {
  const CopyDim dims[] = {{s.out().shape.num_elements(), 0, 1}};
  return StridedCopy(s.device, element_of(s.out()), dims);
}
void launch_fill(const StridedCopy& p, const LaunchArgs& a) {
  p.run(*a.stream, a.in<void>(1), a.out<void>());
}

size_t prepare_zeros(const Signature& s) { return bytes_of(s.out()); }
size_t prepare_empty(const Signature& s) {
  return s.attrs.as<EmptyAttrs>().init ? bytes_of(s.out()) : 0;
}
void launch_zeros(const size_t& bytes, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.out<void>(), bytes);
}

struct OnesPlan {
  Function function;
  int64_t n = 0;
  OneElement one;
};
OnesPlan prepare_ones(const Signature& s) {
  return {find_function(s.device, s.op->name, make_text(s.out().dtype), "fill"),
          s.out().shape.num_elements(), one_element(s.out().dtype)};
}
void launch_ones(const OnesPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  void* out = a.outputs[0];
  int64_t n = p.n;
  OneElement one = p.one;
  void* arguments[] = {&out, one.bytes.data(), &n};
  launch_raw(p.function, *a.stream, grid_for(p.function, n), arguments);
}

struct RangePlan {
  Function function;
  RangeSpec spec;
  bool integers = false;
};
RangePlan prepare_range(const Signature& s) {
  RangePlan p;
  p.spec = *range_spec(s.inputs);
  p.integers = is_integer(s.out().dtype);
  p.function = find_function(s.device, s.op->name, make_text(s.out().dtype),
                             p.integers ? "range_ints" : "range_floats");
  return p;
}
void launch_range(const RangePlan& p, const LaunchArgs& a) {
  if (p.spec.n == 0) return;
  const Grid grid = grid_for(p.function, p.spec.n);
  if (p.integers) {
    launch(p.function, *a.stream, grid, a.outputs[0], p.spec.start, p.spec.delta,
           p.spec.n);
  } else {
    launch(p.function, *a.stream, grid, a.outputs[0], p.spec.start_f, p.spec.delta_f,
           p.spec.n);
  }
}

struct LinSpacePlan {
  Function function;
  int64_t total = 0, num = 0, inner = 1;
};
LinSpacePlan prepare_linspace(const Signature& s) {
  const auto& attrs = s.attrs.as<LinSpaceAttrs>();
  const Shape& out = s.out().shape;
  const int axis =
      static_cast<int>(attrs.axis < 0 ? attrs.axis + out.rank() : attrs.axis);
  return {find_function(s.device, s.op->name, make_text(s.out().dtype), "linspace"),
          out.num_elements(), attrs.num, out.slice(axis + 1, out.rank()).num_elements()};
}
void launch_linspace(const LinSpacePlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0], a.inputs[1],
         a.outputs[0], p.total, p.num, p.inner);
}

// The bias broadcasts over everything but the channels.
ElementwisePlan prepare_bias(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const int axis = nn::channel_axis(
      x.rank(), channels_first(s.attrs.as<nn::BiasAddAttrs>().data_format));
  std::vector<int64_t> bias(static_cast<size_t>(x.rank()), 1);
  bias[static_cast<size_t>(axis)] = x[axis];
  const Shape shapes[] = {x, Shape(bias)};
  const DType dtype = s.in(0).dtype;
  gpu_of(s).activate();
  return plan_elementwise(
      s.device, s.op->name,
      single_program(OpTable::get().at("AddV2"), {}, {dtype, dtype}, dtype), x, shapes);
}
void launch_bias(const ElementwisePlan& p, const LaunchArgs& a) {
  run_elementwise(p, *a.stream, a.inputs, a.outputs);
}

}  // namespace

void register_make(Kernels& kernels) {
  kernels.add(make_kernel<prepare_fill, launch_fill>("Fill", "cuda.fill", kPlain));
  kernels.add(make_kernel<prepare_zeros, launch_zeros>("ZerosLike", "cuda.zeros_like"));
  kernels.add(make_kernel<prepare_ones, launch_ones>("OnesLike", "cuda.ones_like"));
  kernels.add(make_kernel<prepare_empty, launch_zeros>("Empty", "cuda.empty"));
  kernels.add(make_kernel<prepare_range, launch_range>("Range", "cuda.range", kReals));
  kernels.add(make_kernel<prepare_linspace, launch_linspace>("LinSpace", "cuda.linspace",
                                                             kFloats));
  kernels.add(
      make_kernel<prepare_bias, launch_bias>("BiasAdd", "cuda.bias_add", kNumbers));
}

}  // namespace tandem::cuda
