// ConcatV2, Pack, Split, SplitV, SplitLike, Unpack: one strided copy per part. Any dtype
// but strings.
#include "kernels/cuda/move_plan.h"
#include "tandem/ops/array.h"

namespace tandem::cuda {

namespace {

struct PartsPlan {
  std::vector<StridedCopy> copies;
};

// A part of `n` entries along the axis beside a whole of `total`, at entry `at`.
struct AxisPart {
  int64_t outer, inner, n, total, at;
};
StridedCopy into_whole(const Signature& s, const AxisPart& p) {
  const CopyDim dims[] = {{p.outer, p.n * p.inner, p.total * p.inner},
                          {p.n * p.inner, 1, 1}};
  return StridedCopy(s.device, element_of(s.out()), dims, 0, p.at * p.inner);
}
StridedCopy out_of_whole(const Signature& s, const AxisPart& p) {
  const CopyDim dims[] = {{p.outer, p.total * p.inner, p.n * p.inner},
                          {p.n * p.inner, 1, 1}};
  return StridedCopy(s.device, element_of(s.in(0)), dims, p.at * p.inner, 0);
}

int axis_of(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}
AxisPart axis_part(const Shape& whole, int axis) {
  return {whole.slice(0, axis).num_elements(),
          whole.slice(axis + 1, whole.rank()).num_elements(), 0, whole[axis], 0};
}

PartsPlan join(const Signature& s, bool pack) {
  const Shape& whole = s.out().shape;
  const int axis = axis_of(s.attrs.as<AxisAttrs>().axis, whole.rank());
  AxisPart part = axis_part(whole, axis);
  PartsPlan plan;
  for (const TensorInfo& in : s.inputs) {
    part.n = pack ? 1 : in.shape[axis];
    plan.copies.push_back(into_whole(s, part));
    part.at += part.n;
  }
  return plan;
}
PartsPlan prepare_concat(const Signature& s) { return join(s, false); }
PartsPlan prepare_pack(const Signature& s) { return join(s, true); }
void launch_join(const PartsPlan& p, const LaunchArgs& a) {
  for (size_t i = 0; i < p.copies.size(); ++i) {
    p.copies[i].run(*a.stream, a.in<void>(static_cast<int>(i)), a.out<void>());
  }
}

PartsPlan cut_in_parts(const Signature& s, int64_t given_axis, bool unpack) {
  const Shape& whole = s.in(0).shape;
  const int axis = axis_of(given_axis, whole.rank());
  AxisPart part = axis_part(whole, axis);
  PartsPlan plan;
  for (const TensorInfo& out : s.outputs) {
    part.n = unpack ? 1 : out.shape[axis];
    plan.copies.push_back(out_of_whole(s, part));
    part.at += part.n;
  }
  return plan;
}
PartsPlan prepare_split(const Signature& s) {
  return cut_in_parts(s, s.attrs.as<SplitAttrs>().axis, false);
}
PartsPlan prepare_split_v(const Signature& s) {
  return cut_in_parts(s, s.attrs.as<SplitVAttrs>().axis, false);
}
PartsPlan prepare_split_like(const Signature& s) {
  return cut_in_parts(s, s.attrs.as<AxisAttrs>().axis, false);
}
PartsPlan prepare_unpack(const Signature& s) {
  return cut_in_parts(s, s.attrs.as<UnpackAttrs>().axis, true);
}
void launch_cut(const PartsPlan& p, const LaunchArgs& a) {
  for (size_t i = 0; i < p.copies.size(); ++i) {
    p.copies[i].run(*a.stream, a.in<void>(0), a.out<void>(static_cast<int>(i)));
  }
}

// ---- IndexedSlicesConcat
// ---------------------------------------------------------------------
struct SlicesPlan {
  StridedCopy copies[4];  // of the inputs, each into its half of an output
};
SlicesPlan prepare_slices(const Signature& s) {
  const auto copy = [&](int input, int before) {
    const int64_t n = s.in(input).shape.num_elements();
    const int64_t at = before < 0 ? 0 : s.in(before).shape.num_elements();
    return StridedCopy::flat(s.device, element_of(s.in(input)), n, 0, at);
  };
  return {{copy(0, -1), copy(1, -1), copy(2, 0), copy(3, 1)}};
}
bool same_indices(const Signature& s) { return s.in(1).dtype == s.in(3).dtype; }
void launch_slices(const SlicesPlan& p, const LaunchArgs& a) {
  for (int i = 0; i < 4; ++i)
    p.copies[i].run(*a.stream, a.in<void>(i), a.out<void>(i % 2));
}

}  // namespace

void register_move_joins(Kernels& kernels) {
  kernels.add(
      make_kernel<prepare_concat, launch_join>("ConcatV2", "cuda.concat", kPlain));
  kernels.add(make_kernel<prepare_pack, launch_join>("Pack", "cuda.pack", kPlain));
  kernels.add(make_kernel<prepare_split, launch_cut>("Split", "cuda.split", kPlain));
  kernels.add(make_kernel<prepare_split_v, launch_cut>("SplitV", "cuda.split_v", kPlain));
  kernels.add(make_kernel<prepare_split_like, launch_cut>("SplitLike", "cuda.split_like",
                                                          kPlain));
  kernels.add(make_kernel<prepare_slices, launch_slices>(
      "IndexedSlicesConcat", "cuda.slices_concat", kPlain, same_indices));
  kernels.add(make_kernel<prepare_unpack, launch_cut>("Unpack", "cuda.unpack", kPlain));
}

}  // namespace tandem::cuda
