// Array ops that pad, repeat, reverse, shift and rearrange, and those on diagonals.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

// ---- Padding and repeating
// ------------------------------------------------------------------------

enum class MirrorMode { kReflect, kSymmetric };
inline std::array<std::string_view, 2> attr_names(MirrorMode) {
  return {"REFLECT", "SYMMETRIC"};
}
struct MirrorPadAttrs {
  MirrorMode mode = MirrorMode::kReflect;
  TANDEM_ATTRS(MirrorPadAttrs, mode)
};
/// How many elements come before and after, for each dimension.
using Paddings = std::vector<std::pair<int64_t, int64_t>>;
Tensor pad(const Tensor& x, const Paddings& paddings);
Tensor pad(const Tensor& x, const Paddings& paddings, Scalar value);
/// `paddings` has shape [rank, 2]; `value` is a scalar of x's dtype.
Tensor pad(const Tensor& x, const Tensor& paddings);
Tensor pad(const Tensor& x, const Tensor& paddings, const Tensor& value);
/// Pads with mirrored contents; REFLECT leaves the edge element out, SYMMETRIC repeats
/// it.
Tensor mirror_pad(const Tensor& x, const Tensor& paddings, MirrorPadAttrs attrs = {});
Tensor mirror_pad(const Tensor& x, const Paddings& paddings, MirrorPadAttrs attrs = {});

/// x repeated multiples[i] times along dimension i.
Tensor tile(const Tensor& x, const Ints& multiples);
Tensor tile(const Tensor& x, const Tensor& multiples);
/// Each element repeated along an axis: `repeats` is a scalar or a vector, one count per
/// element.
Tensor repeat(const Tensor& x, const Tensor& repeats, AxisAttrs attrs);
Tensor repeat(const Tensor& x, int64_t repeats, AxisAttrs attrs);
/// The same over the flattened x.
Tensor repeat(const Tensor& x, const Tensor& repeats);
Tensor repeat(const Tensor& x, int64_t repeats);

// ---- Reversing and shifting
// -----------------------------------------------------------------------

struct ReverseAttrs {
  Ints axis = {};
  TANDEM_ATTRS(ReverseAttrs, axis)
};
Tensor reverse(const Tensor& x, ReverseAttrs attrs);
struct ReverseSequenceAttrs {
  int64_t seq_axis = 0;
  int64_t batch_axis = 0;
  TANDEM_ATTRS(ReverseSequenceAttrs, seq_axis, batch_axis)
};
/// The first seq_lengths[i] elements along seq_axis reversed, for each i of batch_axis.
Tensor reverse_sequence(const Tensor& x, const Tensor& seq_lengths,
                        ReverseSequenceAttrs attrs);
struct RollAttrs {
  Ints shift = {};
  Ints axis = {};
  TANDEM_ATTRS(RollAttrs, shift, axis)
};
/// Elements moved by shift[i] along axis[i], around the end.
Tensor roll(const Tensor& x, RollAttrs attrs);

// ---- Diagonals
// ------------------------------------------------------------------------------------

/// Where short diagonals stand in their row: superdiagonals first, then subdiagonals.
enum class DiagAlign { kRightLeft, kLeftRight, kLeftLeft, kRightRight };
inline std::array<std::string_view, 4> attr_names(DiagAlign) {
  return {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"};
}
struct DiagAttrs {
  int64_t lower = 0;  // first and last diagonal; positive: above the main one
  int64_t upper = 0;
  DiagAlign align = DiagAlign::kRightLeft;
  TANDEM_ATTRS(DiagAttrs, lower, upper, align)
};
struct MatrixDiagAttrs {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t num_rows = -1;  // -1: the least that holds the diagonals
  int64_t num_cols = -1;
  DiagAlign align = DiagAlign::kRightLeft;
  TANDEM_ATTRS(MatrixDiagAttrs, lower, upper, num_rows, num_cols, align)
};
/// Matrices with the given (bands of) diagonals and zeros, or `padding`, elsewhere.
Tensor matrix_diag(const Tensor& diagonal, MatrixDiagAttrs attrs = {});
Tensor matrix_diag(const Tensor& diagonal, const Tensor& padding,
                   MatrixDiagAttrs attrs = {});
/// The (bands of) diagonals of matrices; short ones are padded.
Tensor matrix_diag_part(const Tensor& x, DiagAttrs attrs = {});
Tensor matrix_diag_part(const Tensor& x, const Tensor& padding, DiagAttrs attrs = {});
/// x with its (bands of) diagonals replaced.
Tensor matrix_set_diag(const Tensor& x, const Tensor& diagonal, DiagAttrs attrs = {});
struct BandPartAttrs {
  int64_t num_lower = -1;  // -1: all
  int64_t num_upper = -1;
  int64_t diagonal = 0;  // the one that the band lies around
  TANDEM_ATTRS(BandPartAttrs, num_lower, num_upper, diagonal)
};
/// Everything outside a band set to zero.
Tensor band_part(const Tensor& x, BandPartAttrs attrs);
/// A tensor of twice the rank with x on its diagonal, and the diagonal of such a tensor.
Tensor tensor_diag(const Tensor& diagonal);
Tensor tensor_diag_part(const Tensor& x);

// ---- Blocks
// ---------------------------------------------------------------------------------------

enum class ImageFormat { kNHWC, kNCHW };
inline std::array<std::string_view, 2> attr_names(ImageFormat) {
  return {"NHWC", "NCHW"};
}
struct BlockAttrs {
  int64_t block_size = 2;
  ImageFormat data_format = ImageFormat::kNHWC;
  TANDEM_ATTRS(BlockAttrs, block_size, data_format)
};
/// Blocks of pixels become channels, and back.
Tensor space_to_depth(const Tensor& x, BlockAttrs attrs);
Tensor depth_to_space(const Tensor& x, BlockAttrs attrs);
/// Blocks of the spatial dimensions (1…n) become batch entries, and back. `paddings` and
/// `crops` hold pairs: before and after, for each spatial dimension.
struct SpaceBatchAttrs {
  Ints block_shape = {};
  Ints paddings = {};
  TANDEM_ATTRS(SpaceBatchAttrs, block_shape, paddings)
};
Tensor space_to_batch(const Tensor& x, SpaceBatchAttrs attrs);
struct BatchSpaceAttrs {
  Ints block_shape = {};
  Ints crops = {};
  TANDEM_ATTRS(BatchSpaceAttrs, block_shape, crops)
};
Tensor batch_to_space(const Tensor& x, BatchSpaceAttrs attrs);

// ---- Sets
// -----------------------------------------------------------------------------------------

struct ListDiffAttrs {
  DType out_idx = DType::kInt32;
  TANDEM_ATTRS(ListDiffAttrs, out_idx)
};
/// The elements of x that are not in y, in order, and where they stand in x.
std::pair<Tensor, Tensor> setdiff1d(const Tensor& x, const Tensor& y,
                                    ListDiffAttrs attrs = {});

}  // namespace tandem
