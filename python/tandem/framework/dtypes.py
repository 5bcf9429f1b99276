"""The dtypes, and those parts of tf.DType that are easier in Python than in C++."""

import numpy as np

from tandem import _core

# TensorFlow's numbers in its protocol buffers.
_ENUM = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8,
    "int64": 9, "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "resource": 20,
    "variant": 21, "uint32": 22, "uint64": 23,
}  # fmt: skip

DType = _core.DType


def _info(self):
    kind = self.as_numpy_dtype
    if self.name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(kind)
    return np.finfo(kind) if self.is_floating or self.is_complex else np.iinfo(kind)


def _extreme(self, which):
    if self.is_bool or self.is_complex or not self.is_numeric:
        raise TypeError(f"Cannot find {which}imum value of {self} with type {self}.")
    return getattr(_info(self), which)


def _limits(self):
    """The values of images and the like: all of an integer dtype from 0, up to 1 for fractions."""
    if self.is_bool:
        return (0, True)
    if self.is_integer:
        return (0, self.max)
    if self.name in ("float32", "float64"):
        return (0, 1)
    raise ValueError(f"{self} does not have defined limits.")


def _from_name(name):
    """For pickles, which cannot name native functions."""
    return _core.as_dtype(name)


DType.__repr__ = lambda self: f"tf.{self.name}"
DType.__str__ = lambda self: f"<dtype: '{self.name}'>"
DType.__reduce__ = lambda self: (_from_name, (self.name,))
DType.__int__ = lambda self: _ENUM[self.name]
DType.as_datatype_enum = property(lambda self: _ENUM[self.name])
DType.base_dtype = property(lambda self: self)
DType.is_quantized = property(lambda self: False)
DType.max = property(lambda self: True if self.is_bool else _extreme(self, "max"))
DType.min = property(lambda self: _extreme(self, "min"))
DType.limits = property(_limits)
DType.is_compatible_with = lambda self, other: _core.as_dtype(other) is self
DType.is_subtype_of = lambda self, other: other is self
DType.most_specific_common_supertype = lambda self, others: self if all(o is self for o in others) else None

for _dtype in _core.all_dtypes():
    globals()[_dtype.name] = _dtype
