"""The functions of tf.experimental.numpy that Keras calls."""

import functools

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import _info, bool as bool_


def finfo(dtype):
    """Limits of a floating dtype."""
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"data type {dtype!r} is not inexact")
    return _info(dtype)


def select(condlist, choicelist, default=0):
    """Of each place, the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if not condlist:
        raise ValueError("condlist must be non-empty")
    choices = [convert_to_tensor(c) for c in choicelist]
    dtype = functools.reduce(_wider, (c.dtype for c in choices))
    choices = [c if c.dtype is dtype else execute("Cast", c, dtype=dtype) for c in choices]
    result = convert_to_tensor(default)
    result = result if result.dtype is dtype else execute("Cast", result, dtype=dtype)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        result = execute("SelectV2", convert_to_tensor(condition, bool_), choice, result)
    return result


def _wider(a, b):
    """NumPy's common dtype."""
    if a is b:
        return a
    import numpy as np

    return as_dtype(np.promote_types(a.as_numpy_dtype, b.as_numpy_dtype))
