"""Contexts of tracing: FuncGraph, placeholders, name scopes."""

import contextlib
import functools
import re
import sys
import threading
import weakref

from tandem import _core


class TracedGraph(_core.FuncGraph):
    """A graph that ops are traced into while it is the default."""

    building_function = True

    def __init__(self, name, *args, **kwargs):
        super().__init__(name)
        self.tables = []  # that were made while it was traced
        outer = _core.current_graph()
        self._outer = None if outer is None else weakref.ref(outer)

    def __bool__(self):
        return True  # also without ops

    @property
    def _graph_key(self):
        """What libraries keep things of a graph under."""
        return f"graph-key-{id(self)}/"

    def _apply_device_functions(self, op):
        """Tells an op the device of the scope around."""
        op._set_device_from_string(_core.device_scope())

    def get_operations(self):
        """The ops so far, in the order in which they came."""
        from tandem.graph_mode.operation import operation

        return [operation(self, node) for node in range(len(self))]

    def _get_control_flow_context(self):
        """Branches and loops are graphs of their own: there is no context to tell."""
        return None

    def _set_control_flow_context(self, context):
        pass

    @contextlib.contextmanager
    def as_default(self):
        if _core.current_graph() is self:  # it is: names, and tapes that listen, go on
            yield self
            return
        try:
            self._enter()
            yield self
        finally:
            self._exit()


class FuncGraph(TracedGraph):
    """The graph of a function."""

    @property
    def outer_graph(self):
        """The graph around, or the default one."""
        outer = self._outer() if self._outer is not None else None
        if outer is None:
            from tandem.inside.framework.ops import get_default_graph

            with _core.init_scope():
                outer = get_default_graph()
        return outer


def __getattr__(name):
    """Graphs of sessions are loaded when they are asked for."""
    if name == "Graph":
        from tandem.graph_mode.graph import Graph

        return Graph
    raise AttributeError(name)


def session_graph():
    """The graph of a session that is built now (tandem.graph_mode), or None."""
    graph = _core.current_graph()
    return graph if graph is not None and graph._open else None


def placeholder(dtype, shape=None, name=None):
    """A symbolic tensor of the graph that is traced into."""
    from tandem.graph_mode import ops

    return ops.placeholder(dtype, shape, name)


_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")
_ROOT_SCOPE_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")


class name_scope:
    """Names of variables and traced ops begin with `name`. One that ends with "/" is the whole name: the scope
    starts at the root, as do those that begin in it. In a function, a name that is taken gets a number."""

    def __init__(self, name):
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._before = []

    @property
    def name(self):
        return self._name

    def __enter__(self):
        graph = _core.current_graph()
        scope = self._scope_in(graph)
        self._before.append(_core.set_name_prefix(scope))
        _thread.scopes.append((graph, scope))
        return scope

    def _scope_in(self, graph):
        outer, name = _scope_in(graph), self._name
        if graph is not None and name:
            pattern, what = (_SCOPE_NAME, "scope") if outer else (_ROOT_SCOPE_NAME, "root scope")
            if not pattern.match(name):
                raise ValueError(
                    f"'{name}' is not a valid {what} name. A {what} name has to match the following pattern: "
                    f"{pattern.pattern}"
                )
        if not name or name.endswith("/"):
            return name
        return (outer + name if graph is None else graph._unique_name(outer + name)) + "/"

    def __exit__(self, *exception):
        _thread.scopes.pop()
        _core.set_name_prefix(self._before.pop())


class init_scope(_core.init_scope):
    """Ops of the block run eagerly, even while tracing, or belong to the graph of a session; the name scope stays."""

    def __enter__(self):
        scope = _prefix()
        super().__enter__()
        _thread.scopes.append((None, scope))
        self._graph = _outermost_graph()
        if self._graph is not None:
            self._graph = self._graph.as_default()
            self._graph.__enter__()
            _core.set_name_prefix(scope)

    def __exit__(self, *exception):
        if self._graph is not None:
            self._graph.__exit__(None, None, None)
        _thread.scopes.pop()
        super().__exit__(*exception)


def _outermost_graph():
    """The session's graph around everything that is traced now, or None."""
    made = sys.modules.get("tandem.graph_mode.graph")
    return None if made is None else made.outermost()


class _Thread(threading.local):
    """The name scopes that a thread is in: the graph that each was entered in, and the scope, "a/b/" or ""."""

    def __init__(self):
        self.scopes = []


_thread = _Thread()


def _scope_in(graph):
    for where, scope in reversed(_thread.scopes):
        if where is graph:
            return scope
    return ""


def current_name_scope():
    """The names of the scopes around, "a/b". A function that is traced begins without any."""
    graph = _core.current_graph()
    scope = _scope_in(graph)
    return scope.rstrip("/") if graph is None else scope.removesuffix("/")


def naming(function, args, kwargs):
    """What a function returns, the op that made it under the name that `name=` gives it."""
    graph = _core.current_graph()
    if graph is None:
        return function(*args, **kwargs)
    name, first = kwargs["name"], len(graph)
    result = function(*args, **kwargs)
    made = result[0] if isinstance(result, (list, tuple)) and result else result
    if isinstance(made, _core.Tensor) and made._symbolic:
        name = name[:-1] if name.endswith("/") else _scope_in(graph) + name
        graph._name_made(made, name, first)
    return result


def name_in_scope(name):
    """The name of a variable with those of the scopes around it; one that ends with "/" is the whole name."""
    if not name or name.endswith("/"):
        return name[:-1]
    graph = _core.current_graph()
    if graph is not None:
        graph._unique_name(_scope_in(graph) + name)  # taken, for scopes that come later
    return _prefix() + name


def _prefix():
    """What the names of variables begin with. A graph knows a scope without its last "/", of which it puts one back
    where there is none."""
    graph = _core.current_graph()
    scope = _scope_in(graph)
    return scope[:-1] if graph is not None and scope.endswith("//") else scope


def gives_operation(function):
    """A function with an effect: in the graph of a session it returns the operation that has it."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        graph = session_graph()
        if graph is None or not graph._is_innermost:
            return function(*args, **kwargs)
        before = len(graph)
        result = function(*args, **kwargs)
        if result is not None:
            return result
        if len(graph) > before and not graph._describe(len(graph) - 1)[4]:
            return graph._made(len(graph) - 1)
        from tandem.graph_mode import ops

        return ops.no_op()

    call._inner = function
    return call


def inside_function():
    """Whether the code that runs now is being traced for a function."""
    graph = _core.current_graph()
    return graph is not None and graph.building_function


def control_dependencies(control_inputs):
    """Ops with effects keep the order of the program, but for the graphs of sessions."""
    if session_graph() is not None:
        from tandem.graph_mode import graph

        return graph.control_dependencies(control_inputs)
    if callable(control_inputs):
        control_inputs()
    return contextlib.nullcontext()


def executing_eagerly():
    return _core.executing_eagerly()


def reset_default_graph():
    """A new default graph; one that a block has made the default stays."""
    from tandem.graph_mode import graph

    graph.reset_default_graph()


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
