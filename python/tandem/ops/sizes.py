"""Sizes and indices that an op takes as int32, or that must be of one dtype: what does not fit is an error, never
another number."""

import functools
import operator

import numpy as np

from tandem import _core
from tandem._core import convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import int32, int64
from tandem.framework.errors import InvalidArgumentError, ResourceExhaustedError
from tandem.ops import check
from tandem.ops.math import saturate_cast

_LEAST, _MOST = -(2**31), 2**31 - 1


def whole(value, what):
    """A Python integer that fits int64."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be an integer, got {value!r}.") from None
    if not -(2**63) <= number < 2**63:
        raise InvalidArgumentError(None, None, f"{what} {number} is out of the range of int64.")
    return number


def whole_or_later(value, what):
    """A Python integer, or a tensor of int32 where only a run of the function knows the number."""
    if isinstance(value, (_core.Tensor, _core.VariableBase)):
        known = _core.static_value(convert_to_tensor(value))
        return as_int32(value, what) if known is None else whole(known, what)
    return whole(value, what)


def as_int32(value, what="size"):
    """A tensor of int32 for sizes, and for indices that the host reads. What does not fit is an error at once where it
    is known, else when the function runs."""
    tensor = _integers(value)
    if tensor.dtype is int32 or tensor.dtype.max <= _MOST:
        return _narrowed(tensor)
    numbers = _core.static_value(tensor)
    if numbers is None:
        return _asserted_int32(tensor, what)
    if numbers.size and not (numbers.min() >= _LEAST and numbers.max() <= _MOST):
        raise InvalidArgumentError(None, None, f"{what} {numbers.tolist()} is out of the range of int32.")
    return _narrowed(tensor)


def _asserted_int32(tensor, what):
    """Nothing waits for the assertion, and 2**31 - 1 would be another size where there is memory for it. So what does
    not fit is negative, which ops refuse before they take any."""
    narrow = _narrowed(tensor)
    fits = execute("Equal", execute("Cast", narrow, dtype=tensor.dtype), tensor)
    check.Assert(fits, [f"{what} is out of the range of int32:", tensor], summarize=10)
    return execute("SelectV2", fits, narrow, _LEAST)


def clipped_int32(value):
    """A tensor of int32 for indices and lengths that lie on the device and that the op holds against its inputs, none
    of which is as large as what is clipped. So the op refuses them, and nothing waits for the values."""
    return _narrowed(_integers(value))


def _narrowed(tensor):
    return tensor if tensor.dtype is int32 else saturate_cast(tensor, int32)


def _integers(value):
    tensor = convert_sizes(value, None, int32)
    # Of other numbers this is TensorFlow's error, or what NumPy makes of them.
    return tensor if tensor.dtype.is_integer else convert_to_tensor(value, int32)


def of_one_dtype(*values):
    """Tensors of int32, or all of int64 if one of them is."""
    tensors = [convert_sizes(value, None, int32) for value in values]
    wide = any(tensor.dtype is int64 for tensor in tensors)
    return [execute("Cast", t, dtype=int64) if wide and t.dtype is int32 else t for t in tensors]


def places_of(count, step, length, rate=1):
    """Where the elements of `count` pieces lie, each a step after the one before: [count, length]."""
    if count == 0:
        return np.zeros([0, length], np.int32)
    if count * length > _MOST or (count - 1) * step + (length - 1) * rate > _MOST:
        raise ResourceExhaustedError(
            None, None, f"{count} pieces of {length} elements are more than int32 counts. Use smaller pieces."
        )
    return (np.arange(count)[:, None] * step + np.arange(length)[None, :] * rate).astype(np.int32)


def of_pieces(count, step, length, rate=1):
    """places_of as a tensor, also of numbers that are known when the function runs."""
    if not any(isinstance(v, _core.Tensor) for v in (count, step, length)):
        return convert_to_tensor(places_of(count, step, length, rate))
    if any(v > _MOST for v in (count, step, length, rate) if not isinstance(v, _core.Tensor)):
        raise ResourceExhaustedError(None, None, "Numbers of pieces and of elements must fit int32. Use smaller ones.")
    starts, inner = (execute("Range", *(convert_to_tensor(v, int32) for v in (0, n, 1))) for n in (count, length))
    return starts[:, None] * step + inner[None, :] * rate


def made_on_host(function):
    """A function that makes arrays of a size that is its argument: what the host has no room for is TensorFlow's error."""

    @functools.wraps(function)
    def checked(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            raise ResourceExhaustedError(
                None, None, f"{function.__name__}: {error}. Use smaller sizes."
            ) from None  # fmt: skip

    return checked
