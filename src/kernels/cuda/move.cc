// Transpose, BroadcastTo, BroadcastLike, Tile, ReverseV2, Roll, and the copies behind
// views. Any dtype but strings, by element size.
#include "kernels/common/copy_layout.h"
#include "kernels/cuda/move_plan.h"
#include "ops/array_transpose.h"
#include "tandem/ops/array.h"

namespace tandem::cuda {

namespace {

MovePlan prepare_copy(const Signature& s) {
  return {
      {StridedCopy::flat(s.device, element_of(s.in(0)), s.in(0).shape.num_elements())},
      0};
}

MovePlan prepare_transpose(const Signature& s) {
  const bool conjugate =
      s.attrs.as<TransposeAttrs>().conjugate && is_complex(s.in(0).dtype);
  const CopyLayout c = transpose_layout(s)[0];
  return {{StridedCopy(
              s.device, element_of(s.in(0)), c.dims, c.in_offset, c.out_offset,
              conjugate ? StridedCopy::Change::kConjugate : StridedCopy::Change::kNone)},
          0};
}

template <auto kLayout>
MovePlan prepare_move(const Signature& s) {
  MovePlan plan;
  for (const CopyLayout& c : kLayout(s)) {
    plan.copies.emplace_back(s.device, element_of(s.in(0)), c.dims, c.in_offset,
                             c.out_offset);
  }
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
  kernels.add(
      make_kernel<prepare_transpose, launch_move>("Transpose", "cuda.transpose", kPlain));
  kernels.add(make_kernel<prepare_move<broadcast_layout>, launch_move>(
      "BroadcastTo", "cuda.broadcast_to", kPlain));
  kernels.add(make_kernel<prepare_move<broadcast_layout>, launch_move>(
      "BroadcastLike", "cuda.broadcast_like", kPlain));
  kernels.add(
      make_kernel<prepare_move<tile_layout>, launch_move>("Tile", "cuda.tile", kPlain));
  kernels.add(make_kernel<prepare_move<reverse_layout>, launch_move>(
      "ReverseV2", "cuda.reverse", kPlain));
  kernels.add(
      make_kernel<prepare_move<roll_layout>, launch_move>("Roll", "cuda.roll", kPlain));
  register_move_joins(kernels);
  register_move_slices(kernels);
}

}  // namespace tandem::cuda
