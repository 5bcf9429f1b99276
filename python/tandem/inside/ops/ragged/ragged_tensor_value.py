"""tensorflow.python.ops.ragged.ragged_tensor_value: the value of a ragged tensor."""

import numpy as np


class RaggedTensorValue:
    """Arrays of values and row splits; `values` may be a RaggedTensorValue again."""

    def __init__(self, values, row_splits):
        self._values = values if isinstance(values, RaggedTensorValue) else np.asarray(values)
        self._row_splits = np.asarray(row_splits)
        if self._row_splits.ndim != 1:
            raise ValueError("row_splits must have one dimension")
        if self._row_splits.dtype not in (np.int32, np.int64):
            raise TypeError("row_splits must be int32 or int64")

    values = property(lambda self: self._values)
    row_splits = property(lambda self: self._row_splits)
    dtype = property(lambda self: self._values.dtype)

    @property
    def flat_values(self):
        values = self._values
        while isinstance(values, RaggedTensorValue):
            values = values.values
        return values

    @property
    def ragged_rank(self):
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensorValue) else 0)

    @property
    def nested_row_splits(self):
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def shape(self):
        inner = tuple(self._values.shape[1:])
        return (self._row_splits.shape[0] - 1, None, *inner)

    _nested_row_partitions = nested_row_splits

    def to_list(self):
        values = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        splits = self._row_splits.tolist()
        return [values[start:stop] for start, stop in zip(splits[:-1], splits[1:])]

    def __str__(self):
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"
