"""The functions that expressions in python/names.table may call besides ops."""

import collections
import math

from tandem._core import Tensor, VariableBase, as_dtype, convert_to_tensor, execute, op

_Abs, _ComplexAbs, _Add, _AddV2, _Cast = op("Abs"), op("ComplexAbs"), op("Add"), op("AddV2"), op("Cast")
_Angle, _Conj, _Imag, _Real = op("Angle"), op("Conj"), op("Imag"), op("Real")
_DivNoNan, _OnesLike, _SelectV2, _ZerosLike = op("DivNoNan"), op("OnesLike"), op("SelectV2"), op("ZerosLike")


def as_dtype_or_none(dtype):
    return None if dtype is None else as_dtype(dtype)


def cast_to(x, dtype):
    """tf.cast: no op where there is nothing to do."""
    dtype = as_dtype(dtype)
    if hasattr(x, "_cast_values"):  # IndexedSlices
        return x._cast_values(dtype)
    if isinstance(x, VariableBase) and x.dtype is dtype:
        return x  # itself, as TensorFlow: Keras takes a weight under autocast for the variable that it is
    x = convert_to_tensor(x)
    return x if x.dtype is dtype else execute(_Cast, x, dtype=dtype)


def no_axes(axis):
    """An empty list of axes reduces nothing, unlike None."""
    return isinstance(axis, (list, tuple)) and len(axis) == 0


def sizes(shape):
    """A shape given as one number is that of a vector."""
    if isinstance(shape, int) or getattr(shape, "ndim", None) == 0:
        return [shape]
    return shape


def first(pair):
    return pair[0]


def flat_ints(values):
    """[[1, 2], [3, 4]] as [1, 2, 3, 4]."""
    return [int(v) for row in values for v in row]


def add(x, y):
    if isinstance(x, (Tensor, VariableBase)) or isinstance(y, (Tensor, VariableBase)):
        return x + y
    if hasattr(x, "with_flat_values") or hasattr(y, "with_flat_values"):  # ragged
        return x + y
    x = convert_to_tensor(x)
    return execute(_Add if x.dtype.name == "string" else _AddV2, x, y)


def true_divide(x, y):
    if isinstance(x, (Tensor, VariableBase)) or isinstance(y, (Tensor, VariableBase)):
        return x / y
    return (x if hasattr(x, "with_flat_values") or hasattr(x, "dense_shape") else convert_to_tensor(x)) / y


def absolute(x):
    if hasattr(x, "with_flat_values"):
        return abs(x)
    if hasattr(x, "dense_shape") and hasattr(x, "with_values"):  # sparse
        return x.with_values(absolute(x.values))
    x = convert_to_tensor(x)
    return execute(_ComplexAbs if x.dtype.is_complex else _Abs, x)


def real_part(x):
    x = convert_to_tensor(x)
    return execute(_Real, x) if x.dtype.is_complex else x


def imaginary_part(x):
    x = convert_to_tensor(x)
    return execute(_Imag, x) if x.dtype.is_complex else execute(_ZerosLike, x)


def conjugate(x):
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return execute(_Conj, x)
    if x.dtype.is_floating or x.dtype.is_integer:
        return x
    raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}.")


def angle(x):
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        return execute(_Angle, x)
    zero = execute(_ZerosLike, x)
    return execute(_SelectV2, x < 0, zero + math.pi, zero)


def reciprocal_no_nan(x):
    x = convert_to_tensor(x)
    return execute(_DivNoNan, execute(_OnesLike, x), x)


Unique = collections.namedtuple("Unique", ["y", "idx"])
UniqueWithCounts = collections.namedtuple("UniqueWithCounts", ["y", "idx", "count"])
DecodeWav = collections.namedtuple("DecodeWav", ["audio", "sample_rate"])
TopKV2 = collections.namedtuple("TopKV2", ["values", "indices"])


def wav_pair(parts):
    return DecodeWav(*parts)


def unique_pair(parts):
    return Unique(*parts)


def unique_triple(parts):
    return UniqueWithCounts(*parts)


def top_k_pair(parts):
    return TopKV2(*parts)
