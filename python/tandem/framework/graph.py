"""Contexts of tracing: FuncGraph, placeholders, name scopes."""

import contextlib

from tandem import _core


class FuncGraph(_core.FuncGraph):
    """A graph that ops are traced into while it is the default."""

    def __init__(self, name, *args, **kwargs):
        super().__init__(name)

    @contextlib.contextmanager
    def as_default(self):
        self._enter()
        try:
            yield self
        finally:
            self._exit()


def placeholder(dtype, shape=None, name=None):
    """A symbolic tensor of the graph that is traced into."""
    graph = _core.current_graph()
    if graph is None:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return graph.placeholder(_core.as_dtype(dtype), shape, name)


class name_scope:
    """Names of traced ops begin with `name`."""

    def __init__(self, name):
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._scope = _core.NameScope(name.rstrip("/")) if name else None

    @property
    def name(self):
        return self._name

    def __enter__(self):
        if self._scope is not None:
            self._scope.enter()
        return self._name + "/" if self._name else ""

    def __exit__(self, *exception):
        if self._scope is not None:
            self._scope.exit()


def control_dependencies(control_inputs):
    """Ops with effects keep program order in Tandem: there is nothing left to say."""
    if callable(control_inputs):
        control_inputs()
    return contextlib.nullcontext()


def do_not_convert(func=None):
    """Functions are only converted where tf.function asks for it; the mark is kept for it."""
    if func is None:
        return do_not_convert
    with contextlib.suppress(AttributeError):
        func.__dict__["autograph_do_not_convert"] = True
    return func


def executing_eagerly():
    return _core.executing_eagerly()


def reset_default_graph():
    """There is no default graph to forget: every graph belongs to the block that traces it."""
    if _core.current_graph() is not None:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")


class Context:
    """What Keras asks of TensorFlow's eager context."""

    def executing_eagerly(self):
        return _core.executing_eagerly()

    def clear_kernel_cache(self):
        """Prepared calls are bounded by themselves; there is nothing that only a user could free."""


_CONTEXT = Context()


def context():
    return _CONTEXT


def tf2_enabled():
    return True
