// Transpose, BroadcastTo, BroadcastLike, Tile, ReverseV2, Roll, and the copies behind
// views. Any dtype but strings, by element size.
#include "kernels/cuda/move_plan.h"
#include "ops/array_common.h"
#include "ops/array_transpose.h"
#include "tandem/ops/array.h"

namespace tandem::cuda {

namespace {

MovePlan prepare_copy(const Signature& s) {
  return {
      {StridedCopy::flat(s.device, element_of(s.in(0)), s.in(0).shape.num_elements())},
      0};
}

bool plain_transpose(const Signature& s) {
  return !(s.attrs.as<TransposeAttrs>().conjugate && is_complex(s.in(0).dtype));
}
MovePlan prepare_transpose(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints perm = full_permutation(s.attrs.as<TransposeAttrs>(), in.rank());
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  std::vector<CopyDim> dims;
  for (int i = 0; i < out.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({out[i], in_steps[static_cast<size_t>(perm[k])], out_steps[k]});
  }
  return {{StridedCopy(s.device, element_of(s.in(0)), dims)}, 0};
}

MovePlan prepare_broadcast(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  const int missing = out.rank() - in.rank();
  std::vector<CopyDim> dims;
  for (int i = 0; i < out.rank(); ++i) {
    const bool repeated = i < missing || in[i - missing] == 1;
    dims.push_back({out[i], repeated ? 0 : in_steps[static_cast<size_t>(i - missing)],
                    out_steps[static_cast<size_t>(i)]});
  }
  return {{StridedCopy(s.device, element_of(s.in(0)), dims)}, 0};
}

MovePlan prepare_tile(const Signature& s) {
  const Shape &in = s.in(0).shape, &out = s.out().shape;
  const Ints in_steps = row_major(in), out_steps = row_major(out);
  const Ints multiples = *known_ints(s.in(1));
  std::vector<CopyDim> dims;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({multiples[k], 0, out_steps[k] * in[i]});
    dims.push_back({in[i], in_steps[k], out_steps[k]});
  }
  return {{StridedCopy(s.device, element_of(s.in(0)), dims)}, 0};
}

MovePlan prepare_reverse(const Signature& s) {
  const Shape& in = s.in(0).shape;
  if (in.num_elements() == 0) return {};
  const Ints steps = row_major(in);
  std::vector<CopyDim> dims;
  for (int i = 0; i < in.rank(); ++i) {
    const auto k = static_cast<size_t>(i);
    dims.push_back({in[i], steps[k], steps[k]});
  }
  int64_t offset = 0;
  for (int64_t axis : s.attrs.as<ReverseAttrs>().axis) {
    CopyDim& d = dims[static_cast<size_t>(axis < 0 ? axis + in.rank() : axis)];
    offset += (d.n - 1) * d.in;
    d.in = -d.in;
  }
  return {{StridedCopy(s.device, element_of(s.in(0)), dims, offset)}, 0};
}

// Each rolled axis falls into two pieces; the copies are all combinations.
MovePlan prepare_roll(const Signature& s) {
  const auto& attrs = s.attrs.as<RollAttrs>();
  const Shape& in = s.in(0).shape;
  MovePlan plan;
  if (in.num_elements() == 0) return plan;
  const Ints steps = row_major(in);
  Ints shift(static_cast<size_t>(in.rank()), 0);
  for (size_t i = 0; i < attrs.axis.size(); ++i) {
    const int64_t axis = attrs.axis[i] < 0 ? attrs.axis[i] + in.rank() : attrs.axis[i];
    const int64_t n = in[static_cast<int>(axis)];
    int64_t& total = shift[static_cast<size_t>(axis)];
    total = ((total + attrs.shift[i]) % n + n) % n;
  }
  std::vector<CopyDim> dims(static_cast<size_t>(in.rank()));
  const auto add = [&](auto&& self, int axis, int64_t from, int64_t to) -> void {
    if (axis == in.rank()) {
      plan.copies.emplace_back(s.device, element_of(s.in(0)), dims, from, to);
      return;
    }
    const auto k = static_cast<size_t>(axis);
    const int64_t n = in[axis], by = shift[k], step = steps[k];
    dims[k] = {n - by, step, step};
    self(self, axis + 1, from, to + by * step);
    if (by == 0) return;
    dims[k] = {by, step, step};
    self(self, axis + 1, from + (n - by) * step, to);
  };
  add(add, 0, 0, 0);
  return plan;
}

}  // namespace

void register_move(Kernels& kernels) {
  for (const char* op :
       {"Identity", "StopGradient", "PreventGradient", "EnsureShape", "Reshape",
        "ReshapeLike", "ExpandDims", "Squeeze", "Bitcast", "ReadVariableOp"}) {
    kernels.add(make_kernel<prepare_copy, launch_move>(op, std::string("cuda.copy.") + op,
                                                       kPlain));
  }
  kernels.add(make_kernel<prepare_transpose, launch_move>("Transpose", "cuda.transpose",
                                                          kPlain, plain_transpose));
  kernels.add(make_kernel<prepare_broadcast, launch_move>("BroadcastTo",
                                                          "cuda.broadcast_to", kPlain));
  kernels.add(make_kernel<prepare_broadcast, launch_move>("BroadcastLike",
                                                          "cuda.broadcast_like", kPlain));
  kernels.add(make_kernel<prepare_tile, launch_move>("Tile", "cuda.tile", kPlain));
  kernels.add(
      make_kernel<prepare_reverse, launch_move>("ReverseV2", "cuda.reverse", kPlain));
  kernels.add(make_kernel<prepare_roll, launch_move>("Roll", "cuda.roll", kPlain));
  register_move_joins(kernels);
  register_move_slices(kernels);
}

}  // namespace tandem::cuda
