// Array ops: making, reshaping, joining, cutting and repeating tensors. Shapes and sizes
// may be given as numbers or, where an overload takes a tensor, as integer tensors
// (traced functions).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/ops/array_index.h"
#include "tandem/ops/array_layout.h"
#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

// ---- Identity and checks
// ------------------------------------------------------------------------

/// The same contents with identity of their own (op Identity).
Tensor identity(const Tensor& x);
struct MessageAttrs {
  std::string message = {};
  TANDEM_ATTRS(MessageAttrs, message)
};
/// x, of which no gradient may be asked: that throws, with `message` as the reason.
Tensor prevent_gradient(const Tensor& x, MessageAttrs attrs = {});
/// x; throws InvalidArgumentError when an element is NaN or infinite.
Tensor check_numerics(const Tensor& x, MessageAttrs attrs = {});
struct EnsureShapeAttrs {
  Shape shape = Shape::unknown();
  TANDEM_ATTRS(EnsureShapeAttrs, shape)
};
/// x; throws when its shape does not agree with `shape`, whose dimensions may be unknown.
Tensor ensure_shape(const Tensor& x, const Shape& shape);

// ---- Shapes as tensors
// --------------------------------------------------------------------------

/// Shape as a vector of int32 (or out_type), size and rank as scalars.
Tensor shape(const Tensor& x, ShapeAttrs attrs = {});
Tensor size(const Tensor& x, ShapeAttrs attrs = {});
Tensor rank(const Tensor& x);
/// The shapes of several tensors.
std::vector<Tensor> shape_n(const std::vector<Tensor>& values, ShapeAttrs attrs = {});
/// The shape that two shapes broadcast to; throws ValueError when they do not.
Shape broadcast_static_shape(const Shape& x, const Shape& y);
/// The same for shapes given as integer vectors.
Tensor broadcast_dynamic_shape(const Tensor& x, const Tensor& y);

// ---- Making tensors
// -----------------------------------------------------------------------------

Tensor zeros(const Shape& shape, DType dtype = DType::kFloat32);
Tensor zeros(const Tensor& shape, DType dtype = DType::kFloat32);
Tensor ones(const Shape& shape, DType dtype = DType::kFloat32);
Tensor ones(const Tensor& shape, DType dtype = DType::kFloat32);
Tensor fill(const Shape& shape, const Tensor& value);
Tensor fill(const Tensor& shape, const Tensor& value);
struct LikeAttrs {
  DType dtype = DType::kInvalid;  // kInvalid: that of the input
  TANDEM_ATTRS(LikeAttrs, dtype)
};
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor zeros_like(const Tensor& x, LikeAttrs attrs);
Tensor ones_like(const Tensor& x, LikeAttrs attrs);
struct EmptyAttrs {
  DType dtype = DType::kFloat32;
  bool init = false;  // zeros instead of undefined contents
  TANDEM_ATTRS(EmptyAttrs, dtype, init)
};
/// A tensor with undefined contents (or zeros).
Tensor empty(const Shape& shape, EmptyAttrs attrs = {});
/// n×n identity matrix.
Tensor eye(int64_t n, DType dtype = DType::kFloat32);
struct EyeOptions {
  int64_t columns = -1;  // -1: as many as rows
  Shape batch_shape = {};
  DType dtype = DType::kFloat32;
};
/// Identity matrices that need not be square, repeated over a batch shape.
Tensor eye(int64_t rows, EyeOptions options);
/// start, start + delta, … up to but without limit; all of one dtype.
Tensor range(const Tensor& start, const Tensor& limit, const Tensor& delta);
Tensor range(int64_t limit, DType dtype = DType::kInt32);
Tensor range(Scalar start, Scalar limit, Scalar delta, DType dtype);
struct LinSpaceAttrs {
  int64_t num = 1;
  int64_t axis = 0;
  TANDEM_ATTRS(LinSpaceAttrs, num, axis)
};
/// `num` values from start to stop, both included, along a new axis.
Tensor linspace(const Tensor& start, const Tensor& stop, LinSpaceAttrs attrs);

// ---- Shape changes that move nothing
// -------------------------------------------------------------

/// One dimension may be -1: what is left over. A view.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor reshape(const Tensor& x, const Tensor& shape);
/// x with the shape of `like`; only the shape of `like` is looked at (op ReshapeLike).
Tensor reshape_like(const Tensor& x, const Tensor& like);
Tensor expand_dims(const Tensor& x, int64_t axis);
struct SqueezeAttrs {
  Ints axis = {};  // empty: all dimensions of size 1
  TANDEM_ATTRS(SqueezeAttrs, axis)
};
Tensor squeeze(const Tensor& x, SqueezeAttrs attrs = {});

// ---- Transposition, broadcasting
// ------------------------------------------------------------------

struct TransposeAttrs {
  Ints perm = {};  // empty: reversed
  bool conjugate = false;
  TANDEM_ATTRS(TransposeAttrs, perm, conjugate)
};
/// Output dimension i is input dimension perm[i].
Tensor transpose(const Tensor& x, TransposeAttrs attrs = {});
/// The last two dimensions exchanged.
Tensor matrix_transpose(const Tensor& x, bool conjugate = false);
/// q with q[p[i]] = i, for a permutation p.
Tensor invert_permutation(const Tensor& p);

Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensor broadcast_to(const Tensor& x, const Tensor& shape);
/// x broadcast to the shape of `like` (op BroadcastLike), and its inverse: x summed over
/// the dimensions along which `like` was broadcast to reach x's shape (op SumLike, in
/// reduce.h).
Tensor broadcast_like(const Tensor& x, const Tensor& like);

// ---- Joining and cutting
// --------------------------------------------------------------------------

Tensor concat(const std::vector<Tensor>& values, AxisAttrs attrs);
Tensor stack(const std::vector<Tensor>& values, AxisAttrs attrs = {});
struct UnpackAttrs {
  int64_t num = -1;  // -1: what the shape says
  int64_t axis = 0;
  TANDEM_ATTRS(UnpackAttrs, num, axis)
};
std::vector<Tensor> unstack(const Tensor& x, AxisAttrs attrs = {});
struct SplitAttrs {
  int64_t num = 1;
  int64_t axis = 0;
  TANDEM_ATTRS(SplitAttrs, num, axis)
};
/// `num` equal parts along an axis.
std::vector<Tensor> split(const Tensor& x, SplitAttrs attrs);
struct SplitVAttrs {
  Ints sizes = {};  // one of them may be -1: the rest
  int64_t axis = 0;
  TANDEM_ATTRS(SplitVAttrs, sizes, axis)
};
/// Parts of the given sizes along an axis.
std::vector<Tensor> split(const Tensor& x, SplitVAttrs attrs);
/// `sizes[i]` is -1 for "the rest".
Tensor slice(const Tensor& x, const Shape& begin, const Ints& sizes);
Tensor slice(const Tensor& x, const Tensor& begin, const Tensor& sizes);

// Shapes in braces; without these, {} could also be read as no tensor at all.
inline Tensor zeros(std::initializer_list<int64_t> shape, DType dtype = DType::kFloat32) {
  return zeros(Shape(shape), dtype);
}
inline Tensor ones(std::initializer_list<int64_t> shape, DType dtype = DType::kFloat32) {
  return ones(Shape(shape), dtype);
}
inline Tensor fill(std::initializer_list<int64_t> shape, const Tensor& value) {
  return fill(Shape(shape), value);
}
inline Tensor reshape(const Tensor& x, std::initializer_list<int64_t> shape) {
  return reshape(x, Shape(shape));
}
inline Tensor broadcast_to(const Tensor& x, std::initializer_list<int64_t> shape) {
  return broadcast_to(x, Shape(shape));
}

// ---- Functions over other ops
// ---------------------------------------------------------------------

/// Coordinate grids of vectors; indexing is "xy" (the first two axes exchanged) or "ij".
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors,
                             std::string_view indexing = "xy");
/// mask[…, j] = j < lengths[…]; maxlen -1: the largest length.
Tensor sequence_mask(const Tensor& lengths, int64_t maxlen = -1,
                     DType dtype = DType::kBool);
/// Lower and upper triangles of matrices; k moves the diagonal up (or down when
/// negative).
Tensor tril(const Tensor& x, int64_t k = 0);
Tensor triu(const Tensor& x, int64_t k = 0);

}  // namespace tandem
