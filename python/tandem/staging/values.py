"""What operators share: which values stage control flow, and how Python variables become values of a graph."""

import threading

import numpy as np

from tandem import _core
from tandem.framework import composites
from tandem.framework.graph import FuncGraph


def is_tensor(value):
    return isinstance(value, _core.Tensor)


def tensor_of(value):
    """The tensor that a predicate or an iterated value is; anything else as it is."""
    if isinstance(value, _core.VariableBase):
        return value.read_value()
    if not isinstance(value, (_core.Tensor, bool, int, float, str)) and _core.is_tensor_like(value):
        return _core.convert_to_tensor(value)
    return value


def stages(value):
    """Whether control flow on this value becomes part of the graph."""
    return isinstance(value, _core.Tensor) and value._symbolic


def is_undefined(value):
    from malt.operators import variables

    return isinstance(value, (variables.Undefined, variables.UndefinedReturnValue))


def is_return_value(name):
    return name.startswith("retval_")


def shown(name):
    """The name of a variable in messages."""
    return "the return value" if is_return_value(name) else f"'{name}'"


def can_be_tensor(value):
    plain = (_core.Tensor, _core.VariableBase, bool, int, float, complex, str, bytes, np.ndarray, np.generic)
    return isinstance(value, plain) or (not isinstance(value, type) and _core.is_tensor_like(value))


class scratch_graph:
    """Ops of the block are traced and forgotten."""

    def __init__(self):
        self._graph = FuncGraph("scratch")

    def __enter__(self):
        try:
            self._graph._enter()
        except BaseException:
            self._graph._exit()  # an interrupt came right behind it
            raise

    def __exit__(self, *exception):
        self._graph._exit()


def flat_tensors(values, names, what):
    """The leaves of Python variables as tensors, and the form to put them together; `what` says where in errors."""
    converted = []
    for name, value in zip(names, values):
        def convert(leaf, path, name=name):
            if leaf is None:
                return None
            try:
                return _core.convert_to_tensor(leaf)
            except (TypeError, ValueError) as error:
                raise TypeError(f"{shown(name)} {what} is {leaf!r}, which cannot be a Tensor: {error}") from None

        converted.append(composites.rebuild(value, convert))
    flat = []
    form = composites.number(converted, flat)
    return flat, form


def numbers_of(form):
    """The numbers of the tensors in a form of composites.number()."""
    if isinstance(form, composites._Made):
        return [n for part in form._parts for n in numbers_of(part)]
    return [n for n in composites.leaves(form) if n is not None]


def zeros_for(leaf, path=""):
    """An eager tensor of zeros like the leaf; dimensions that are not known count as 1."""
    if leaf is None:
        return None
    tensor = _core.convert_to_tensor(leaf)
    with _core.init_scope():
        if tensor.dtype.name == "string":
            zero = _core.convert_to_tensor("")
        else:
            zero = _core.convert_to_tensor(0, tensor.dtype)
        return _core.execute("Fill", [d or 1 for d in tensor.shape.as_list()] if tensor.shape.rank else [], zero)


_state = threading.local()


class staged_loop:
    """The body of a loop of the graph is being traced."""

    def __enter__(self):
        _state.loops = getattr(_state, "loops", 0) + 1

    def __exit__(self, *exception):
        _state.loops -= 1


def in_loop():
    return getattr(_state, "loops", 0) > 0


def note_filled():
    """Zeros stand for a return value: whether something was returned must be checked when the function runs."""
    _state.filled = filled_count() + 1


def filled_count():
    return getattr(_state, "filled", 0)
