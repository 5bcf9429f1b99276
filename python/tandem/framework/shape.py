"""tf.TensorShape: dimensions of a tensor, any of which (or their number) may be unknown."""

import sys

from tandem import _core
from tandem.framework.dimension import Dimension


def _asked_from_outside():
    """Whether code that is not Tandem's asks for a size."""
    return not sys._getframe(2).f_globals.get("__name__", "").startswith(("tandem.", "keras."))


_dimensions = None  # Dimension in TensorFlow 1's form; None: sizes are numbers


def use_dimensions(on):
    """Whether the sizes of shapes are TensorFlow 1's Dimensions, where one asks for them."""
    global _dimensions  # noqa: PLW0603
    _dimensions = Dimension if on else None


def _dimension(value):
    if value is None:
        return None
    if hasattr(value, "__index__"):
        value = value.__index__()
    elif isinstance(value, str) or not hasattr(value, "value"):
        raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value '{value!r}'")
    else:
        value = value.value
    if value is not None and value < 0:
        if value == -1:
            return None
        raise ValueError(f"Dimension {value} must be >= 0")
    return value


class TensorShape:
    """The shape of a tensor: a tuple of integers or None, or nothing at all."""

    __slots__ = ("_dims",)

    def __init__(self, dims):
        if isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        elif isinstance(dims, (list, tuple)):
            self._dims = tuple(map(_dimension, dims))
        elif hasattr(dims, "__iter__"):
            self._dims = tuple(map(_dimension, dims))
        else:
            self._dims = (_dimension(dims),)

    @property
    def rank(self):
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self):
        return self.rank

    @property
    def dims(self):
        """The sizes as Dimensions; None where their number is unknown. `as_list()` gives numbers."""
        return None if self._dims is None else [Dimension(size) for size in self._dims]

    def _known(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return self._dims

    def __len__(self):
        return len(self._known())

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return map(_dimensions, self._dims) if _dimensions is not None and _asked_from_outside() else iter(self._dims)

    def __getitem__(self, key):
        if self._dims is not None:
            part = self._dims[key]
            if isinstance(key, slice):
                return TensorShape(part)
            return _dimensions(part) if _dimensions is not None and _asked_from_outside() else part
        if not isinstance(key, slice):
            return _dimensions(None) if _dimensions is not None and _asked_from_outside() else None
        start, stop = key.start or 0, key.stop
        if key.step is not None or stop is None or start < 0 or stop < 0:
            return TensorShape(None)
        return TensorShape([None] * max(stop - start, 0))

    def num_elements(self):
        if not self.is_fully_defined():
            return None
        size = 1
        for dim in self._dims:
            size *= dim
        return size

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def as_list(self):
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def is_compatible_with(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims)
        )

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_same_rank(self, other):
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank):
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank):
        return self.merge_with(TensorShape([None] * rank))

    def with_rank_at_least(self, rank):
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def merge_with(self, other):
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other._dims)])

    def concatenate(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def most_specific_compatible_shape(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None or len(self) != len(other):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims)])

    def most_specific_common_supertype(self, others):
        """The most specific shape that takes in this one and all others."""
        shape = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            shape = shape.most_specific_compatible_shape(other)
        return shape

    def is_subtype_of(self, other):
        if other._dims is None:
            return True
        return self._dims is not None and len(self) == len(other) and all(
            b is None or a == b for a, b in zip(self._dims, other._dims)
        )

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def __eq__(self, other):
        try:
            return self._dims == as_shape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        return hash(self._dims)

    def __reduce__(self):
        return TensorShape, (None if self._dims is None else list(self._dims),)

    def __str__(self):
        if _dimensions is not None and self._dims is not None:
            inner = ", ".join("?" if d is None else str(d) for d in self._dims)
            return f"({inner},)" if len(self._dims) == 1 else f"({inner})"
        return "<unknown>" if self._dims is None else str(self._dims)

    def __repr__(self):
        return f"TensorShape({None if self._dims is None else list(self._dims)})"


def as_shape(shape):
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


_core.register_tensor_shape(TensorShape)
