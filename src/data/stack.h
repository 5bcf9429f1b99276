// Stacking elements into a batch and taking it apart again, in host memory. Stateless.
#pragma once

#include <span>
#include <vector>

#include "tandem/data.h"

namespace tandem::data {

/// Tensor i of the result holds component i of all elements, which must have one shape.
Element stack(std::span<const Element> elements);
/// Row `index` of each component, without a copy.
Element row_of(const Element& batch, int64_t index);
/// Rows [begin, end) of each component, without a copy.
Element rows_of(const Element& batch, int64_t begin, int64_t end);
/// The rows of all batches one after the other.
Element concatenate(std::span<const Element> batches);
/// The first dimension of all components; throws InvalidArgumentError when they differ.
int64_t batch_rows(const Element& batch, const char* what);

/// Copies the contents of a host tensor to `to`, which has room for them (strings: to
/// existing std::string objects).
void copy_contents(const Tensor& from, void* to);
/// Address of byte `offset` of a host tensor that nobody else has seen yet.
void* writable(const Tensor& fresh, int64_t offset = 0);

}  // namespace tandem::data
