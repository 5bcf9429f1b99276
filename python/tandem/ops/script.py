"""tf.py_function and tf.numpy_function: Python functions that a graph calls when it runs."""

import functools
import itertools
import weakref

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework import errors, nest
from tandem.framework.gradients import GradientTape, custom_gradient
from tandem.framework.spec import TensorSpec

# By number. The ops that call one keep it (src/python/host_callback.cc).
_functions = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


class _Function:
    """A function with the number that graphs know it by."""

    def __init__(self, function):
        self.call = function
        self.token = next(_numbers)
        _functions[self.token] = self


def _call(token, tensors):
    function = _functions.get(token)
    if function is None:
        raise ValueError(f"callback {token} is not found")
    return function.call(tensors)


_core.set_host_callback(_call, _functions)


def _emit(function, inputs, dtypes):
    """The outputs of a Python function of tensors, as part of the graph."""
    numbers = [_core.dtype_number(d) for d in dtypes]
    kept = _Function(function)
    return execute("PyFunc", list(inputs), token=kept.token, output_dtypes=numbers)


def with_own_errors(function):
    """A function of the library's, whose errors a graph raises as they are. Those of a user's function become
    TensorFlow's UnknownError and its kin."""

    @functools.wraps(function)
    def call(*args):
        try:
            return function(*args)
        except errors.OpError as error:
            error._own = True
            raise

    return call


def _signature(Tout):
    """Flat dtypes, flat shapes and the structure of the results."""
    flat = [] if Tout is None else nest.flatten(Tout)
    dtypes = [as_dtype(t.dtype if isinstance(t, TensorSpec) else t) for t in flat]
    shapes = [t.shape if isinstance(t, TensorSpec) else None for t in flat]
    return dtypes, shapes


def _results(outputs, dtypes, func):
    flat = [] if outputs is None and not dtypes else nest.flatten(outputs)
    if len(flat) != len(dtypes):
        raise ValueError(
            f"The function {func} returned {len(flat)} values, but Tout has {len(dtypes)} ({[d.name for d in dtypes]})."
        )
    return flat


def _packed(outputs, Tout, shapes):
    for tensor, shape in zip(outputs, shapes):
        if shape is not None:
            tensor.set_shape(shape)
    if Tout is None or (isinstance(Tout, (list, tuple)) and not Tout):
        return None
    return nest.pack_sequence_as(Tout, outputs)


def _decorator(caller, Tout):
    def decorate(func):
        @functools.wraps(func)
        def decorated(*args):
            return caller(func, args, Tout)

        return decorated

    return decorate


def py_function(func=None, inp=None, Tout=None, name=None):
    """Calls func with eager tensors; differentiable. Without func, a decorator."""
    if func is None:
        return _decorator(py_function, Tout)
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    inputs = [convert_to_tensor(value) for value in (inp or [])]
    dtypes, shapes = _signature(Tout)

    def run(tensors):
        flat = _results(func(*tensors), dtypes, func)
        return [convert_to_tensor(value, dtype) for value, dtype in zip(flat, dtypes)]

    if _core.executing_eagerly():
        return _packed(_eagerly(run, inputs), Tout, [None] * len(dtypes))

    count = len(inputs)
    last = []  # the last call with its tape: the gradient need not run the function again

    def record(tensors):
        with GradientTape() as tape:
            tape.watch(tensors)
            made = run(tensors)
        return tensors, made, tape

    def run_forward(tensors):
        call = record(tensors)
        last[:] = [call]
        return call[1]

    def run_backward(tensors):
        given, upstream = tensors[:count], tensors[count:]
        call = last.pop() if last else None
        if call is None or not _same_values(call[0], given):
            call = record(given)
        recorded, made, tape = call
        gradients = tape.gradient(made, list(recorded), output_gradients=list(upstream))
        return [
            execute("ZerosLike", x) if g is None else convert_to_tensor(g) for x, g in zip(given, gradients)
        ]

    @custom_gradient
    def traced(*tensors):
        outputs = _emit(run_forward, tensors, dtypes)

        def backward(*upstream):
            wanted = [t.dtype for t in tensors]
            made = _emit(run_backward, [*tensors, *upstream], wanted)
            for gradient, tensor in zip(made, tensors):
                gradient.set_shape(tensor.shape)
            return [g if g.dtype.is_floating or g.dtype.is_complex else None for g in made]

        return outputs, backward

    # Without results there is nothing to differentiate.
    outputs = traced(*inputs) if dtypes and inputs else _emit(run, inputs, dtypes)
    return _packed(outputs, Tout, shapes)


_CLASSES = (
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    ((TypeError, ValueError), errors.InvalidArgumentError),
    (Exception, errors.UnknownError),
)


def _eagerly(run, tensors):
    """As a graph calls the function: what it raises becomes an error of TensorFlow's classes."""
    try:
        return run(tensors)
    except errors.OpError:
        raise
    except Exception as error:
        wanted = next(theirs for ours, theirs in _CLASSES if isinstance(error, ours))
        raise wanted(None, None, f"{type(error).__name__}: {error}") from error


def _same_values(a, b):
    return all(x.shape == y.shape and np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(a, b))


def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
    """Calls func with NumPy arrays; not differentiable. Without func, a decorator."""
    if func is None:
        return _decorator(numpy_function, Tout)
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    inputs = [convert_to_tensor(value) for value in (inp or [])]
    dtypes, shapes = _signature(Tout)

    if _core.executing_eagerly():
        flat = _results(func(*[t.numpy() for t in inputs]), dtypes, func)
        return _packed([convert_to_tensor(value) for value in flat], Tout, [None] * len(dtypes))

    def run(tensors):
        made = func(*[t.numpy() for t in tensors])
        flat = _results(made, dtypes, func)
        if isinstance(made, (list, tuple)):
            # As in TensorFlow: several results are cast to what Tout says, a single one is not.
            flat = [v if d.name == "string" else np.asarray(v, d.as_numpy_dtype) for v, d in zip(flat, dtypes)]
        return [_as_tensor(value, dtype, func) for value, dtype in zip(flat, dtypes)]

    return _packed(_emit(run, inputs, dtypes), Tout, shapes)


def _as_tensor(value, dtype, func):
    if isinstance(value, (np.ndarray, np.generic)) and dtype.name != "string":
        tensor = convert_to_tensor(value)
        if tensor.dtype != dtype:
            raise TypeError(
                f"The function {func} returned {tensor.dtype.name}, but Tout says {dtype.name}. Cast the result."
            )
        return tensor
    return convert_to_tensor(value, dtype)
