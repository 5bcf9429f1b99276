"""tensorflow.python.util.dispatch: what libraries mark their functions with.

Functions of libraries are called as they are, and dispatchers are asked when such a function cannot take its arguments.
Tandem's own functions ask the values that they are given (framework/composites.py, extension/dispatch.py), and global
dispatchers once there are any (extension/global_dispatch.py).
"""

import functools

from tandem.extension import global_dispatch
from tandem.inside.util.tf_decorator import make_decorator

DISPATCH_ATTR = "_tf_fallback_dispatchers"


class OpDispatcher:
    """Handles calls that a function refuses."""

    NOT_SUPPORTED = global_dispatch.NOT_SUPPORTED

    def handle(self, args, kwargs):
        return self.NOT_SUPPORTED

    def register(self, op):
        marked = getattr(op, DISPATCH_ATTR, None)
        if marked is not None:
            marked.append(self)
        else:
            global_dispatch.register_for(op, self.handle)


class GlobalOpDispatcher:
    """Handles calls of all functions: Tandem's, and those that a library has marked."""

    NOT_SUPPORTED = OpDispatcher.NOT_SUPPORTED

    def handle(self, op, args, kwargs):
        return self.NOT_SUPPORTED

    def register(self):
        global_dispatch.register(self.handle)


def add_dispatch_support(target=None, iterable_parameters=None):
    """The function, which asks its dispatchers when it raises TypeError or ValueError."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except (TypeError, ValueError):
                result = dispatch(call, args, kwargs)
                if result is OpDispatcher.NOT_SUPPORTED:
                    raise
                return result

        setattr(call, DISPATCH_ATTR, [])
        return make_decorator(function, call)

    return decorate if target is None else decorate(target)


def add_fallback_dispatch_list(target):
    return add_dispatch_support(target)


def dispatch(op, args, kwargs):
    for dispatcher in getattr(op, DISPATCH_ATTR, ()):
        result = dispatcher.handle(args, kwargs)
        if result is not OpDispatcher.NOT_SUPPORTED:
            return result
    return global_dispatch.dispatch(op, args, kwargs)


class _TypeDispatcher(OpDispatcher):
    def __init__(self, override, types):
        self._override, self._types = override, types

    def handle(self, args, kwargs):
        if any(isinstance(value, self._types) for value in (*args, *kwargs.values())):
            return self._override(*args, **kwargs)
        return self.NOT_SUPPORTED


def dispatch_for_types(op, *types):
    """Calls of `op`, a function that a library has marked, that have a value of such a type go to the function."""
    if not hasattr(op, DISPATCH_ATTR):
        raise NotImplementedError(
            f"dispatch_for_types({getattr(op, '__name__', op)}) is not available in Tandem for its own functions: "
            "use tf.experimental.dispatch_for_api."
        )

    def decorate(function):
        _TypeDispatcher(function, types).register(op)
        return function

    return decorate
