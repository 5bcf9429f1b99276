// Functions of sequences: distances of edits, monotone fits.
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::sequence {

/// A sparse tensor whose last dimension holds sequences: row-major indices [n, rank],
/// values [n], shape [rank].
struct Sparse {
  Tensor indices;
  Tensor values;
  Tensor shape;
};

struct EditDistanceAttrs {
  /// Distances are divided by the length of the truth.
  bool normalize = true;
  TANDEM_ATTRS(EditDistanceAttrs, normalize)
};
/// Levenshtein's distance of each pair of sequences, float32 in all dimensions but the
/// last.
Tensor edit_distance(const Sparse& hypothesis, const Sparse& truth,
                     EditDistanceAttrs attrs = {});

struct Fit {
  /// The nearest decreasing sequence in the sense of squares.
  Tensor output;
  /// Numbers of the runs of equal values, int32.
  Tensor segments;
};
/// Along the last dimension.
Fit isotonic_regression(const Tensor& input);

}  // namespace tandem::sequence
