"""Whether an argument is of the type that a dispatch handler is annotated with."""

import collections.abc
import types
import typing

from tandem import _core
from tandem.framework.types import CompositeTensor

_SEQUENCES = (list, collections.abc.Sequence)


def matches(value, kind):
    """Lists must have an element, and the type must hold for each."""
    if isinstance(kind, (tuple, list)):
        return any(matches(value, option) for option in kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(matches(value, option) for option in arguments)
    if origin in _SEQUENCES:
        # Of a mixed list some element has to be what the handler is for.
        return (
            isinstance(value, (list, tuple))
            and len(value) > 0
            and all(matches(item, arguments[0]) for item in value)
            and any(is_specific(item) for item in value)
        )
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return isinstance(value, tuple) and all(matches(item, arguments[0]) for item in value)
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(matches, value, arguments))
    if kind is _core.Tensor:
        return isinstance(value, (_core.Tensor, _core.VariableBase))
    if kind is None:
        return value is None
    return isinstance(kind, type) and isinstance(value, kind)


def is_specific(value):
    """Whether a value is none of what TensorFlow's functions take anyway."""
    return isinstance(value, CompositeTensor) or not (
        isinstance(value, (_core.Tensor, _core.VariableBase)) or _is_plain(value)
    )


def _is_plain(value):
    import numpy as np

    return isinstance(value, (bool, int, float, complex, str, bytes, np.ndarray, np.generic, list, tuple))
