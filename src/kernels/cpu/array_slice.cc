// Slice, StridedSlice, SliceGrad, StridedSliceGrad, TensorStridedSliceUpdate. Any dtype.
#include "kernels/cpu/array_common.h"
#include "ops/array_common.h"
#include "ops/strided_slice.h"

namespace tandem::cpu {

namespace {

// A box of the large tensor against a small one that is contiguous.
struct BoxSteps {
  std::vector<int64_t> n, large, small;
  int64_t offset = 0;  // in the large tensor
};
BoxSteps box_steps(const Shape& large, const SliceBox& box) {
  BoxSteps b;
  const Ints steps = row_major(large);
  int64_t small = 1;
  for (size_t i = box.size.size(); i-- > 0;) {
    b.n.push_back(box.size[i]);
    b.large.push_back(box.stride[i] * steps[i]);
    b.small.push_back(small);
    small *= box.size[i];
    b.offset += box.begin[i] * steps[i];
  }
  return b;
}

StridedCopy from_box(DType dtype, const Shape& large, const SliceBox& box) {
  const BoxSteps b = box_steps(large, box);
  std::vector<CopyDim> dims;
  for (size_t i = 0; i < b.n.size(); ++i)
    dims.push_back({b.n[i], b.large[i], b.small[i]});
  return StridedCopy(dtype, dims, b.offset, 0);
}

// Negative strides are turned around: output steps of a copy are positive.
StridedCopy into_box(DType dtype, const Shape& large, const SliceBox& box,
                     std::vector<int64_t> small, int64_t small_offset = 0) {
  BoxSteps b = box_steps(large, box);
  std::vector<CopyDim> dims;
  for (size_t i = 0; i < b.n.size(); ++i) {
    int64_t step = b.large[i], from = small[i];
    if (step < 0 && b.n[i] > 0) {
      b.offset += (b.n[i] - 1) * step;
      small_offset += (b.n[i] - 1) * from;
      step = -step;
      from = -from;
    }
    dims.push_back({b.n[i], from, step});
  }
  return StridedCopy(dtype, dims, small_offset, b.offset);
}

SliceBox plain_box(const Signature& s) {
  return *resolve_plain_slice(s.in(0).shape, s.in(1), s.in(2), s.op->name);
}
SliceBox strided_box(const Signature& s, const Shape& large) {
  return *resolve_slice(
      large, {&s.in(1), &s.in(2), &s.in(3), s.attrs.as<StridedSliceAttrs>()}, s.op->name);
}

MovePlan prepare_slice(const Signature& s) {
  return {{from_box(s.in(0).dtype, s.in(0).shape, plain_box(s))}, 0};
}
MovePlan prepare_strided_slice(const Signature& s) {
  return {{from_box(s.in(0).dtype, s.in(0).shape, strided_box(s, s.in(0).shape))}, 0};
}
MovePlan prepare_slice_grad(const Signature& s) {
  const Shape &small = s.in(0).shape, &large = s.out().shape;
  SliceBox box;
  box.begin = *known_ints(s.in(1));
  box.size = Ints(small.dims());
  box.stride = Ints(box.size.size(), 1);
  const BoxSteps b = box_steps(large, box);
  return {{into_box(s.in(0).dtype, large, box, b.small)}, zeroed_bytes(s.out())};
}

// dy is input 4.
struct PlacePlan {
  StridedCopy copy;
  size_t zero_bytes;
};
PlacePlan prepare_strided_slice_grad(const Signature& s) {
  const SliceBox box = strided_box(s, s.out().shape);
  const BoxSteps b = box_steps(s.out().shape, box);
  return {into_box(s.out().dtype, s.out().shape, box, b.small), zeroed_bytes(s.out())};
}
void launch_strided_slice_grad(const PlacePlan& p, const LaunchArgs& a) {
  fill_zero(a.out<void>(), p.zero_bytes);
  p.copy.run(a.in<void>(4), a.out<void>());
}

struct SliceUpdatePlan {
  StridedCopy all, box;
};
SliceUpdatePlan prepare_slice_update(const Signature& s) {
  const Shape &in = s.in(0).shape, &value = s.in(4).shape;
  const SliceBox box = strided_box(s, in);
  // Steps of the value along the dimensions of the result of the slice, then of the box:
  // a dimension that shrinks away, or that the value lacks or has once, stays in place.
  const Ints steps = row_major(value);
  const Shape& final_shape = box.final_shape;
  std::vector<int64_t> along;
  for (int i = 0; i < final_shape.rank(); ++i) {
    const int v = i - (final_shape.rank() - value.rank());
    along.push_back(v < 0 || value[v] == 1 ? 0 : steps[static_cast<size_t>(v)]);
  }
  std::vector<int64_t> small(static_cast<size_t>(in.rank()), 0);
  for (size_t i = 0; i < box.order.size(); ++i) {
    if (box.order[i] >= 0)
      small[static_cast<size_t>(in.rank() - 1 - box.order[i])] = along[i];
  }
  return {StridedCopy::flat(s.in(0).dtype, in.num_elements()),
          into_box(s.in(0).dtype, in, box, small)};
}
void launch_slice_update(const SliceUpdatePlan& p, const LaunchArgs& a) {
  p.all.run(a.in<void>(0), a.out<void>());
  p.box.run(a.in<void>(4), a.out<void>());
}

}  // namespace

void register_array_slice_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_slice, launch_move>("Slice", "cpu.slice"));
  registry.add(make_kernel<prepare_strided_slice, launch_move>("StridedSlice",
                                                               "cpu.strided_slice"));
  registry.add(
      make_kernel<prepare_slice_grad, launch_move>("SliceGrad", "cpu.slice_grad"));
  registry.add(make_kernel<prepare_strided_slice_grad, launch_strided_slice_grad>(
      "StridedSliceGrad", "cpu.strided_slice_grad"));
  registry.add(make_kernel<prepare_slice_update, launch_slice_update>(
      "TensorStridedSliceUpdate", "cpu.strided_slice_update"));
}

}  // namespace tandem::cpu
