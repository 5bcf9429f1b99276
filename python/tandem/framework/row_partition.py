"""tf.experimental.RowPartition: how a list of values is cut into rows. Kept as where rows begin and end."""

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import int64
from tandem.framework.ragged import RaggedTensor, _check, _integers, _splits, check_rowids, check_splits, row_ids
from tandem.framework.types import CompositeTensor


def _as(value, dtype):
    """Integers of a dtype: int32 and int64 stay what they are when none is given."""
    return _integers(value, None if dtype is None else as_dtype(dtype))


def _as_scalar(value, dtype):
    return _as(value, dtype) if isinstance(value, _core.Tensor) else convert_to_tensor(int(value), dtype)


class RowPartition(CompositeTensor):
    """A partition of values into rows. Made by the methods from_*."""

    def __init__(self, row_splits, uniform_row_length=None, internal=False):
        if not internal:
            raise ValueError(
                "RowPartition constructor is private; please use one of the factory methods instead "
                "(e.g., RowPartition.from_row_lengths())"
            )
        self._row_splits, self._uniform = row_splits, uniform_row_length

    # ---- Making

    @classmethod
    def from_row_splits(cls, row_splits, validate=True, dtype=None, dtype_hint=None):
        splits = _as(row_splits, dtype)
        if splits.shape.rank != 1:
            raise ValueError(f"Shape {splits.shape} must have rank 1")
        if validate:
            check_splits(splits, cls.__name__)
        return cls(splits, internal=True)

    @classmethod
    def from_row_lengths(cls, row_lengths, validate=True, dtype=None, dtype_hint=None):
        lengths = _as(row_lengths, dtype)
        if validate:
            _check(lengths >= 0, "Arguments to from_row_lengths do not form a valid RowPartition: negative length")
        return cls(_splits(lengths), internal=True)

    @classmethod
    def from_row_starts(cls, row_starts, nvals, validate=True, dtype=None, dtype_hint=None):
        starts = _as(row_starts, dtype)
        end = execute("ExpandDims", _as_scalar(nvals, starts.dtype), axis=0)
        return cls.from_row_splits(execute("ConcatV2", [starts, end], axis=0), validate)

    @classmethod
    def from_row_limits(cls, row_limits, validate=True, dtype=None, dtype_hint=None):
        limits = _as(row_limits, dtype)
        return cls.from_row_splits(execute("ConcatV2", [convert_to_tensor([0], limits.dtype), limits], axis=0), validate)

    @classmethod
    def from_value_rowids(cls, value_rowids, nrows=None, validate=True, dtype=None, dtype_hint=None):
        ids = _as(value_rowids, dtype)
        nrows = None if nrows is None else _as_scalar(nrows, ids.dtype)
        if validate:
            check_rowids(ids, nrows, cls.__name__)
        if nrows is None:
            # One more than the last id; the zero is for no ids at all.
            nrows = execute("Max", execute("ConcatV2", [ids + 1, convert_to_tensor([0], ids.dtype)], axis=0))
        lengths = execute("UnsortedSegmentSum", execute("OnesLike", ids), ids, nrows)
        return cls(_splits(lengths), internal=True)

    @classmethod
    def from_uniform_row_length(
        cls, uniform_row_length, nvals=None, nrows=None, validate=True, dtype=None, dtype_hint=None
    ):
        if nvals is None and nrows is None:
            raise ValueError("At least one of nvals and nrows must be specified.")
        kind = as_dtype(dtype or int64)
        length = _as_scalar(uniform_row_length, kind)
        known = _core.static_value(length)
        if validate:
            _check(length >= 0, "uniform_row_length must be >= 0")
        if nrows is None:
            zero = known is not None and int(known) == 0
            nrows = 0 if zero else execute("FloorDiv", _as_scalar(nvals, kind), length)
        nrows = _as_scalar(nrows, kind)
        if validate:
            _check(nrows >= 0, "nrows must be >= 0")
        if validate and nvals is not None:
            _check(nrows * length == _as_scalar(nvals, kind), "nvals must be nrows times uniform_row_length")
        from tandem.ops.array import range as range_

        splits = range_(nrows + 1) * length
        return cls(splits, None if known is None else int(known), internal=True)

    # ---- Looking

    @property
    def dtype(self):
        return self._row_splits.dtype

    @property
    def static_nrows(self):
        count = self._row_splits.shape[0]
        return None if count is None else count - 1

    @property
    def static_nvals(self):
        known = _core.static_value(self._row_splits)
        return None if known is None else int(known[-1])

    @property
    def static_uniform_row_length(self):
        return self._uniform

    def row_splits(self):
        return self._row_splits

    def row_starts(self):
        return self._row_splits[:-1]

    def row_limits(self):
        return self._row_splits[1:]

    def row_lengths(self):
        return self._row_splits[1:] - self._row_splits[:-1]

    def nrows(self):
        return execute("Cast", execute("Shape", self._row_splits, out_type=int64)[0] - 1, dtype=self.dtype)

    def nvals(self):
        return self._row_splits[-1]

    def uniform_row_length(self):
        return None if self._uniform is None else convert_to_tensor(self._uniform, self.dtype)

    def is_uniform(self):
        return self._uniform is not None

    def value_rowids(self):
        return row_ids(self._row_splits)

    def offsets_in_rows(self):
        """The place of each value in its row."""
        from tandem.ops.array import range as range_

        return range_(self.nvals()) - execute("GatherV2", self.row_starts(), self.value_rowids())

    def with_dtype(self, dtype):
        return RowPartition(execute("Cast", self._row_splits, dtype=as_dtype(dtype)), self._uniform, internal=True)

    def _tf_components(self):
        return [self._row_splits]

    def _tf_key(self):
        return self._uniform

    def _tf_rebuild(self, parts):
        return RowPartition(parts[0], self._uniform, internal=True)

    def __repr__(self):
        if self._uniform is not None:
            return f"tf.RowPartition(nrows={self.static_nrows}, uniform_row_length={self._uniform})"
        known = _core.static_value(self._row_splits)
        return f"tf.RowPartition(row_splits={self._row_splits if known is None else known})"


def partitions_of(value):
    """The partitions of a ragged tensor, outermost first."""
    found = []
    while isinstance(value, RaggedTensor):
        found.append(RowPartition(value.row_splits, value._uniform, internal=True))
        value = value.values
    return found
