"""tensorflow.python.util.dispatch: what libraries mark their functions with.

Tandem's own functions ask the values that they are given (framework/composites.py, extension/dispatch.py). Functions
of libraries are called as they are, and foreign dispatchers are asked when such a function cannot take its arguments.
"""

import functools

_GLOBAL, _UNASKED = [], []
DISPATCH_ATTR = "_tf_fallback_dispatchers"


class OpDispatcher:
    """Handles calls that a function refuses."""

    NOT_SUPPORTED = object()

    def handle(self, args, kwargs):
        return self.NOT_SUPPORTED

    def register(self, op):
        """Tandem's own functions have no list: they do not ask it (docs/compatibility.md)."""
        getattr(op, DISPATCH_ATTR, _UNASKED).append(self)


class GlobalOpDispatcher:
    """Handles calls of all functions that a library has marked."""

    NOT_SUPPORTED = OpDispatcher.NOT_SUPPORTED

    def handle(self, op, args, kwargs):
        return self.NOT_SUPPORTED

    def register(self):
        _GLOBAL.append(self)


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
        return call

    return decorate if target is None else decorate(target)


def add_fallback_dispatch_list(target):
    return add_dispatch_support(target)


def dispatch(op, args, kwargs):
    for dispatcher in (*getattr(op, DISPATCH_ATTR, ()), *(functools.partial(_asked, d, op) for d in _GLOBAL)):
        handle = dispatcher.handle if isinstance(dispatcher, OpDispatcher) else dispatcher
        result = handle(args, kwargs)
        if result is not OpDispatcher.NOT_SUPPORTED:
            return result
    return OpDispatcher.NOT_SUPPORTED


def _asked(dispatcher, op, args, kwargs):
    return dispatcher.handle(op, args, kwargs)


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
