"""What TensorFlow's kernels refuse of sparse tensors. Known sizes are checked at once, the others and all indices where
the values are: eagerly at once, in a traced function when it runs.
"""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import int64
from tandem.framework.errors import InvalidArgumentError
from tandem.ops import check


def refuse(message):
    raise InvalidArgumentError(None, None, message)


def _known(sizes):
    known = _core.static_value(sizes)
    return None if known is None else known.tolist()


def same_length(a, b, message):
    """Two vectors have as many elements."""
    lengths = a.shape[0], b.shape[0]
    if None in lengths:
        check.assert_equal(execute("Size", a), execute("Size", b), message=message)
    elif lengths[0] != lengths[1]:
        refuse(f"{message} Got vectors of {lengths[0]} and {lengths[1]} elements.")


def same_sizes(a, b, message):
    """Two vectors of sizes are equal."""
    same_length(a, b, message)
    known = _known(a), _known(b)
    if None in known:
        check.assert_equal(a, b, message=message)
    elif known[0] != known[1]:
        refuse(f"{message} Got {known[0]} and {known[1]}.")


def consistent(sp):
    """As many values as indices, and as many columns as dimensions. The constructor has compared known sizes."""
    sizes = (*(sp.indices.shape[i] for i in (0, 1)), sp.values.shape[0], sp.dense_shape.shape[0])
    if None in sizes:
        rest = [execute("Size", part, out_type=int64) for part in (sp.values, sp.dense_shape)]
        check.assert_equal(execute("Shape", sp.indices, out_type=int64), execute("Pack", rest),
                           message="indices must have a row for each value and a column for each dimension.")  # fmt: skip


def in_bounds(sp):
    """Indices lie in the shape."""
    consistent(sp)
    indices, sizes = sp.indices, sp.dense_shape
    inside = execute("LogicalAnd", indices >= convert_to_tensor(0, int64), indices < sizes)
    wrong = "indices are out of bounds: need 0 <= index < dense_shape. indices ="
    check.Assert(execute("All", inside), [wrong, indices, "dense_shape =", sizes])


def ragged_right(sp):
    """The elements of each row of a matrix follow each other from its start on."""
    rows, columns = sp.indices[:, 0], sp.indices[:, 1]
    after = execute("SelectV2", rows[1:] == rows[:-1], columns[:-1] + 1, execute("ZerosLike", columns[1:]))
    wanted = execute("ConcatV2", [execute("ZerosLike", columns[:1]), after], axis=0)
    check.Assert(execute("All", columns == wanted),
                 ["SparseTensor is not right-ragged. SparseTensor.indices =", sp.indices])  # fmt: skip


def positions(indices, dense_shape):
    """Row-major positions."""
    steps = execute("Cumprod", dense_shape, axis=0, exclusive=True, reverse=True)
    return execute("Sum", indices * steps, axis=[1])


def ordered(sp):
    """Indices, which are in bounds, are in row-major order and each is there once."""
    places = positions(sp.indices, sp.dense_shape)
    check.Assert(execute("All", places[1:] > places[:-1]),
                 ["indices are out of order or repeated. Use tf.sparse.reorder to create a correctly ordered copy. "
                  "indices =", sp.indices])  # fmt: skip
