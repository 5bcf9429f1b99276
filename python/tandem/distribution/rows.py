"""Rows of batches, dense, ragged and sparse: counted, cut and joined."""

from tandem import _core
from tandem.framework import ragged_ops, sparse
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.sparse import SparseTensor, SparseTensorSpec
from tandem.framework.spec import TensorSpec
from tandem.ops.ragged_map import between


def row_count(value):
    """How many rows a batch has: a number where that is known, else a tensor."""
    if isinstance(value, SparseTensor):
        known = value.shape[0] if value.shape.rank else None
        return value.dense_shape[0] if known is None else known
    if isinstance(value, RaggedTensor):
        return value.nrows() if value.shape[0] is None else value.shape[0]
    tensor = _core.convert_to_tensor(value)
    known = tensor.shape[0] if tensor.shape.rank else None
    return _core.execute("Shape", tensor)[0] if known is None else known


def rows_of(value, begin, end):
    """Rows `begin` to `end` of a batch."""
    if not isinstance(value, SparseTensor):
        return between(value if isinstance(value, RaggedTensor) else _core.convert_to_tensor(value), begin, end)
    begin, end = (_core.convert_to_tensor(bound, "int64") for bound in (begin, end))
    row = value.indices[:, 0]
    here = sparse.retain(value, _core.execute("LogicalAnd", row >= begin, row < end))
    rest = value.dense_shape[1:]
    first = _core.execute("ConcatV2", [begin[None], _core.execute("ZerosLike", rest)], axis=0)
    made = SparseTensor(here.indices - first, here.values, _core.execute("ConcatV2", [(end - begin)[None], rest], axis=0))
    made.set_shape([None, *value.shape[1:]] if value.shape.rank else None)
    return made


def without_rows(value):
    """A batch like this one that is empty."""
    return None if value is None else rows_of(value, 0, 0)


def joined(values):
    """The rows of all batches, one after the other."""
    if isinstance(values[0], SparseTensor):
        return sparse.concat(0, values)
    if isinstance(values[0], RaggedTensor):
        return ragged_ops.concat(values, 0)
    return _core.execute("ConcatV2", values, axis=0)


def spec_of_rows(spec, rows):
    """The spec of so many rows; None: of any number."""
    shape = [rows, *spec.shape.as_list()[1:]] if spec.shape.rank else spec.shape
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    if isinstance(spec, SparseTensorSpec):
        return SparseTensorSpec(shape, spec.dtype)
    return TensorSpec(shape, spec.dtype, spec.name)
