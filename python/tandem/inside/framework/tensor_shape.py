"""tensorflow.python.framework.tensor_shape."""

from tandem.framework.shape import TensorShape, as_shape  # noqa: F401


class Dimension:
    """One size of a shape, or None: TensorFlow 1's."""

    def __init__(self, value):
        value = getattr(value, "value", value)
        self._value = None if value is None else int(value)
        if self._value is not None and self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    value = property(lambda self: self._value)

    def __index__(self):
        return self._value

    def __int__(self):
        return self._value

    def __eq__(self, other):
        other = getattr(other, "value", other)
        return None if self._value is None or other is None else self._value == other

    def __hash__(self):
        return hash(self._value)

    def __repr__(self):
        return f"Dimension({self._value})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def is_compatible_with(self, other):
        other = as_dimension(other)
        return self._value is None or other.value is None or self._value == other.value


def as_dimension(value):
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension):
    """A size of a shape as a number or None."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index):
    return Dimension(None) if shape.rank is None else Dimension(shape.dims[index])


def unknown_shape(rank=None, **kwargs):
    rank = kwargs.pop("ndims", rank)
    return TensorShape(None if rank is None else [None] * rank)


def enable_v2_tensorshape():
    """Shapes are TensorFlow 2's."""
