// Slice, StridedSlice, their gradients, TensorStridedSliceUpdate, Pad, PadV2. Any dtype
// but strings.
#include "kernels/cuda/move_plan.h"
#include "ops/array_common.h"
#include "ops/strided_slice.h"

namespace tandem::cuda {

namespace {

// The box of a large tensor against a small, contiguous one; `steps` of the small one.
std::vector<CopyDim> box_dims(const SliceBox& box, const Ints& large, const Ints& small,
                              bool from_large, int64_t* offset) {
  std::vector<CopyDim> dims;
  *offset = 0;
  for (size_t i = 0; i < box.size.size(); ++i) {
    const int64_t step = box.stride[i] * large[i];
    dims.push_back(from_large ? CopyDim{box.size[i], step, small[i]}
                              : CopyDim{box.size[i], small[i], step});
    *offset += box.begin[i] * large[i];
  }
  return dims;
}
Ints box_steps(const SliceBox& box) {
  Ints steps(box.size.size(), 1);
  for (size_t i = box.size.size(); i-- > 1;) steps[i - 1] = steps[i] * box.size[i];
  return steps;
}
StridedCopy from_box(const Signature& s, const Shape& large, const SliceBox& box) {
  int64_t offset = 0;
  const auto dims = box_dims(box, row_major(large), box_steps(box), true, &offset);
  return StridedCopy(s.device, element_of(s.out()), dims, offset, 0);
}
StridedCopy into_box(const Signature& s, const Shape& large, const SliceBox& box,
                     const Ints& small) {
  int64_t offset = 0;
  const auto dims = box_dims(box, row_major(large), small, false, &offset);
  return StridedCopy(s.device, element_of(s.out()), dims, 0, offset);
}
SliceBox strided_box(const Signature& s, const Shape& large) {
  return *resolve_slice(
      large, {&s.in(1), &s.in(2), &s.in(3), s.attrs.as<StridedSliceAttrs>()}, s.op->name);
}

MovePlan prepare_slice(const Signature& s) {
  const Shape& in = s.in(0).shape;
  return {{from_box(s, in, *resolve_plain_slice(in, s.in(1), s.in(2), s.op->name))}, 0};
}
MovePlan prepare_strided_slice(const Signature& s) {
  return {{from_box(s, s.in(0).shape, strided_box(s, s.in(0).shape))}, 0};
}
MovePlan prepare_slice_grad(const Signature& s) {
  SliceBox box;
  box.begin = *known_ints(s.in(1));
  box.size = Ints(s.in(0).shape.dims());
  box.stride = Ints(box.size.size(), 1);
  return {{into_box(s, s.out().shape, box, box_steps(box))}, bytes_of(s.out())};
}

struct PlacePlan {
  StridedCopy all, box;
  size_t zero_bytes = 0;
};
PlacePlan prepare_strided_slice_grad(const Signature& s) {
  const SliceBox box = strided_box(s, s.out().shape);
  return {{}, into_box(s, s.out().shape, box, box_steps(box)), bytes_of(s.out())};
}
PlacePlan prepare_update(const Signature& s) {
  const Shape &in = s.in(0).shape, &value = s.in(4).shape;
  const SliceBox box = strided_box(s, in);
  // A dimension that shrinks away, or that the value lacks or has once, stays in place.
  const Ints steps = row_major(value);
  Ints small(static_cast<size_t>(in.rank()), 0);
  for (size_t i = 0; i < box.order.size(); ++i) {
    if (box.order[i] < 0) continue;
    const int v = static_cast<int>(i) - (box.final_shape.rank() - value.rank());
    if (v >= 0 && value[v] != 1) {
      small[static_cast<size_t>(box.order[i])] = steps[static_cast<size_t>(v)];
    }
  }
  return {StridedCopy::flat(s.device, element_of(s.in(0)), in.num_elements()),
          into_box(s, in, box, small), 0};
}
void launch_place(const PlacePlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.out<void>(), p.zero_bytes);
  if (!p.zero_bytes) p.all.run(*a.stream, a.in<void>(0), a.out<void>());
  p.box.run(*a.stream, a.in<void>(4), a.out<void>());
}

struct PadPlan {
  StridedCopy center, fill;
  size_t zero_bytes = 0;
};
PadPlan prepare_pad(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints paddings = *known_ints(s.in(1));
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  std::vector<CopyDim> dims;
  int64_t offset = 0;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({in[i], in_steps[k], out_steps[k]});
    offset += paddings[2 * k] * out_steps[k];
  }
  PadPlan p;
  p.center = StridedCopy(s.device, element_of(s.in(0)), dims, 0, offset);
  if (s.op->name == "PadV2") {
    const CopyDim all[] = {{out.num_elements(), 0, 1}};
    p.fill = StridedCopy(s.device, element_of(s.in(0)), all);
  } else {
    p.zero_bytes = bytes_of(s.out());
  }
  return p;
}
void launch_pad(const PadPlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.out<void>(), p.zero_bytes);
  p.center.run(*a.stream, a.in<void>(0), a.out<void>());
}
void launch_pad_value(const PadPlan& p, const LaunchArgs& a) {
  p.fill.run(*a.stream, a.in<void>(2), a.out<void>());
  p.center.run(*a.stream, a.in<void>(0), a.out<void>());
}

}  // namespace

void register_move_slices(Kernels& kernels) {
  kernels.add(make_kernel<prepare_slice, launch_move>("Slice", "cuda.slice", kPlain));
  kernels.add(make_kernel<prepare_strided_slice, launch_move>(
      "StridedSlice", "cuda.strided_slice", kPlain));
  kernels.add(make_kernel<prepare_slice_grad, launch_move>("SliceGrad", "cuda.slice_grad",
                                                           kPlain));
  kernels.add(make_kernel<prepare_strided_slice_grad, launch_place>(
      "StridedSliceGrad", "cuda.strided_slice_grad", kPlain));
  kernels.add(make_kernel<prepare_update, launch_place>(
      "TensorStridedSliceUpdate", "cuda.strided_slice_update", kPlain));
  kernels.add(make_kernel<prepare_pad, launch_pad>("Pad", "cuda.pad", kPlain));
  kernels.add(make_kernel<prepare_pad, launch_pad_value>("PadV2", "cuda.pad_v2", kPlain));
}

}  // namespace tandem::cuda
