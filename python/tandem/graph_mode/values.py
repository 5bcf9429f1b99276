"""What sessions give and take for sparse and ragged tensors."""

import collections

import numpy as np

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])


def slices_value(values, indices):
    return IndexedSlicesValue(values, indices, None)


class RaggedTensorValue:
    """A ragged array: its values, and where each row of each ragged dimension begins."""

    def __init__(self, values, row_splits):
        self._values = values if isinstance(values, RaggedTensorValue) else np.asarray(values)
        self._row_splits = np.asarray(row_splits)

    values = property(lambda self: self._values)
    row_splits = property(lambda self: self._row_splits)
    dtype = property(lambda self: self._values.dtype)
    ragged_rank = property(lambda self: len(self.nested_row_splits))

    @property
    def flat_values(self):
        return self._values.flat_values if isinstance(self._values, RaggedTensorValue) else self._values

    @property
    def nested_row_splits(self):
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def shape(self):
        inner = self._values.shape[1:] if hasattr(self._values, "shape") else ()
        return (len(self._row_splits) - 1, None, *inner)

    def to_list(self):
        values = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [values[a:b] for a, b in zip(self._row_splits[:-1], self._row_splits[1:])]

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

    def __str__(self):
        return f"<tf.RaggedTensorValue {self.to_list()}>"


def ragged_value(flat_values, *splits):
    value = flat_values
    for split in reversed(splits):
        value = RaggedTensorValue(value, split)
    return value
