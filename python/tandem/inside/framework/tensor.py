"""tensorflow.python.framework.tensor."""

from tandem._core import Tensor  # noqa: F401
from tandem.framework.spec import TensorSpec

DenseSpec = TensorSpec


class BoundedTensorSpec(TensorSpec):
    """A spec whose values lie between two bounds."""

    def __init__(self, shape, dtype, minimum, maximum, name=None):
        import numpy as np

        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError("`minimum` and `maximum` can not be None. Specify the bounds.")
        kind = self.dtype.as_numpy_dtype
        self._minimum, self._maximum = np.array(minimum, kind), np.array(maximum, kind)
        for bound in (self._minimum, self._maximum):
            bound.setflags(write=False)
            try:
                np.broadcast_shapes(bound.shape, tuple(n or 1 for n in self.shape))
            except ValueError:
                raise ValueError(f"A bound of shape {bound.shape} does not fit the shape {self.shape}.") from None

    @classmethod
    def from_spec(cls, spec):
        low = getattr(spec, "minimum", spec.dtype.min)
        high = getattr(spec, "maximum", spec.dtype.max)
        return cls(spec.shape, spec.dtype, low, high, spec.name)

    minimum = property(lambda self: self._minimum)
    maximum = property(lambda self: self._maximum)

    def __eq__(self, other):
        import numpy as np

        return (
            isinstance(other, BoundedTensorSpec)
            and TensorSpec(self.shape, self.dtype, self.name) == TensorSpec(other.shape, other.dtype, other.name)
            and np.array_equal(self.minimum, other.minimum)
            and np.array_equal(self.maximum, other.maximum)
        )

    def __hash__(self):
        return hash((tuple(self.shape), self.dtype))

    def __reduce__(self):
        return BoundedTensorSpec, (self.shape, self.dtype, self._minimum, self._maximum, self.name)

    def __repr__(self):
        return (
            f"BoundedTensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r}, "
            f"minimum={self.minimum!r}, maximum={self.maximum!r})"
        )


def sanitize_spec_name(name):
    """A name that an op may have."""
    if not name:
        return "unknown"
    clean = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).lower()
    return clean if clean[0].isalpha() else "tensor_" + clean


def enable_tensor_equality():
    """`==` compares values."""
