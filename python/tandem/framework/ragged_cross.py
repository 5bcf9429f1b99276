"""tf.ragged.cross and cross_hashed: every combination of the features of each row, as rows."""

import collections

from tandem._core import convert_to_tensor, execute
from tandem.framework import sparse_cross
from tandem.framework.ragged import RaggedTensor

RaggedFillEmptyRows = collections.namedtuple(
    "RaggedFillEmptyRows", ["output_value_rowids", "output_values", "empty_row_indicator", "reverse_index_map"]
)


def _given(inputs):
    if not inputs:
        raise ValueError("Must provide at least one input.")
    if not any(isinstance(i, RaggedTensor) for i in inputs) and not all(hasattr(i, "dtype") for i in inputs):
        inputs = [i if hasattr(i, "dtype") else convert_to_tensor(i) for i in inputs]
    for given in inputs:
        if isinstance(given, RaggedTensor) and given.ragged_rank != 1:
            raise ValueError("tf.ragged.cross only supports inputs with rank=2.")
    return [i.to_sparse() if isinstance(i, RaggedTensor) else i for i in inputs]


def _rows(sparse):
    rows = RaggedTensor.from_value_rowids(sparse.values, sparse.indices[:, 0], nrows=sparse.dense_shape[0], validate=False)
    return rows


def cross(inputs, name=None):
    """Features of a row joined by _X_."""
    return _rows(sparse_cross.cross(_given(list(inputs))))


def cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """The number of a bucket for each combination."""
    return _rows(sparse_cross.cross_hashed(_given(list(inputs)), num_buckets, hash_key))


def fill_empty_rows(value_rowids, values, nrows, default_value, name=None):
    """(rows, values, which rows were empty, where each value went) with one value in every empty row."""
    from tandem.ops.raw.sparse import filled
    from tandem.framework.sparse import SparseTensor

    rows, values = convert_to_tensor(value_rowids, "int64"), convert_to_tensor(values)
    nrows = convert_to_tensor(nrows, "int64")
    count = execute("Size", rows, out_type="int64")
    numbers = execute("Range", *(convert_to_tensor(v, "int64") for v in (0, count, 1)))
    sparse = SparseTensor(execute("Pack", [rows, numbers], axis=1), values, execute("Pack", [nrows, execute("Maximum", count, 1)], axis=0))
    indices, found, empty, reverse = filled(sparse, default_value)
    return RaggedFillEmptyRows(indices[:, 0], found, empty, reverse)
