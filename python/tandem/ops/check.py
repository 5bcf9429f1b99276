"""tf.debugging.assert_*: checks of values. Eager ones raise InvalidArgumentError at once."""

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.errors import InvalidArgumentError


def _values(what, tensor, summarize):
    flat = np.asarray(tensor).reshape(-1)
    shown = " ".join(str(v) for v in flat[: summarize or 3])
    return f"{what} (shape={tensor.shape} dtype={tensor.dtype.name}) =\n{shown}{'...' if flat.size > 3 else ''}"


def _compare(op, symbol, x, y, message, summarize):
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    if x._symbolic or y._symbolic:
        raise NotImplementedError(f"An assertion ({symbol}) inside a traced function is not available in Tandem.")
    holds = execute("All", execute(op, x, y))
    if holds:
        return
    head = f"{message}\n" if message else ""
    raise InvalidArgumentError(
        None, None,
        f"{head}Condition x {symbol} y did not hold.\n{_values('x', x, summarize)}\n{_values('y', y, summarize)}",
    )  # fmt: skip


def assert_equal(x, y, message=None, summarize=None, name=None):
    """Raises when x and y differ in an element."""
    _compare("Equal", "==", x, y, message, summarize)


def assert_none_equal(x, y, summarize=None, message=None, name=None):
    """Raises when x and y agree in an element."""
    _compare("NotEqual", "!=", x, y, message, summarize)


def assert_less(x, y, message=None, summarize=None, name=None):
    """Raises unless x < y everywhere."""
    _compare("Less", "<", x, y, message, summarize)


def assert_less_equal(x, y, message=None, summarize=None, name=None):
    """Raises unless x <= y everywhere."""
    _compare("LessEqual", "<=", x, y, message, summarize)


def assert_greater(x, y, message=None, summarize=None, name=None):
    """Raises unless x > y everywhere."""
    _compare("Greater", ">", x, y, message, summarize)


def assert_greater_equal(x, y, message=None, summarize=None, name=None):
    """Raises unless x >= y everywhere."""
    _compare("GreaterEqual", ">=", x, y, message, summarize)


def assert_near(x, y, rtol=None, atol=None, message=None, summarize=None, name=None):
    """Raises unless |x - y| <= atol + rtol * |y| everywhere."""
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    eps = 10 * float(np.finfo(x.dtype.real_dtype.as_numpy_dtype).eps)
    rtol, atol = (eps if v is None else float(v) for v in (rtol, atol))
    near = np.abs(np.asarray(x) - np.asarray(y)) <= atol + rtol * np.abs(np.asarray(y))
    if np.all(near):
        return
    head = f"{message}\n" if message else ""
    raise InvalidArgumentError(
        None, None,
        f"{head}x and y not equal to tolerance rtol = {rtol}, atol = {atol}\n{_values('x', x, summarize)}\n"
        f"{_values('y', y, summarize)}",
    )  # fmt: skip


def assert_rank(x, rank, message=None, name=None):
    """Raises unless x has this rank."""
    x = convert_to_tensor(x)
    if x.shape.rank is not None and x.shape.rank != int(rank):
        raise ValueError(
            f"{message or ''} Tensor {x!r} must have rank {int(rank)}. Received rank {x.shape.rank}, shape {x.shape}"
        )


def assert_type(tensor, tf_type, message=None, name=None):
    """Raises unless the tensor has this dtype."""
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not as_dtype(tf_type):
        raise TypeError(f"{message or ''}  {tensor!r} must be of type {as_dtype(tf_type)!r}; got {tensor.dtype!r}")


def Assert(condition, data, summarize=None, name=None):
    """Raises with the data when the condition does not hold."""
    condition = convert_to_tensor(condition)
    if isinstance(condition, _core.Tensor) and condition._symbolic:
        raise NotImplementedError("tf.debugging.Assert inside a traced function is not available in Tandem.")
    if not condition:
        shown = ", ".join(str(np.asarray(d)) for d in data)
        raise InvalidArgumentError(None, None, f"Expected '{condition}' to be true. Summarized data: {shown}")
