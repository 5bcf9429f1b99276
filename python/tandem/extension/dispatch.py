"""tf.experimental.dispatch_for_*: functions of a user's that run in place of TensorFlow's for arguments of some types.

A public function looks for such handlers only once there is one for it: its code is replaced by a call of `_run`, and
put back when the last handler goes. Nobody else pays for a look at the types of arguments.
"""

import inspect
import threading
import types
import typing

from tandem.extension.match import is_specific, matches

_lock = threading.RLock()
_apis = {}  # id of a public function → _Api
_by_handler = {}  # id of a handler → (handler, [(_Api, entry), ...])


class _Api:
    """A public function and the handlers for it."""

    def __init__(self, function):
        self.function = function
        self.original = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.original.__kwdefaults__ = function.__kwdefaults__
        self.signature = inspect.signature(function)
        self.handlers = []  # (target, {parameter: type} or None for elementwise handlers, types)

    def install(self):
        function = self.function
        scope = {}
        text = f"def replaced(*args, **kwargs):\n    return __tandem_dispatch__({id(function)}, args, kwargs)"
        exec(text, {}, scope)  # noqa: S102  (a fixed text: the code of a function without a closure)
        function.__globals__["__tandem_dispatch__"] = _run
        function.__signature__ = self.signature
        function.__code__ = scope["replaced"].__code__.replace(
            co_name=function.__name__, co_filename=self.original.__code__.co_filename
        )
        function.__defaults__ = function.__kwdefaults__ = None

    def remove(self):
        function = self.function
        function.__code__ = self.original.__code__
        function.__defaults__ = self.original.__defaults__
        function.__kwdefaults__ = self.original.__kwdefaults__
        del function.__signature__

    def call(self, args, kwargs):
        for target, parameters, elementwise in reversed(self.handlers):
            if elementwise is not None:
                handled = self._try_elementwise(target, elementwise, args, kwargs)
                if handled is not _NO:
                    return handled
            elif self._accepts(parameters, args, kwargs):
                return target(*args, **kwargs)
        return self.original(*args, **kwargs)

    def _accepts(self, signatures, args, kwargs):
        try:
            bound = self.signature.bind(*args, **kwargs).arguments
        except TypeError:
            return False
        return any(
            all(name in bound and matches(bound[name], kind) for name, kind in parameters.items())
            for parameters in signatures
        )

    def _try_elementwise(self, target, wanted, args, kwargs):
        names = list(self.signature.parameters)[: len(wanted)]
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return _NO
        given = [bound.arguments.pop(name, _NO) for name in names]
        if any(value is _NO or not matches(value, kind) for value, kind in zip(given, wanted)):
            return _NO
        # Only tensors: that is what the function itself is for.
        if not any(is_specific(value) for value in given):
            return _NO
        rest = dict(bound.arguments)

        def api(*values):
            return self.function(**dict(zip(names, values)), **rest)

        return target(api, *given)


_NO = object()


def _run(number, args, kwargs):
    return _apis[number].call(args, kwargs)


def _inmost(function):
    """Without what names operations of graphs, or returns them."""
    while hasattr(function, "_inner"):
        function = function._inner
    return function


def _api_of(function):
    """The record of a public function, made when it is first asked for."""
    function = _inmost(function)
    found = _apis.get(id(function))
    if found is None:
        if not isinstance(function, types.FunctionType) or function.__code__.co_freevars:
            raise ValueError(f"{function} does not support dispatch: it is no function of TensorFlow's that takes tensors.")
        if not function.__module__.startswith("tandem."):
            raise ValueError(f"{function} does not support dispatch: it is not one of TensorFlow's functions.")
        found = _apis[id(function)] = _Api(function)
    return found


def _add(api, handler, target, parameters, elementwise):
    if not api.handlers:
        api.install()
    entry = (target, parameters, elementwise)
    api.handlers.append(entry)
    _by_handler.setdefault(id(handler), (handler, []))[1].append((api, entry))


def dispatch_for_api(api, *signatures):
    """Decorates a function that runs in place of `api` for arguments of the types that it is annotated with.

    `signatures` are dicts of types by the names of parameters, where annotations are not enough.
    """
    with _lock:
        record = _api_of(api)

    def decorator(handler):
        own = inspect.signature(handler)
        _check_parameters(record.signature, own, handler, api)
        given = [_by_name(record.signature, signature, api) for signature in signatures]
        if not given:
            hints = {n: t for n, t in typing.get_type_hints(handler).items() if n in own.parameters}
            given = [hints]
        for signature in given:
            if not signature:
                raise ValueError(
                    f"dispatch_for_api: {handler.__qualname__} says of no parameter which type it is for. Annotate at "
                    "least one with an ExtensionType."
                )
        with _lock:
            _add(record, handler, handler, given, None)
        return handler

    return decorator


def _by_name(api_signature, signature, api):
    names = list(api_signature.parameters)
    found = {}
    for key, kind in signature.items():
        if isinstance(key, int):
            if not 0 <= key < len(names):
                raise ValueError(f"Dispatch signature refers to argument {key} of {api.__name__}, which has {len(names)}.")
            key = names[key]
        if key not in names:
            raise ValueError(f"Dispatch signature refers to parameter {key!r}, which {api.__name__} does not have.")
        found[key] = kind
    return found


def _check_parameters(wanted, own, handler, api):
    """A handler has the parameters of its API, in order; the last ones and `name` may be left out."""
    expected = [n for n in wanted.parameters if n != "name"]
    given = [n for n in own.parameters if n != "name"]
    if expected[: len(given)] != given:
        raise ValueError(
            f"Dispatch function's signature {handler.__name__}{own} does not match API's signature "
            f"{api.__name__}{wanted}."
        )


def _for_elementwise(kind, wanted):
    def decorator(handler):
        from tandem.extension.elementwise import functions

        with _lock:
            for function in functions(kind):
                _add(_api_of(function), handler, handler, None, wanted)
        return handler

    return decorator


def dispatch_for_unary_elementwise_apis(x_type):
    """Decorates handler(api, x), which runs in place of every elementwise function of one tensor for such an x."""
    return _for_elementwise("unary", (x_type,))


def dispatch_for_binary_elementwise_apis(x_type, y_type):
    """Decorates handler(api, x, y), which runs in place of every elementwise function of two tensors for such x, y."""
    return _for_elementwise("binary", (x_type, y_type))


def dispatch_for_binary_elementwise_assert_apis(x_type, y_type):
    """Decorates handler(assertion, x, y), which runs in place of tf.debugging.assert_equal and the like."""
    return _for_elementwise("assert", (x_type, y_type))


def unregister_dispatch_for(dispatch_target):
    """Forgets a handler."""
    with _lock:
        _, entries = _by_handler.pop(id(dispatch_target), (None, None))
        if entries is None:
            raise ValueError(f"Function {dispatch_target} was not registered using a `@dispatch_for_*` decorator.")
        for api, entry in entries:
            api.handlers.remove(entry)
            if not api.handlers:
                api.remove()


def dispatch_op(op, inputs, attrs):
    """Runs an op that met a value of a user's type, by the handlers of the function that the op belongs to."""
    from tandem.extension.elementwise import function_of_op

    function = _inmost(function_of_op(op))
    api = _apis.get(id(function)) if function is not None else None
    if api is not None and api.handlers:
        for target, parameters, elementwise in reversed(api.handlers):
            if elementwise is not None:
                result = api._try_elementwise(target, elementwise, tuple(inputs), {})
                if result is not _NO:
                    return result
            elif api._accepts(parameters, tuple(inputs), {}):
                return target(*inputs)
    names = ", ".join(sorted({type(value).__name__ for value in inputs if is_specific(value)}))
    where = f"tf.{function.__name__}" if function is not None else f"the function of the op {op}"
    raise TypeError(
        f"{op} takes tensors, not {names}. Say what it does for them with "
        f"@tf.experimental.dispatch_for_api({where})."
    )
