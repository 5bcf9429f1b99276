"""tf.sets: the elements along the last dimension, of dense or sparse tensors, as sets."""

from tandem._core import convert_to_tensor, execute, op
from tandem.framework.dtypes import int32, int64
from tandem.framework import sparse_checks
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.sparse import SparseTensor
from tandem.ops.check import assert_greater_equal

_ConcatV2, _GatherV2, _Shape = op("ConcatV2"), op("GatherV2"), op("Shape")
_KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16")


def size(a, validate_indices=True):
    """How many different elements each set has."""
    if not isinstance(a, SparseTensor):
        raise TypeError("Expected `SparseTensor`, got %s." % a)
    rows = _Rows(a, validate_indices)
    groups, _ = _distinct(rows.groups, rows.values)
    counts = execute("UnsortedSegmentSum", execute("OnesLike", groups), groups, rows.count)
    return execute("Cast", execute("Reshape", counts, rows.outer), dtype=int32)


def intersection(a, b, validate_indices=True):
    """The elements that both sets have."""
    a, b = _two(a, b, validate_indices)
    groups, values, _ = _merged(a, b)
    same = _equals_next(groups, values)
    return _sparse(a, _kept(groups, same), _kept(values, same))


def difference(a, b, aminusb=True, validate_indices=True):
    """The elements of one set that the other does not have."""
    a, b = _two(a, b, validate_indices)
    if not aminusb:
        a, b = b, a
    groups, values, of_a = _merged(a, b)
    alone = execute("LogicalAnd", of_a, execute("LogicalNot", _equals_next(groups, values)))
    return _sparse(a, _kept(groups, alone), _kept(values, alone))


def union(a, b, validate_indices=True):
    """The elements that one of two sets has."""
    a, b = _two(a, b, validate_indices)
    groups = execute(_ConcatV2, [a.groups, b.groups], axis=0)
    values = execute(_ConcatV2, [a.values, b.values], axis=0)
    return _sparse(a, *_distinct(groups, values))


class _Rows:
    """The elements of all sets with the number of the set that each belongs to."""

    def __init__(self, tensor, validate_indices):
        sparse = isinstance(tensor, SparseTensor)
        if tensor.dtype.name not in _KINDS:
            text = f"tf.sets: elements of dtype {tensor.dtype.name}, where one of {', '.join(_KINDS)} is wanted."
            # TensorFlow has sets of strings.
            raise (NotImplementedError if tensor.dtype.name == "string" else TypeError)(text)
        shape = tensor.dense_shape if sparse else execute(_Shape, tensor, out_type=int64)
        rank = shape.shape[0]
        if rank is not None and rank < 2:
            raise InvalidArgumentError(None, None, f"Invalid rank {rank}. Sets lie along the last of two or more dimensions.")
        if rank is None:
            assert_greater_equal(execute("Size", shape), 2, "Invalid rank. Sets lie along the last of two or more dimensions.")
        self.outer = shape[:-1]
        self.count = execute("Prod", self.outer)
        self.static = tensor.shape[:-1]
        self.strides = execute("Cumprod", self.outer, axis=0, exclusive=True, reverse=True)
        if sparse:
            sparse_checks.in_bounds(tensor)
            if validate_indices:
                sparse_checks.ordered(tensor)
            self.groups = execute("Sum", tensor.indices[:, :-1] * self.strides, axis=[1])
            self.values = tensor.values
        else:
            numbers = execute("Range", convert_to_tensor(0, int64), self.count, convert_to_tensor(1, int64))
            along = execute("Pack", [convert_to_tensor(1, int64), shape[-1]], axis=0)
            self.groups = execute("Reshape", execute("Tile", numbers[:, None], along), [-1])
            self.values = execute("Reshape", tensor, [-1])


def _two(a, b, validate_indices):
    a, b = (t if isinstance(t, SparseTensor) else convert_to_tensor(t) for t in (a, b))
    if a.dtype != b.dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    a, b = _Rows(a, validate_indices), _Rows(b, validate_indices)
    if not a.static.is_compatible_with(b.static):
        raise InvalidArgumentError(
            None, None, f"Mismatched shapes {a.static} vs {b.static}: all dimensions but the last must agree."
        )
    sparse_checks.same_sizes(a.outer, b.outer, "All dimensions but the last must agree.")
    return a, b


def _sorted(groups, values, *more):
    """By set, then by value; equal elements stay in order."""
    by_value = execute("ArgSort", values, stable=True)
    by_group = execute("ArgSort", execute(_GatherV2, groups, by_value, axis=0), stable=True)
    order = execute(_GatherV2, by_value, by_group, axis=0)
    return [execute(_GatherV2, t, order, axis=0) for t in (groups, values, *more)]


def _kept(tensor, mask):
    return execute(_GatherV2, tensor, execute("Where", mask)[:, 0], axis=0)


def _equals_next(groups, values):
    """Of sorted elements: whether the next is the same; the last one has none."""
    same = execute("LogicalAnd", groups[:-1] == groups[1:], values[:-1] == values[1:])
    # As many as there are elements, also when there is none.
    last = execute("NotEqual", groups[-1:], groups[-1:])
    return execute(_ConcatV2, [same, last], axis=0)


def _distinct(groups, values):
    groups, values = _sorted(groups, values)
    last = execute("LogicalNot", _equals_next(groups, values))
    return _kept(groups, last), _kept(values, last)


def _merged(a, b):
    """The distinct elements of both, sorted, those of a before equal ones of b; and which are a's."""
    (ga, va), (gb, vb) = _distinct(a.groups, a.values), _distinct(b.groups, b.values)
    of_a = execute(_ConcatV2, [execute("Equal", ga, ga), execute("NotEqual", gb, gb)], axis=0)
    return _sorted(execute(_ConcatV2, [ga, gb], axis=0), execute(_ConcatV2, [va, vb], axis=0), of_a)


def _sparse(rows, groups, values):
    """Sorted elements of all sets as a sparse tensor, each set from its beginning."""
    counts = execute("UnsortedSegmentSum", execute("OnesLike", groups), groups, rows.count)
    starts = execute("Cumsum", counts, axis=0, exclusive=True)
    number = execute("Range", convert_to_tensor(0, int64), execute("Size", groups, out_type=int64), convert_to_tensor(1, int64))
    position = number - execute(_GatherV2, starts, groups, axis=0)
    at = groups[:, None] // rows.strides % rows.outer
    longest = execute("Max", execute(_ConcatV2, [counts, convert_to_tensor([0], int64)], axis=0), keepdims=True)
    return SparseTensor(
        execute(_ConcatV2, [at, position[:, None]], axis=1),
        values,
        execute(_ConcatV2, [rows.outer, longest], axis=0),
    )
