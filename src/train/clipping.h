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
/// Gradients after Keras's rules of clipping. All are defined; slices have distinct rows.
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

/// The same slices with each row named once.
IndexedSlices add_up_equal_rows(const IndexedSlices& slices);

}  // namespace tandem::optimizers
