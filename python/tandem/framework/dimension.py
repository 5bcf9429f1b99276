"""tf.compat.v1.Dimension: one size of a shape, which may be unknown; what `TensorShape.dims` lists.

Sums and products with an unknown size are unknown, comparisons with one are None.
"""

import operator


class Dimension:
    """A size, or None."""

    __slots__ = ("_value",)

    def __init__(self, value):
        value = value._value if isinstance(value, Dimension) else value
        if value is None:
            self._value = None
            return
        try:
            self._value = operator.index(value)
        except TypeError:
            raise TypeError(
                f"Dimension value must be integer or None or have an __index__ method, got value '{value!r}' with type '{type(value)!r}'"
            ) from None
        if self._value < 0:
            raise ValueError(f"Dimension {self._value} must be >= 0")

    value = property(lambda self: self._value)

    def __index__(self):
        return self._value

    def __int__(self):
        return self._value

    def __hash__(self):
        return hash(self._value)

    def __repr__(self):
        return f"Dimension({self._value})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def is_compatible_with(self, other):
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other):
        """What both say together."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def __reduce__(self):
        return Dimension, (self._value,)

    def __truediv__(self, other):
        raise TypeError(f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use // instead")

    def __rtruediv__(self, other):
        raise TypeError(f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', please use // instead")


def as_dimension(value):
    return value if isinstance(value, Dimension) else Dimension(value)


def _values(a, b):
    try:
        return as_dimension(a)._value, as_dimension(b)._value
    except (TypeError, ValueError):
        return None


def _arithmetic(apply, turned=False):
    def method(self, other):
        pair = _values(self, other)
        if pair is None:
            return NotImplemented
        if None in pair:
            return Dimension(None)
        return Dimension(apply(*(pair[::-1] if turned else pair)))

    return method


def _comparison(apply):
    def method(self, other):
        pair = _values(self, other)
        if pair is None:
            return NotImplemented
        return None if None in pair else apply(*pair)

    return method


for _name, _apply in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod,
}.items():  # fmt: skip
    setattr(Dimension, f"__{_name}__", _arithmetic(_apply))
    setattr(Dimension, f"__r{_name}__", _arithmetic(_apply, turned=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Dimension, f"__{_name}__", _comparison(getattr(operator, _name)))
