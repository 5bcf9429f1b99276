// Gradients limited in size, and slices whose equal rows are added up. Pure functions.
#pragma once

#include <vector>

#include "tandem/gradient.h"
#include "tandem/train/optimizer.h"

namespace tandem::optimizers {

/// Throws ValueError when more than one limit is given.
void check_clipping(const Clipping& clip);
inline bool is_clipping(const Clipping& clip) {
  return clip.norm || clip.value || clip.global_norm;
}
/// Gradients after Keras's rules of clipping. All are defined; of equal rows of slices
/// all but one are zero.
std::vector<Gradient> clip_gradients(const Clipping& clip,
                                     const std::vector<Gradient>& gradients);

/// f of the elements that are not zero by construction: of a tensor, or of the rows of
/// slices. f(0) is 0.
template <class F>
Gradient map_gradient(const Gradient& gradient, F f) {
  if (!gradient.defined()) return {};
  if (!gradient.is_slices()) return f(gradient.dense());
  const IndexedSlices& s = gradient.slices();
  return IndexedSlices{f(s.values), s.indices, s.dense_shape};
}

/// The same slices, in as many rows: the first of equal rows is their sum, the others are
/// zero. No size depends on how many are equal.
IndexedSlices add_up_equal_rows(const IndexedSlices& slices);
/// The same slices with each row named once: their number depends on data.
IndexedSlices distinct_rows(const IndexedSlices& slices);

}  // namespace tandem::optimizers
