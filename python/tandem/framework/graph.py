"""Contexts of tracing: FuncGraph, placeholders, name scopes."""

import contextlib
import threading

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


class Graph(FuncGraph):
    """A graph to build in. It is looked at, not run: there are no sessions, `tf.function` makes what can be called."""

    def __init__(self):
        super().__init__("graph")

    @property
    def building_function(self):
        return False


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
        graph, path = _core.current_graph(), ""
        if self._scope is not None:
            outer, name = _path_in(graph), self._name.rstrip("/")
            path = f"{outer}/{name}" if outer and name else name
            self._scope.enter()
        _thread.scopes.append((graph, path))
        return path + "/" if path else ""

    def __exit__(self, *exception):
        _thread.scopes.pop()
        if self._scope is not None:
            self._scope.exit()


class _Thread(threading.local):
    """The name scopes that a thread is in: the graph that each was entered in, and its path."""

    def __init__(self):
        self.scopes = []


_thread = _Thread()


def _path_in(graph):
    for where, path in reversed(_thread.scopes):
        if where is graph:
            return path
    return ""


def current_name_scope():
    """The names of the scopes around, "a/b". A function that is traced begins without any."""
    return _path_in(_core.current_graph())


def inside_function():
    """Whether the code that runs now is being traced."""
    return _core.current_graph() is not None


def control_dependencies(control_inputs):
    """Ops with effects keep program order in Tandem: there is nothing left to say."""
    if callable(control_inputs):
        control_inputs()
    return contextlib.nullcontext()


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


def _reset_context():
    """Keras's tests call it before they configure devices. Tandem configures them once in a process: the same
    configuration again is accepted, another one raises RuntimeError."""
