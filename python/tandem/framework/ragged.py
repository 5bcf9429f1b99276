"""tf.RaggedTensor: rows of different lengths, as the values of all rows and where each row begins.

It can be made, looked at, indexed, computed with elementwise and turned dense or sparse. Ops that take one are in
ragged_dispatch.py.
"""

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework import sparse_checks
from tandem.framework.dtypes import float32, int64
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.ragged_operators import BINARY, ELEMENTWISE, RaggedOperators, operand
from tandem.framework.ragged_text import listing
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.spec import TensorSpec, TypeSpec, ranks_only
from tandem.framework.types import CompositeTensor
from tandem.ops import check


def _integers(value, dtype=None):
    if isinstance(value, _core.Tensor):
        return value if dtype is None or value.dtype is dtype else execute("Cast", value, dtype=dtype)
    array = np.asarray(value)
    if not array.size:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"Row-partitioning tensors must have dtype int32 or int64, got {value!r}")
    kind = dtype or (as_dtype(array.dtype) if array.dtype in (np.int32, np.int64) and hasattr(value, "dtype") else int64)
    return convert_to_tensor(array, kind)


def _check(condition, message, *data):
    """Whether all hold: at once where that is known, else when the traced function runs."""
    known = _core.static_value(condition)
    if known is None:
        check.Assert(execute("All", condition), [message, *data])
    elif not np.all(known):
        shown = (part if isinstance(part, str) else str(_core.static_value(part)) for part in (message, *data))
        raise InvalidArgumentError(None, None, "".join(shown))


def _check_rows(condition, *message):
    """What TensorFlow finds wrong while it traces is a ValueError."""
    try:
        _check(condition, *message)
    except InvalidArgumentError as error:
        raise ValueError(error.message) from None


def check_splits(splits, what="RaggedTensor"):
    """Splits of `what` begin at zero and do not decrease."""
    if splits.shape[0] == 0:
        raise ValueError("row_splits tensor may not be empty")
    wrong = f"Arguments to from_row_splits do not form a valid {what}: row_splits"
    _check(splits[0] == 0, f"{wrong}[0] != 0")
    _check(splits[1:] >= splits[:-1], f"{wrong} are decreasing")


def check_rowids(ids, nrows, what="RaggedTensor"):
    """Rows in order, none of which is negative or past the last."""
    wrong = f"Arguments to from_value_rowids do not form a valid {what}: value_rowids"
    _check(ids[1:] >= ids[:-1], f"{wrong} are decreasing")
    _check(ids >= 0, f"{wrong} are negative")
    if nrows is not None:
        _check_rows(nrows >= 0, "Expected nrows >= 0; got nrows=", nrows)
        _check_rows(ids < nrows, "Expected nrows >= value_rowids[-1] + 1; got nrows=", nrows, ", value_rowids=", ids)


def _known(length):
    """A size as a Python number; None where only a run of the function knows it."""
    if isinstance(length, _core.Tensor) and length._symbolic:
        length = _core.static_value(length)
    return None if length is None else int(length)


def _values(values):
    return values if isinstance(values, RaggedTensor) else convert_to_tensor(values)


def _count(values):
    return values.nrows(int64) if isinstance(values, RaggedTensor) else execute("Shape", values, out_type=int64)[0]


def _splits(lengths):
    zero = convert_to_tensor([0], lengths.dtype)
    return execute("ConcatV2", [zero, execute("Cumsum", lengths, axis=0)], axis=0)


def row_ids(splits):
    """The number of the row of each value."""
    from tandem.ops.array import range as range_

    rows = execute("Cast", execute("Shape", splits, out_type=int64)[0] - 1, dtype=splits.dtype)
    return execute("Repeat", range_(rows), splits[1:] - splits[:-1], axis=0)


class RaggedTensor(RaggedOperators, CompositeTensor):
    """Rows of different lengths. Made by the methods from_*."""

    def __init__(self, values, row_splits, internal=False, uniform_row_length=None):
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods instead "
                "(e.g., RaggedTensor.from_row_lengths())"
            )
        self._values, self._row_splits, self._uniform = values, row_splits, uniform_row_length

    # ---- Making

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        values, splits = _values(values), _integers(row_splits)
        if splits.shape.rank != 1:
            raise ValueError(f"Shape {splits.shape} must have rank 1")
        if validate:
            check_splits(splits)
            _check(execute("Cast", splits[-1], dtype=int64) == _count(values),
                   "Arguments to from_row_splits do not form a valid RaggedTensor: row_splits[-1] != nvals")  # fmt: skip
        return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        return cls.from_row_splits(values, _splits(_integers(row_lengths)), validate=validate)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        values, starts = _values(values), _integers(row_starts)
        end = execute("Cast", execute("ExpandDims", _count(values), axis=0), dtype=starts.dtype)
        return cls.from_row_splits(values, execute("ConcatV2", [starts, end], axis=0), validate=validate)

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        limits = _integers(row_limits)
        zero = convert_to_tensor([0], limits.dtype)
        return cls.from_row_splits(values, execute("ConcatV2", [zero, limits], axis=0), validate=validate)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        values, ids = _values(values), _integers(value_rowids)
        nrows = None if nrows is None else _integers(nrows, ids.dtype)
        if validate:
            ids.shape.assert_has_rank(1)
            _check_rows(_count(values) == execute("Shape", ids, out_type=int64)[0],
                        f"Shapes {values.shape[:1]} and {ids.shape} are incompatible")  # fmt: skip
            check_rowids(ids, nrows)
        if nrows is None:
            nrows = execute("Max", execute("ConcatV2", [convert_to_tensor([-1], ids.dtype), ids], axis=0)) + 1
        ones = execute("OnesLike", ids)
        return cls(values, _splits(execute("UnsortedSegmentSum", ones, ids, nrows)), internal=True)

    @classmethod
    def from_uniform_row_length(cls, values, uniform_row_length, nrows=None, validate=True, name=None):
        from tandem.ops.array import range as range_

        values, known = _values(values), _known(uniform_row_length)
        length = execute("Cast", uniform_row_length, dtype=int64) if known is None else known
        if known is not None and known < 0:
            raise ValueError(f"uniform_row_length must be >= 0; got {known}")
        if nrows is None and known is None:
            count = execute("Cast", _count(values), dtype=int64)
            nrows = execute("DivNoNan", execute("Cast", count, dtype="float64"), execute("Cast", length, dtype="float64"))
            nrows = execute("Cast", nrows, dtype=int64)
        if nrows is None:
            nrows = execute("Cast", _count(values), dtype=int64) // length if length else 0
        rows = _integers(nrows, int64)
        if validate:
            nvals = _count(values)
            _check_rows(rows * length == nvals, f"uniform_row_length={length} times nrows=", rows,
                        " must equal nvals=", nvals)  # fmt: skip
            _check_rows(rows >= 0, "Expected nrows >= 0; got nrows=", rows)
        splits = range_(rows + 1) * length
        return cls(values, splits, internal=True, uniform_row_length=known)

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        result = _values(flat_values)
        for splits in reversed(nested_row_splits):
            result = cls.from_row_splits(result, splits, validate=validate)
        return result

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        result = _values(flat_values)
        for lengths in reversed(nested_row_lengths):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return result

    @classmethod
    def from_nested_value_rowids(cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True):
        result = _values(flat_values)
        counts = nested_nrows or [None] * len(nested_value_rowids)
        for ids, count in zip(reversed(nested_value_rowids), reversed(counts)):
            result = cls.from_value_rowids(result, ids, count, validate=validate)
        return result

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=int64):
        from tandem.framework import ragged_dense

        return ragged_dense.from_tensor(tensor, lengths, padding, ragged_rank, as_dtype(row_splits_dtype))

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=int64):
        if st_input.shape.rank not in (None, 2):
            raise ValueError(f"rank(st_input) must be 2, got a sparse tensor of shape {st_input.shape}.")
        sparse_checks.in_bounds(st_input)
        sparse_checks.ragged_right(st_input)
        rows = execute("Cast", st_input.indices[:, 0], dtype=as_dtype(row_splits_dtype))
        return cls.from_value_rowids(st_input.values, rows, st_input.dense_shape[0], validate=False)

    # ---- Looking

    values = property(lambda self: self._values)
    row_splits = property(lambda self: self._row_splits)
    dtype = property(lambda self: self._values.dtype)
    uniform_row_length = property(
        lambda self: None if self._uniform is None else convert_to_tensor(self._uniform, self._row_splits.dtype)
    )

    @property
    def ragged_rank(self):
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def flat_values(self):
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def nested_row_splits(self):
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def shape(self):
        rows = self._row_splits.shape[0]
        rows = None if rows is None else rows - 1
        inner = self._values.shape
        if inner.rank is None:
            return TensorShape(None)
        return TensorShape([rows, self._uniform, *inner[1:].as_list()])

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self.shape.assert_is_compatible_with(as_shape(shape))

    def nrows(self, out_type=None, name=None):
        n = execute("Shape", self._row_splits, out_type=int64)[0] - 1
        return execute("Cast", n, dtype=as_dtype(out_type or self._row_splits.dtype))

    def row_lengths(self, axis=1, name=None):
        if axis == 0:
            return self.nrows()
        if axis > 1:
            return self.with_values(self._values.row_lengths(axis - 1))
        return self._row_splits[1:] - self._row_splits[:-1]

    def nested_row_lengths(self, name=None):
        inner = self._values.nested_row_lengths() if isinstance(self._values, RaggedTensor) else ()
        return (self.row_lengths(), *inner)

    def value_rowids(self, name=None):
        return row_ids(self._row_splits)

    def nested_value_rowids(self, name=None):
        inner = self._values.nested_value_rowids() if isinstance(self._values, RaggedTensor) else ()
        return (self.value_rowids(), *inner)

    def row_starts(self, name=None):
        return self._row_splits[:-1]

    def row_limits(self, name=None):
        return self._row_splits[1:]

    def bounding_shape(self, axis=None, name=None, out_type=None):
        out_type = as_dtype(out_type or self._row_splits.dtype)
        sizes, level = [self.nrows(out_type)], self
        while isinstance(level, RaggedTensor):
            # A row of no length in front: there may be no rows, which a trace does not know.
            lengths = execute("ConcatV2", [convert_to_tensor([0], level._row_splits.dtype), level.row_lengths()], axis=0)
            sizes.append(execute("Cast", execute("Max", lengths), dtype=out_type))
            level = level.values
        inner = execute("Shape", self.flat_values, out_type=out_type)[1:]
        whole = execute("ConcatV2", [execute("Pack", sizes, axis=0), inner], axis=0)
        return whole if axis is None else execute("GatherV2", whole, axis)

    def to_list(self):
        rows = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        splits = self._row_splits.numpy().tolist()
        return [rows[a:b] for a, b in zip(splits, splits[1:])]

    def numpy(self):
        rows = self._values.numpy()
        splits = self._row_splits.numpy()
        parts = [rows[a:b] for a, b in zip(splits, splits[1:])]
        if len({len(p) for p in parts}) <= 1 and not any(p.dtype == object and p.ndim > 1 for p in parts):
            return np.array(parts)
        out = np.empty([len(parts)], object)
        out[:] = parts
        return out

    # ---- Turning into something else

    def with_values(self, new_values):
        new_values = _values(new_values)
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        return RaggedTensor(new_values, self._row_splits, internal=True, uniform_row_length=self._uniform)

    def with_flat_values(self, new_values):
        inner = self._values
        return self.with_values(inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values)

    def with_row_splits_dtype(self, dtype):
        inner = self._values
        inner = inner.with_row_splits_dtype(dtype) if isinstance(inner, RaggedTensor) else inner
        splits = execute("Cast", self._row_splits, dtype=as_dtype(dtype))
        return RaggedTensor(inner, splits, internal=True, uniform_row_length=self._uniform)

    def with_outer_dimensions(self, like):
        """The rows in the outer dimensions of a dense tensor that had one element for each row."""
        from tandem.ops.array import range as range_

        result, sizes = self, execute("Shape", like, out_type=int64)
        for axis in range(like.shape.rank - 1, 0, -1):
            rows = execute("Prod", sizes[:axis], axis=[0])  # not from the values: of none there may be any number of rows
            splits = execute("Cast", range_(rows + 1) * sizes[axis], dtype=self._row_splits.dtype)
            result = RaggedTensor(result, splits, internal=True, uniform_row_length=like.shape[axis])
        return result

    def to_tensor(self, default_value=None, name=None, shape=None):
        inner = self._values.to_tensor(default_value) if isinstance(self._values, RaggedTensor) else self._values
        columns = execute("Cast", self.bounding_shape(1), dtype=int64)
        rows = self.nrows(int64)
        ids = execute("Cast", self.value_rowids(), dtype=int64)
        starts = execute("GatherV2", execute("Cast", self.row_starts(), dtype=int64), ids)
        from tandem.ops.array import range as range_

        places = range_(execute("Shape", ids, out_type=int64)[0]) - starts
        size = execute("ConcatV2", [execute("Pack", [rows, columns], axis=0),
                                    execute("Shape", inner, out_type=int64)[1:]], axis=0)  # fmt: skip
        empty = "" if inner.dtype.name == "string" else 0
        fill = convert_to_tensor(empty if default_value is None else default_value, inner.dtype)
        if inner.shape.rank is not None and (fill.shape.rank or 0) >= inner.shape.rank:
            raise ValueError(f"default_value of shape {fill.shape} must have a lower rank than the values of {inner.shape}")
        dense = execute("TensorScatterUpdate", execute("BroadcastTo", fill, size),
                        execute("Pack", [ids, places], axis=1), inner)  # fmt: skip
        return dense if shape is None else _fit(dense, _sizes_of(shape, dense), fill)

    def merge_dims(self, outer_axis, inner_axis):
        """The dimensions from one axis to another as one."""
        rank = self.shape.rank
        outer, inner = (a + rank if a < 0 else a for a in (outer_axis, inner_axis))
        if not 0 <= outer < inner < rank:
            raise ValueError(f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis ({inner_axis})"
                             if outer > inner else f"Axes {outer_axis} and {inner_axis} are not those of rank {rank}.")  # fmt: skip
        if outer > 1:
            inside = self._values
            ragged = isinstance(inside, RaggedTensor)
            merged = inside.merge_dims(outer - 1, inner - 1) if ragged else _merge_dense(inside, outer - 1, inner - 1)
            return self.with_values(merged)
        if outer == 1:
            result = self
            for _ in range(inner - 1):
                result = result._joined()
            return result
        merged = self._values
        if inner == 1:
            return merged
        return merged.merge_dims(0, inner - 1) if isinstance(merged, RaggedTensor) else _merge_dense(merged, 0, inner - 1)

    def _joined(self):
        """Dimensions 1 and 2 as one."""
        inside = self._values
        if isinstance(inside, RaggedTensor):
            splits = execute("GatherV2", inside.row_splits, self._row_splits)
            return RaggedTensor(inside.values, splits, internal=True)
        width = execute("Shape", inside, out_type=self._row_splits.dtype)[1]
        return RaggedTensor(_merge_dense(inside, 0, 1), self._row_splits * width, internal=True)

    def to_sparse(self, name=None):
        from tandem.framework.sparse import SparseTensor
        from tandem.ops.array import range as range_

        if isinstance(self._values, RaggedTensor):
            raise NotImplementedError("RaggedTensor.to_sparse takes one ragged dimension in Tandem.")
        ids = execute("Cast", self.value_rowids(), dtype=int64)
        starts = execute("GatherV2", execute("Cast", self.row_starts(), dtype=int64), ids)
        places = range_(execute("Shape", ids, out_type=int64)[0]) - starts
        return SparseTensor(execute("Pack", [ids, places], axis=1), self._values, self.bounding_shape(out_type=int64))

    @property
    def _type_spec(self):
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def _cast_values(self, dtype):
        return self.with_flat_values(execute("Cast", self.flat_values, dtype=as_dtype(dtype)))

    # As an argument or result of functions, loops and branches.
    _tf_counted_by_data = (0,)  # of the components: the values

    def _tf_components(self):
        return [self._values, self._row_splits]

    def _tf_key(self):
        return self._uniform

    def _tf_rebuild(self, parts):
        return RaggedTensor(*parts, internal=True, uniform_row_length=self._uniform)

    def consumers(self):
        return []

    def __tf_dispatch__(self, op, inputs, attrs):
        """Runs an op that has a ragged input: elementwise on the values, sums and the like by rows."""
        # Of other ops than binary ones only the first operand may be ragged.
        if op in ELEMENTWISE and (op in BINARY or not any(isinstance(x, RaggedTensor) for x in inputs[1:])):
            like = next(x for x in inputs if isinstance(x, RaggedTensor))
            flat = [operand(x, like) if i == 0 or op in BINARY else x for i, x in enumerate(inputs)]
            return like.with_flat_values(execute(op, *flat, **attrs))
        if op in ("Shape", "Reshape", "BroadcastTo") and self is inputs[0]:
            return self._shaped(op, *inputs[1:], **attrs)
        from tandem.framework.ragged_dispatch import handler

        found = handler(op)
        if found is not None:
            return found(inputs, attrs)
        raise ValueError(
            f"{op} takes no tf.RaggedTensor in Tandem: turn it dense with to_tensor(), or use its flat_values."
        )

    def _shaped(self, op, shape=None, out_type=None):
        """tf.shape of it, and tf.reshape and tf.broadcast_to of it to a shape."""
        from tandem.framework import ragged_reshape
        from tandem.framework.ragged_shape import DynamicRaggedShape

        if op == "Shape":
            return ragged_reshape.shape_of(self, out_type or "int32")
        if isinstance(shape, DynamicRaggedShape):
            return getattr(ragged_reshape, "reshape" if op == "Reshape" else "broadcast_to")(self, shape)
        if op == "Reshape":
            return execute("Reshape", self.flat_values, shape)
        raise ValueError("A tf.RaggedTensor is broadcast to a tf.experimental.DynamicRaggedShape.")

    # ---- Python's operators

    def __getitem__(self, key):
        from tandem.framework.ragged_index import item

        return item(self, key if isinstance(key, tuple) else (key,))

    # No len(): NumPy would take a ragged tensor apart.
    def __iter__(self):
        return (self[i] for i in range(int(self.nrows())))

    def __repr__(self):
        if _core.static_value(self._row_splits) is None:
            return f"tf.RaggedTensor(values={self._values!s}, row_splits={self._row_splits!s})"
        return f"<tf.RaggedTensor {listing(self)}>"

    __hash__ = object.__hash__


def _merge_dense(tensor, outer, inner):
    shape = execute("Shape", tensor)
    return execute("Reshape", tensor, execute("ConcatV2", [shape[:outer], [-1], shape[inner + 1 :]], axis=0))


def _sizes_of(shape, dense):
    """The sizes of a shape; where it is a tensor as tensors, in which -1 stands for what there is."""
    if not isinstance(shape, _core.Tensor) or _core.static_value(shape) is not None:
        return as_shape(shape).as_list()
    rank = dense.shape.rank if shape.shape[0] is None else shape.shape[0]
    shape = execute("Cast", shape, dtype=int64)
    there = execute("Shape", dense, out_type=int64)[:rank]
    shape = execute("SelectV2", shape < 0, there, shape)
    return [shape[i] for i in range(rank)]


def _fit(dense, shape, fill):
    """Cut and padded to a shape, as far as that is known."""
    shape = shape + [None] * (dense.shape.rank - len(shape))
    cut = dense[tuple(slice(0, s) for s in shape)]
    sizes = execute("Shape", cut, out_type=int64)
    wanted = execute("Pack", [sizes[i] if s is None else convert_to_tensor(s, sizes.dtype) for i, s in enumerate(shape)], axis=0)
    missing = wanted - sizes
    padded = execute("PadV2", cut, execute("Pack", [execute("ZerosLike", missing), missing], axis=1), fill)
    padded.set_shape([None if isinstance(s, _core.Tensor) else s for s in shape])
    return padded


class RaggedTensorSpec(TypeSpec):
    """Shape, dtype and ragged rank of a ragged tensor."""

    def __init__(self, shape=None, dtype=float32, ragged_rank=None, row_splits_dtype=int64, flat_values_spec=None):
        self._shape = as_shape(shape)
        self._dtype = as_dtype("float32" if dtype is None else dtype)
        rank = self._shape.rank
        self._ragged_rank = (0 if rank is None else rank - 1) if ragged_rank is None else ragged_rank
        self._row_splits_dtype = as_dtype(row_splits_dtype)

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)
    ragged_rank = property(lambda self: self._ragged_rank)
    row_splits_dtype = property(lambda self: self._row_splits_dtype)
    value_type = property(lambda self: RaggedTensor)

    def _parts(self):
        return (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)

    _serialize = _parts

    @classmethod
    def _deserialize(cls, encoded):
        return cls(*encoded[:4])

    def _with_tensor_ranks_only(self):
        return RaggedTensorSpec(ranks_only(self._shape), *self._parts()[1:])

    def __eq__(self, other):
        return isinstance(other, RaggedTensorSpec) and self._parts() == other._parts()

    def __hash__(self):
        return hash(self._parts())

    def most_specific_compatible_type(self, other):
        if not isinstance(other, RaggedTensorSpec) or self._parts()[1:] != other._parts()[1:]:
            self._refuse(other)
        return RaggedTensorSpec(self._shape.most_specific_compatible_shape(other._shape), *self._parts()[1:])

    def is_compatible_with(self, spec_or_value):
        if not self._ragged_rank and isinstance(spec_or_value, (_core.Tensor, TensorSpec)):
            return TensorSpec(self._shape, self._dtype).is_compatible_with(spec_or_value)
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else getattr(spec_or_value, "_type_spec", None)
        return (
            isinstance(other, RaggedTensorSpec)
            and self._parts()[1:] == other._parts()[1:]
            and self._shape.is_compatible_with(other._shape)
        )

    # As an argument of functions: made of the specs of its values and of where rows begin.
    def _tf_components(self):
        shape = self._shape
        if not self._ragged_rank:
            return [TensorSpec(shape, self._dtype)]
        inner = TensorShape(None) if shape.rank is None else TensorShape([None, *shape.as_list()[2:]])
        values = (
            RaggedTensorSpec(inner, self._dtype, self._ragged_rank - 1, self._row_splits_dtype)
            if self._ragged_rank > 1
            else TensorSpec(inner, self._dtype)
        )
        rows = None if shape.rank is None or shape[0] is None else shape[0] + 1
        return [values, TensorSpec([rows], self._row_splits_dtype)]

    def _tf_key(self):
        rank = self._shape.rank
        return self._shape[1] if rank is not None and rank > 1 and self._ragged_rank else None

    def _tf_accepts(self, value):
        return isinstance(value, RaggedTensor) and value.ragged_rank == self._ragged_rank

    def _tf_rebuild(self, parts):
        if all(isinstance(part, TypeSpec) for part in parts):
            return self
        if not self._ragged_rank:
            return parts[0]
        return RaggedTensor(*parts, internal=True, uniform_row_length=self._tf_key())

    def __repr__(self):
        return f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._ragged_rank}, {self._row_splits_dtype!r})"
