"""What sessions give and take for sparse and ragged tensors."""

import collections

from tandem.inside.ops.ragged.ragged_tensor_value import RaggedTensorValue

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])


def slices_value(values, indices):
    return IndexedSlicesValue(values, indices, None)


def ragged_value(flat_values, *splits):
    value = flat_values
    for split in reversed(splits):
        value = RaggedTensorValue(value, split)
    return value
