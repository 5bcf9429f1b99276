"""tf.io.serialize_sparse and its kin: sparse tensors as three strings, of their indices, values and sizes."""

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import string
from tandem.framework.sparse import SparseTensor


def _string_only(out_type):
    if as_dtype(out_type).name != "string":
        raise NotImplementedError("Sparse tensors are serialized as strings in Tandem: pass out_type=tf.string.")


def _sparse(value):
    if not isinstance(value, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, got {value!r}.")
    return value


def serialize_sparse(sp_input, out_type=string, name=None):
    """Three strings of a sparse tensor."""
    _string_only(out_type)
    sparse = _sparse(sp_input)
    return execute("Pack", [execute("SerializeTensor", p) for p in (sparse.indices, sparse.values, sparse.dense_shape)], axis=0)


def serialize_many_sparse(sp_input, out_type=string, name=None):
    """Three strings of each row of a sparse tensor."""
    _string_only(out_type)
    sparse, rows = _sparse(sp_input), []
    if sparse.shape.rank is not None and sparse.shape.rank < 2:
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "Rank of input SparseTensor should be > 1, but saw rank: 1")
    for row in range(int(sparse.dense_shape[0])):
        mine = execute("Where", execute("Equal", sparse.indices[:, 0], convert_to_tensor(row, "int64")))[:, 0]
        part = SparseTensor(execute("GatherV2", sparse.indices, mine)[:, 1:], execute("GatherV2", sparse.values, mine), sparse.dense_shape[1:])
        rows.append(serialize_sparse(part))
    return execute("Pack", rows, axis=0) if rows else execute("Reshape", convert_to_tensor([], "string"), [0, 3])


def deserialize(serialized, dtype):
    """The sparse tensor of three strings."""
    kinds = "int64", as_dtype(dtype), "int64"
    return SparseTensor(*(execute("ParseTensor", serialized[i], out_type=kind) for i, kind in enumerate(kinds)))


def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None):
    """One sparse tensor of the rows' strings; its sizes are those of the largest row."""
    serialized = convert_to_tensor(serialized_sparse, "string")
    if serialized.shape.rank != 2 or serialized.shape[1] != 3 or not serialized.shape[0]:
        raise ValueError(f"deserialize_many_sparse takes rows of three strings, at least one, got shape {serialized.shape}.")
    rows = [deserialize(serialized[i], dtype) for i in range(serialized.shape[0])]
    places = [execute("Pad", row.indices, convert_to_tensor([[0, 0], [1, 0]])) for row in rows]
    places = [p + convert_to_tensor([i] + [0] * (p.shape[1] - 1), "int64") for i, p in enumerate(places)]
    sizes = execute("Max", execute("Pack", [row.dense_shape for row in rows], axis=0), axis=[0])
    shape = execute("ConcatV2", [convert_to_tensor([len(rows)], "int64"), sizes], axis=0)
    join = lambda parts: execute("ConcatV2", parts, axis=0) if len(parts) > 1 else parts[0]  # noqa: E731
    return SparseTensor(join(places), join([row.values for row in rows]), shape)
