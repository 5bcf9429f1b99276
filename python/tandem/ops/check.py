"""tf.debugging.assert_*: checks of values. Eager ones raise InvalidArgumentError at once."""

import math
import operator

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.graph import gives_operation


def _values(what, tensor, summarize):
    flat = np.asarray(tensor).reshape(-1)
    shown = " ".join(str(v) for v in flat[: summarize or 3])
    return f"{what} (shape={tensor.shape} dtype={tensor.dtype.name}) =\n{shown}{'...' if flat.size > 3 else ''}"


def _compare(op, symbol, x, y, message, summarize):
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    compared = execute(op, x, y)
    holds = execute("All", compared)
    summarize = None if summarize is None else operator.index(summarize)
    if holds._symbolic:
        data = [str(message)] if message else []
        _assert_later(holds, [*data, f"Condition x {symbol} y did not hold element-wise:", "x =", x, "y =", y], summarize)
        return
    if holds:
        return
    said = [str(message)] if message else []
    said.append(f"Condition x {symbol} y did not hold.")
    raise InvalidArgumentError(None, None, "\n".join(said + _differences(*map(np.asarray, (x, y, compared)), summarize)))


def _differences(x, y, compared, summarize):
    """What TensorFlow says of values for which a comparison does not hold."""
    most = 3 if summarize is None else summarize if summarize >= 0 else max(x.size, y.size)
    said = []
    if most and x.shape == y.shape and x.ndim:
        places = np.argwhere(~compared)[:most]
        said += [f"Indices of first {len(places)} different values:", str(places)]
        for name, values in (("x", x), ("y", y)):
            said += [f"Corresponding {name} values:", str(values[~compared][:most])]
    for name, values in (("x", x), ("y", y)) if most else ():
        first = values.reshape(-1)[:most]
        said += [f"First {len(first)} elements of {name}:", str(first)]
    return said


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
    if x._symbolic or y._symbolic:
        size = "ComplexAbs" if x.dtype.is_complex else "Abs"
        close = execute("LessEqual", execute(size, x - y), atol + rtol * execute(size, y))
        data = [message] if message else []
        text = f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"
        _assert_later(execute("All", close), [*data, text, "x =", x, "y =", y], summarize)
        return
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
    x, rank = convert_to_tensor(x), int(rank)
    if x.shape.rank is not None and x.shape.rank != rank:
        raise ValueError(
            f"{message or ''} Tensor {x!r} must have rank {rank}. Received rank {x.shape.rank}, shape {x.shape}"
        )
    if x.shape.rank is None:
        assert_equal(execute("Rank", x), rank, message=f"{message or ''} The rank is another one.")


def assert_type(tensor, tf_type, message=None, name=None):
    """Raises unless the tensor has this dtype."""
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not as_dtype(tf_type):
        raise TypeError(f"{message or ''}  {tensor!r} must be of type {as_dtype(tf_type)!r}; got {tensor.dtype!r}")


def require_padding(padding, remedy=""):
    """The name of a padding as it is, which TensorFlow wants in capitals."""
    if padding not in ("SAME", "VALID"):
        raise InvalidArgumentError(
            None, None,
            f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: \"SAME\", \"VALID\".{remedy}",
        )  # fmt: skip
    return padding


def in_capitals(value, what):
    """A name that is an option."""
    if not isinstance(value, str):
        raise TypeError(f"Expected string for argument '{what}' not {value!r}.")
    return value.upper()


def with_rank(tensor, least, most=None):
    """The tensor, which has so many dimensions; what is no tensor yet becomes one."""
    tensor = convert_to_tensor(tensor)
    rank = tensor.shape.rank
    if rank is not None and rank < least:
        raise ValueError(f"Shape {tensor.shape} must have rank at least {least}")
    if rank is not None and most is not None and rank > most:
        raise ValueError(f"Shape {tensor.shape} must have rank at most {most}")
    # One that is not known yet can only be this one.
    return execute("EnsureShape", tensor, shape=[None] * least) if rank is None and least == most else tensor


def size_of(tensor, axis):
    """The size of a dimension: a number where it is known, a tensor where not."""
    axis = operator.index(axis)
    known = tensor.shape[axis] if tensor.shape.rank is not None else None
    return execute("Shape", tensor)[axis] if known is None else known


def outer_sizes(tensor, inner):
    """The sizes before the last ones: numbers where all are known, a tensor where not."""
    known = tensor.shape[:-inner]
    return known.as_list() if known.is_fully_defined() else execute("Shape", tensor)[:-inner]


def as_rows(tensor, inner, sizes):
    """The elements with the dimensions before the last `inner` ones, of these sizes, joined into one."""
    outer = outer_sizes(tensor, inner)
    # Not -1, which of no elements says nothing.
    count = math.prod(outer) if isinstance(outer, list) else execute("Prod", outer, axis=[0])
    return with_sizes(tensor, [count], sizes)


def with_sizes(tensor, outer, inner):
    """The elements of the tensor in a shape that is made of what outer_sizes gave and of further sizes."""
    if isinstance(outer, list):
        return execute("Reshape", tensor, convert_sizes([*outer, *inner]))
    return execute("Reshape", tensor, execute("ConcatV2", [outer, convert_sizes(inner)], axis=0))


def axis_of(axis, tensor):
    """An axis of the tensor, counted from the first."""
    rank, axis = tensor.shape.rank, operator.index(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range [{-rank}, {rank}) for a tensor of rank {rank}")
    return axis % rank


def Assert(condition, data, summarize=None, name=None):
    """Raises with the data when the condition does not hold."""
    condition = convert_to_tensor(condition)
    if condition._symbolic or any(getattr(part, "_symbolic", False) for part in data):
        _assert_later(execute("All", condition), data, summarize)
        return
    if not condition:
        shown = ", ".join(str(np.asarray(d)) for d in data)
        raise InvalidArgumentError(None, None, f"Expected '{condition}' to be true. Summarized data: {shown}")


def is_tensor(value):
    """Whether a size or an option is a tensor or a variable, which may be known only when the function runs. NumPy's
    numbers, which have dtypes too, are known."""
    return isinstance(value, (_core.Tensor, _core.VariableBase))


def require(condition, message):
    """Raises the message unless a condition holds: ValueError of what Python knows, of tensors what Assert raises."""
    if is_tensor(condition):
        Assert(condition, [message])
    elif not condition:
        raise ValueError(message)


def _assert_later(condition, data, summarize):
    """Checked when the traced function runs."""
    count = 3 if summarize is None else summarize
    execute("Assert", condition, [_shown(convert_to_tensor(value), count) for value in data], summarize=count)


def _shown(tensor, count):
    """What an assertion prints of a tensor, and that there is more: all of it would come to the host in every run."""
    rank = tensor.shape.rank
    if not rank or count < 0 or all(size is not None and size <= count + 1 for size in tensor.shape.as_list()):
        return tensor
    return tensor[(slice(count + 1),) * rank]


def _sign(op, symbol, x, message, summarize):
    x = convert_to_tensor(x)
    head = f"{message or ''}\nCondition x {symbol} 0 did not hold element-wise:"
    _compare(op, symbol, x, convert_to_tensor(0, x.dtype), head.lstrip(), summarize)


def assert_positive(x, message=None, summarize=None, name=None):
    """Raises unless x > 0 everywhere."""
    _sign("Greater", ">", x, message, summarize)


def assert_negative(x, message=None, summarize=None, name=None):
    """Raises unless x < 0 everywhere."""
    _sign("Less", "<", x, message, summarize)


def assert_non_negative(x, message=None, summarize=None, name=None):
    """Raises unless x >= 0 everywhere."""
    _sign("GreaterEqual", ">=", x, message, summarize)


def assert_non_positive(x, message=None, summarize=None, name=None):
    """Raises unless x <= 0 everywhere."""
    _sign("LessEqual", "<=", x, message, summarize)


def assert_all_finite(x, message, name=None):
    """The tensor; raises when an element is infinite or not a number."""
    return check_numerics(x, message)


def check_numerics(tensor, message, name=None):
    """The tensor; raises when an element is infinite or not a number, at once where there is no function to be run."""
    checked = execute("CheckNumerics", convert_to_tensor(tensor), message=message)
    if isinstance(checked, _core.EagerTensor) and "CPU" not in checked.device:
        execute("Reshape", checked, [-1])[:1].numpy()  # a GPU's work has its error when somebody waits for it
    return checked


def assert_integer(x, message=None, name=None):
    """Raises unless the dtype is one of integers."""
    x = convert_to_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f"{message or ''}Expected \"x\" to be integer type.  Found: {x.dtype!r}")


def assert_rank_at_least(x, rank, message=None, name=None):
    """Raises unless x has at least this rank."""
    x, rank = convert_to_tensor(x), int(rank)
    if x.shape.rank is not None and x.shape.rank < rank:
        raise ValueError(
            f"{message or ''}Tensor {x!r} must have rank at least {rank}. Received rank {x.shape.rank}, "
            f"shape {x.shape}"
        )
    if x.shape.rank is None:
        assert_greater_equal(execute("Rank", x), rank, message=f"{message or ''} The rank is too small.")


def assert_rank_in(x, ranks, message=None, name=None):
    """Raises unless x has one of these ranks."""
    x = convert_to_tensor(x)
    wanted = tuple(int(r) for r in ranks)
    if x.shape.rank is not None and x.shape.rank not in wanted:
        raise ValueError(
            f"{message or ''}Tensor {x!r} must have rank in {wanted}.  Received rank {x.shape.rank}, shape {x.shape}"
        )
    if x.shape.rank is None:
        fits = execute("Any", execute("Equal", execute("Rank", x), list(wanted)))
        Assert(fits, [f"{message or ''} The rank must be one of {wanted}, shape:", execute("Shape", x)])


def assert_scalar(tensor, message=None, name=None):
    """The tensor; raises unless it is a scalar."""
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank not in (None, 0):
        raise ValueError(f"{message or ''}Expected scalar shape, saw shape: {tensor.shape}.")
    return tensor


def assert_proper_iterable(values):
    """Raises when the argument is a single value where several are wanted."""
    if isinstance(values, (_core.Tensor, np.ndarray, bytes, str)):
        raise TypeError(f"Expected argument \"values\" to be a \"proper\" iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument \"values\" to be iterable.  Found: {type(values)}")


def assert_same_float_dtype(tensors=None, dtype=None):
    """The dtype that all tensors share, which must be one of floats."""
    found = as_dtype(dtype) if dtype is not None else None
    for tensor in tensors or []:
        here = tensor.dtype
        if found is not None and here is not found:
            raise ValueError(f"Tensor {tensor} must be of type {found!r}. Received {here!r}")
        found = here
    found = found or as_dtype("float32")
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found!r}.")
    return found


def assert_shapes(shapes, data=None, summarize=None, message=None, name=None):
    """Raises unless sizes are as said; those with one name must be equal, and '*' stands for any dimensions."""
    sizes = {}
    for value, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        value = convert_to_tensor(value)
        wanted = list(wanted) if isinstance(wanted, (list, tuple)) else _letters(wanted)
        dict.fromkeys(wanted)  # symbols are names: what is none is refused, whatever the tensor
        if value.shape.rank is None:
            continue
        there = value.shape.as_list()
        for size, symbol in _aligned(there, wanted, value, message):
            if size is None or symbol is None or symbol == ".":
                continue
            known = int(symbol) if isinstance(symbol, int) or str(symbol).isdigit() else sizes.setdefault(symbol, size)
            if known != size:
                raise ValueError(
                    f"{message or ''}. Specified by tensor {value!r} dimension, tensor has size {size} where "
                    f"{symbol!r} is {known}"
                )


def _letters(text):
    """'NHW' or '...C' as symbols, one for each letter."""
    return list(text.replace("...", "*"))


def _aligned(there, wanted, value, message):
    """Pairs of size and symbol; '*' at either end takes what is left over."""
    open_start = bool(wanted) and wanted[0] in ("*", ...)
    open_end = bool(wanted) and wanted[-1] in ("*", ...) and len(wanted) > 1
    names = wanted[1:] if open_start else wanted[:-1] if open_end else wanted
    if len(there) < len(names) or (len(there) != len(names) and not (open_start or open_end)):
        raise ValueError(f"{message or ''}. Tensor {value!r} must have rank {len(names)}. Received rank {len(there)}")
    sizes = there[len(there) - len(names) :] if open_start else there[: len(names)]
    return zip(sizes, names)


def is_numeric_tensor(tensor):
    """Whether the dtype is one of numbers."""
    return isinstance(tensor, _core.Tensor) and (
        tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex
    )


_FILTERED = {"traceback": True}


def enable_traceback_filtering():
    """Tracebacks begin with the user's lines; Tandem has no lines of its own worth showing."""
    _FILTERED["traceback"] = True


def disable_traceback_filtering():
    """See enable_traceback_filtering."""
    _FILTERED["traceback"] = False


def is_traceback_filtering_enabled():
    """What was last asked for."""
    return _FILTERED["traceback"]


# Checks are operations in the graphs of sessions.
for _name in [n for n in globals() if n == "Assert" or n.startswith("assert_")]:
    if callable(globals()[_name]):
        globals()[_name] = gives_operation(globals()[_name])
