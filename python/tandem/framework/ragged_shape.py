"""tf.experimental.DynamicRaggedShape: the shape of a ragged tensor, with the lengths of its rows."""

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import int64
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.ragged import RaggedTensor
from tandem.framework.row_partition import RowPartition, partitions_of
from tandem.framework.shape import TensorShape
from tandem.framework.types import CompositeTensor


class DynamicRaggedShape(CompositeTensor):
    """Row partitions for the outer dimensions, and the dense shape of the values inside.

    The values inside have the shape `inner_shape`, whose first dimension is the number of values of the last partition.
    """

    def __init__(self, row_partitions, inner_shape, dtype=None, validate=False, static_inner_shape=None):
        partitions = tuple(row_partitions)
        if not all(isinstance(p, RowPartition) for p in partitions):
            raise TypeError("row_partitions should be a list of RowPartitions.")
        kind = as_dtype(dtype) if dtype is not None else partitions[0].dtype if partitions else None
        shape = inner_shape if isinstance(inner_shape, _core.Tensor) else convert_to_tensor(
            np.asarray(TensorShape(inner_shape).as_list() if isinstance(inner_shape, TensorShape) else inner_shape),
            kind or int64,
        )  # fmt: skip
        kind = kind or shape.dtype
        if partitions and shape.shape.rank == 1 and shape.shape[0] == 0:
            raise ValueError("If row_partitions are provided, must have inner_rank > 0")
        self._partitions = tuple(p if p.dtype is kind else p.with_dtype(kind) for p in partitions)
        self._inner = shape if shape.dtype is kind else execute("Cast", shape, dtype=kind)
        if validate:
            for outer, inner in zip(self._partitions, [*self._partitions[1:], None]):
                count = self._inner[0] if inner is None else inner.nrows()
                known = _core.static_value(execute("Equal", outer.nvals(), count))
                if known is not None and not known:
                    raise InvalidArgumentError(None, None, "The rows of a partition are not the values of the one before.")

    # ---- Making

    @classmethod
    def from_lengths(cls, lengths, num_row_partitions=None, dtype=int64):
        """From the size of each dimension: a number, or a list of them where rows differ."""
        lengths = [int(n) if isinstance(n, (int, np.integer)) else tuple(int(v) for v in n) for n in lengths]
        if lengths and not isinstance(lengths[0], int):
            raise ValueError("The outermost dimension must be a number, not a list of lengths.")
        ragged = [i for i, n in enumerate(lengths) if not isinstance(n, int)]
        needed = max(ragged, default=0)
        if num_row_partitions is None:
            num_row_partitions = needed
        if not isinstance(num_row_partitions, int):
            raise ValueError("num_row_partitions should be an int or None")
        if not needed <= num_row_partitions < max(len(lengths), 1):
            raise ValueError(f"num_row_partitions is {num_row_partitions}; for these lengths it can be {needed} to {len(lengths) - 1}.")
        partitions, count = [], lengths[0] if lengths else None
        for n in lengths[1 : num_row_partitions + 1]:
            if isinstance(n, int):
                partitions.append(RowPartition.from_uniform_row_length(n, nrows=count, dtype=dtype))
                count *= n
            else:
                if len(n) != count:
                    raise ValueError(f"There are {count} rows, but {len(n)} lengths: {n}.")
                partitions.append(RowPartition.from_row_lengths(np.asarray(n, np.int64), dtype=dtype))
                count = sum(n)
        inner = [] if count is None else [count, *lengths[num_row_partitions + 1 :]]
        return cls(partitions, np.asarray(inner, np.int64), dtype=dtype)

    @classmethod
    def from_row_partitions(cls, row_partitions, dtype=None):
        if not row_partitions:
            raise ValueError("row_partitions cannot be empty")
        return cls(row_partitions, execute("ExpandDims", row_partitions[-1].nvals(), axis=0), dtype=dtype)

    @classmethod
    def from_tensor(cls, t, dtype=None):
        """The shape of a tensor, ragged or not."""
        if isinstance(t, DynamicRaggedShape):
            raise TypeError("from_tensor takes a tensor, not its shape.")
        kind = as_dtype(dtype) if dtype is not None else t.row_splits.dtype if isinstance(t, RaggedTensor) else int64
        flat = t.flat_values if isinstance(t, RaggedTensor) else convert_to_tensor(t)
        return cls(partitions_of(t), execute("Shape", flat, out_type=kind), dtype=kind)

    # ---- Looking

    row_partitions = property(lambda self: self._partitions)
    num_row_partitions = property(lambda self: len(self._partitions))
    inner_shape = property(lambda self: self._inner)
    dtype = property(lambda self: self._inner.dtype)

    @property
    def inner_rank(self):
        return self._inner.shape[0]

    @property
    def rank(self):
        return None if self.inner_rank is None else self.inner_rank + len(self._partitions)

    def with_dtype(self, dtype):
        return DynamicRaggedShape(self._partitions, self._inner, dtype=dtype)

    def is_uniform(self, axis):
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0 or (self.rank is not None and axis >= self.rank):
            raise IndexError(f"Expected 0 <= axis < {self.rank}, got {axis}.")
        return axis == 0 or axis > len(self._partitions) or self._partitions[axis - 1].is_uniform()

    def static_lengths(self, ragged_lengths=True):
        """The size of each dimension as from_lengths takes them; None where it is not known."""
        if self.rank is None:
            return [Ellipsis]
        known = _core.static_value(self._inner)
        inner = [None] * self.inner_rank if known is None else [int(n) for n in known]
        if not self._partitions:
            return inner
        sizes = [self._partitions[0].static_nrows]
        for partition in self._partitions:
            lengths = _core.static_value(partition.row_lengths())
            if partition.is_uniform():
                sizes.append(partition.static_uniform_row_length)
            elif ragged_lengths and lengths is not None:
                sizes.append(tuple(int(n) for n in lengths))
            else:
                sizes.append(None)
        return [*sizes, *inner[1:]]

    @property
    def static_shape(self):
        return TensorShape([n if isinstance(n, int) else None for n in self.static_lengths(False)])

    def _to_tensor_shape(self):
        return self.static_shape

    def __getitem__(self, index):
        """The size of a dimension that is uniform, or the shape of the outer dimensions."""
        if isinstance(index, slice):
            lengths = self.static_lengths()[index]
            if index.start not in (None, 0):
                if any(not isinstance(n, int) for n in lengths):
                    raise ValueError("Slices of a DynamicRaggedShape that begin inside it must be uniform.")
                return convert_to_tensor(np.asarray(lengths, np.int64), self.dtype)
            return DynamicRaggedShape.from_lengths(lengths, dtype=self.dtype)
        rank = self.rank
        axis = index + rank if index < 0 else index
        if not 0 <= axis < rank:
            raise IndexError(f"Index must be in [-{rank}, {rank}), got {index}.")
        if axis == 0:
            return self._partitions[0].nrows() if self._partitions else self._inner[0]
        if axis <= len(self._partitions):
            length = self._partitions[axis - 1].uniform_row_length()
            if length is None:
                raise ValueError(f"Index {index} is not uniform")
            return length
        return self._inner[axis - len(self._partitions)]

    def __eq__(self, other):
        return isinstance(other, DynamicRaggedShape) and self.static_lengths() == other.static_lengths()

    def __hash__(self):
        return hash(str(self.static_lengths()))

    def __repr__(self):
        sizes = ", ".join("..." if n is Ellipsis else str(n) for n in self.static_lengths())
        return f"<DynamicRaggedShape lengths=[{sizes}] num_row_partitions={len(self._partitions)}>"

    # ---- As a value made of tensors

    def _tf_components(self):
        return [*self._partitions, self._inner]

    def _tf_rebuild(self, parts):
        made = DynamicRaggedShape.__new__(DynamicRaggedShape)
        made._partitions, made._inner = tuple(parts[:-1]), parts[-1]
        return made

    def __tf_dispatch__(self, op, inputs, attrs):
        """tf.reshape and tf.broadcast_to with such a shape."""
        from tandem.framework import ragged_reshape

        if op == "Reshape" and inputs[1] is self:
            return ragged_reshape.reshape(inputs[0], self)
        if op == "BroadcastTo" and inputs[1] is self:
            return ragged_reshape.broadcast_to(inputs[0], self)
        raise TypeError(f"{op} takes no tf.experimental.DynamicRaggedShape.")
