// Contractions of labelled tensors: what einsum and tensordot are made of. A label names
// a dimension; equal labels of two operands run together.
#pragma once

#include <vector>

#include "tandem/tensor.h"

namespace tandem {

using Labels = std::vector<int>;

/// A tensor whose dimensions have labels, all different.
struct Labelled {
  Tensor x;
  Labels labels;
};

/// x summed over the labels that are not in `keep`.
Labelled sum_out(const Labelled& x, const Labels& keep);
/// Dimensions in the given order, which has the same labels.
Tensor in_order(const Labelled& x, const Labels& order);
/// Product of two operands, summed over the labels both have that are not in `keep`. Kept
/// labels may have size 1 in one operand. The order of the result's labels follows `keep`
/// where that costs nothing.
Labelled contract(const Labelled& a, const Labelled& b, const Labels& keep);

bool has_label(const Labels& labels, int label);

}  // namespace tandem
