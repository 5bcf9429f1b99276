// ConcatV2, Pack, Split, SplitV, SplitLike, Unpack: one strided copy per part. Any dtype.
#include "kernels/cpu/array_common.h"
#include "tandem/ops/array.h"

namespace tandem::cpu {

namespace {

// One copy per part between it and the whole.
struct PartsPlan {
  std::vector<StridedCopy> copies;
};

// A part of `n` entries along the axis beside a whole of `total`, at entry `at`.
struct AxisPart {
  int64_t outer, inner, n, total, at;
};
StridedCopy into_whole(DType dtype, const AxisPart& p) {
  const CopyDim dims[] = {{p.outer, p.n * p.inner, p.total * p.inner},
                          {p.n * p.inner, 1, 1}};
  return StridedCopy(dtype, dims, 0, p.at * p.inner);
}
StridedCopy out_of_whole(DType dtype, const AxisPart& p) {
  const CopyDim dims[] = {{p.outer, p.total * p.inner, p.n * p.inner},
                          {p.n * p.inner, 1, 1}};
  return StridedCopy(dtype, dims, p.at * p.inner, 0);
}

int axis_of(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

AxisPart axis_part(const Shape& whole, int axis) {
  return {whole.slice(0, axis).num_elements(),
          whole.slice(axis + 1, whole.rank()).num_elements(), 0, whole[axis], 0};
}

PartsPlan prepare_concat(const Signature& s) {
  const Shape& whole = s.out().shape;
  const int axis = axis_of(s.attrs.as<AxisAttrs>().axis, whole.rank());
  AxisPart part = axis_part(whole, axis);
  PartsPlan plan;
  for (const TensorInfo& in : s.inputs) {
    part.n = in.shape[axis];
    plan.copies.push_back(into_whole(in.dtype, part));
    part.at += part.n;
  }
  return plan;
}
PartsPlan prepare_pack(const Signature& s) {
  const Shape& whole = s.out().shape;
  AxisPart part = axis_part(whole, axis_of(s.attrs.as<AxisAttrs>().axis, whole.rank()));
  part.n = 1;
  PartsPlan plan;
  for (const TensorInfo& in : s.inputs) {
    plan.copies.push_back(into_whole(in.dtype, part));
    ++part.at;
  }
  return plan;
}
void launch_join(const PartsPlan& p, const LaunchArgs& a) {
  for (size_t i = 0; i < p.copies.size(); ++i) {
    p.copies[i].run(a.in<void>(static_cast<int>(i)), a.out<void>());
  }
}

PartsPlan cut(const Signature& s, int64_t given_axis) {
  const Shape& whole = s.in(0).shape;
  const int axis = axis_of(given_axis, whole.rank());
  AxisPart part = axis_part(whole, axis);
  PartsPlan plan;
  for (const TensorInfo& out : s.outputs) {
    part.n = out.shape[axis];
    plan.copies.push_back(out_of_whole(out.dtype, part));
    part.at += part.n;
  }
  return plan;
}
PartsPlan prepare_split(const Signature& s) {
  return cut(s, s.attrs.as<SplitAttrs>().axis);
}
PartsPlan prepare_split_v(const Signature& s) {
  return cut(s, s.attrs.as<SplitVAttrs>().axis);
}
PartsPlan prepare_split_like(const Signature& s) {
  return cut(s, s.attrs.as<AxisAttrs>().axis);
}
PartsPlan prepare_unpack(const Signature& s) {
  const Shape& whole = s.in(0).shape;
  AxisPart part = axis_part(whole, axis_of(s.attrs.as<UnpackAttrs>().axis, whole.rank()));
  part.n = 1;
  PartsPlan plan;
  for (const TensorInfo& out : s.outputs) {
    plan.copies.push_back(out_of_whole(out.dtype, part));
    ++part.at;
  }
  return plan;
}
void launch_cut(const PartsPlan& p, const LaunchArgs& a) {
  for (size_t i = 0; i < p.copies.size(); ++i) {
    p.copies[i].run(a.in<void>(0), a.out<void>(static_cast<int>(i)));
  }
}

}  // namespace

void register_array_join_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_concat, launch_join>("ConcatV2", "cpu.concat"));
  registry.add(make_kernel<prepare_pack, launch_join>("Pack", "cpu.pack"));
  registry.add(make_kernel<prepare_split, launch_cut>("Split", "cpu.split"));
  registry.add(make_kernel<prepare_split_v, launch_cut>("SplitV", "cpu.split_v"));
  registry.add(
      make_kernel<prepare_split_like, launch_cut>("SplitLike", "cpu.split_like"));
  registry.add(make_kernel<prepare_unpack, launch_cut>("Unpack", "cpu.unpack"));
}

}  // namespace tandem::cpu
