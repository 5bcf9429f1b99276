// Ops that iterate over datasets inside a traced function: a dataset and an iterator are
// values of dtype kVariant. What they hold belongs to the layer of input pipelines, which
// says here how to work with it.
#pragma once

#include <span>
#include <vector>

#include "op/attrs.h"
#include "tandem/ints.h"
#include "tandem/tensor.h"

namespace tandem {

class OpTable;

struct IterationFunctions {
  /// An iterator over a dataset, with values in place of the symbolic tensors that its
  /// description holds.
  Tensor (*make)(const Tensor& dataset, std::span<const Tensor> values);
  /// The next components; false at the end.
  bool (*next)(const Tensor& iterator, std::vector<Tensor>& components);
};
/// Once, while the library is loaded.
void set_iteration_functions(IterationFunctions functions);

struct IteratorNextAttrs {
  /// Of each component: dtype, rank (-1: unknown), dimensions (-1: unknown).
  Ints components = {};
  /// The end is an OutOfRangeError; else it is the first output, and the components are
  /// empty tensors.
  bool must = false;
  TANDEM_ATTRS(IteratorNextAttrs, components, must)
};

void register_iteration_ops(OpTable& table);

}  // namespace tandem
