"""tf.sparse.bincount: how often numbers occur, of each row, as a sparse tensor; and products at given places."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import float32
from tandem.framework.ragged import RaggedTensor
from tandem.framework.sparse import SparseTensor


def bincount(values, weights=None, axis=0, minlength=None, maxlength=None, binary_output=False, name=None):
    """Counts, or sums of weights, of the numbers that occur: of all where axis is 0, of each row where it is -1."""
    if axis not in (0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if binary_output and weights is not None:
        raise ValueError("`binary_output` and `weights` are mutually exclusive.")
    numbers, rows, count = _rows(values)
    weights = None if weights is None else _weights_of(values, weights)
    kind = "int32" if weights is None else weights.dtype
    for limit, name in ((minlength, "minlength"), (maxlength, "maxlength")):
        if limit is not None and int(limit) < 0:
            raise ValueError(f"{name} must be non-negative, got {limit}.")
    rank = 1 if rows is None else 2
    if axis == 0 or rows is None:
        rows, count = execute("ZerosLike", numbers), convert_to_tensor(1, "int64")
    alone = axis == 0 or rank == 1
    from tandem.ops import check

    check.assert_non_negative(numbers, "Input values must all be non-negative")
    if maxlength is not None:
        kept = execute("Where", execute("Less", numbers, convert_to_tensor(maxlength, "int64")))[:, 0]
        numbers, rows = (execute("GatherV2", x, kept, axis=0) for x in (numbers, rows))
        weights = None if weights is None else execute("GatherV2", weights, kept, axis=0)
    zero = convert_to_tensor([0], "int64")
    width = execute("Max", execute("ConcatV2", [numbers + 1, zero], axis=0))
    span = execute("Maximum", width, 1)
    keys = rows * span + numbers
    places = execute("Sort", execute("Unique", keys)[0])
    ids = execute("LowerBound", places[None], keys[None], out_type="int32")[0]
    ones = execute("OnesLike", numbers) if weights is None else weights
    total = execute("UnsortedSegmentSum", execute("Cast", ones, dtype=kind), ids, execute("Size", places))
    total = execute("OnesLike", total) if binary_output else total
    size = _length(width, minlength, maxlength)
    columns = execute("FloorMod", places, span)
    if alone:
        return SparseTensor(columns[:, None], total, execute("Reshape", size, [1]))
    indices = execute("Pack", [execute("FloorDiv", places, span), columns], axis=1)
    return SparseTensor(indices, total, execute("Pack", [count, size], axis=0))


def _length(width, least, most):
    size = width if least is None else execute("Maximum", width, convert_to_tensor(least, "int64"))
    return size if most is None else execute("Minimum", size, convert_to_tensor(most, "int64"))


def _rows(values):
    """The numbers, the row of each, and how many rows there are."""
    as_int64 = lambda x: x if x.dtype.name == "int64" else execute("Cast", x, dtype="int64")  # noqa: E731
    if isinstance(values, RaggedTensor):
        return as_int64(values.flat_values), as_int64(values.value_rowids()), as_int64(values.nrows())
    if isinstance(values, SparseTensor):
        rank = values.indices.shape[1]
        return as_int64(values.values), values.indices[:, 0] if rank == 2 else None, values.dense_shape[0]
    values = as_int64(convert_to_tensor(values))
    if values.shape.rank != 2:
        return execute("Reshape", values, [-1]), None, None
    count = execute("Shape", values, out_type="int64")
    numbers = execute("Range", convert_to_tensor(0, "int64"), count[0], convert_to_tensor(1, "int64"))
    rows = execute("Reshape", execute("BroadcastTo", numbers[:, None], count), [-1])
    return execute("Reshape", values, [-1]), rows, count[0]


def _weights_of(values, weights):
    if isinstance(values, RaggedTensor) and isinstance(weights, RaggedTensor):
        return weights.flat_values
    if isinstance(values, SparseTensor) and isinstance(weights, SparseTensor):
        return weights.values
    weights = convert_to_tensor(weights)
    return execute("Reshape", weights, [-1])


def sampled_addmm(indices, values, dense_shape, mat1, mat2, beta=1.0, alpha=1.0, output_type=float32):
    """alpha times the elements of mat1 · mat2 at places, and beta times the values there."""
    indices, mat1, mat2 = convert_to_tensor(indices), convert_to_tensor(mat1), convert_to_tensor(mat2)
    rank = mat1.shape.rank
    if rank != mat2.shape.rank:
        raise ValueError("mat1 and mat2 must have the same rank.")
    batch = indices[:, : rank - 2]
    turned = execute("Transpose", mat2, perm=[*range(rank - 2), rank - 1, rank - 2])
    place = lambda axis: execute("ConcatV2", [batch, indices[:, axis : axis + 1]], axis=1)  # noqa: E731
    left, right = execute("GatherNd", mat1, place(rank - 2)), execute("GatherNd", turned, place(rank - 1))
    product = execute("Sum", execute("Cast", left * right, dtype=output_type), axis=[-1])
    return indices, alpha * product + beta * execute("Cast", convert_to_tensor(values), dtype=output_type), convert_to_tensor(dense_shape)
