"""tf.Graph: operations, collections, control dependencies, and the default graph."""

import atexit
import contextlib
import threading

from tandem import _core
from tandem.framework.graph import TracedGraph, _thread as _scopes
from tandem.graph_mode import naming
from tandem.graph_mode.operation import Operation, element_of


class _Thread(threading.local):
    """The graphs that a thread has made the default one, the innermost last."""

    def __init__(self):
        self.graphs = []


_thread = _Thread()


class Graph(TracedGraph):
    """A graph to build in, of which sessions run parts."""

    building_function = False

    def __init__(self):
        super().__init__("graph")
        self._open = True
        self._collections = {}
        self._operations = {}
        self._controls = []
        self._finalized = False
        self._runs = {}  # of sessions; see session.py
        self._sources = {}  # placeholders that are fed by themselves: node → function
        self._effects = {}  # operations that Python does: node → function
        self._variables = {}  # by the name of what reads them
        self.seed = None
        self._enter()  # from now on it can be looked at
        self._exit()

    @contextlib.contextmanager
    def as_default(self):
        with _entered(self):
            yield self

    # ---- Operations

    def _operation(self, node):
        made = self._operations.get(node)
        if made is None:
            made = self._operations[node] = Operation(self, node)
        return made

    def _made(self, node):
        """The operation that was made now, in a graph that may still grow."""
        return self._operation(node)

    def get_operations(self):
        return [self._operation(node) for node in range(len(self))]

    def get_operation_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        return element_of(self, obj, allow_tensor, allow_operation)

    def is_feedable(self, tensor):
        return True

    def is_fetchable(self, tensor_or_op):
        return True

    def prevent_feeding(self, tensor):
        """Anything may be fed."""

    prevent_fetching = prevent_feeding

    @property
    def version(self):
        return len(self)

    @property
    def finalized(self):
        return self._finalized

    def finalize(self):
        self._finalized = True
        self._freeze()

    def unique_name(self, name, mark_as_used=True):
        from tandem.framework.graph import _scope_in

        return self._unique_name(_scope_in(self) + name)

    def name_scope(self, name):
        from tandem.graph_mode.scopes import name_scope

        return name_scope(name)

    def device(self, device_name_or_function):
        from tandem.framework.device import device

        return contextlib.nullcontext() if callable(device_name_or_function) else device(device_name_or_function)

    def colocate_with(self, op, ignore_existing=False):
        """Operations are put where their inputs are."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def container(self, container_name):
        yield container_name

    def gradient_override_map(self, op_type_map):
        raise NotImplementedError("Gradients of Tandem's ops cannot be replaced by name: use tf.custom_gradient.")

    # ---- Control dependencies

    def control_dependencies(self, control_inputs):
        return _controlled(self, control_inputs)

    def _set_controls_now(self):
        self._set_controls(sorted({node for nodes in self._controls for node in nodes}))

    # ---- Collections

    @property
    def collections(self):
        return list(self._collections)

    def get_all_collection_keys(self):
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name, value):
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        for name in dict.fromkeys((names,) if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name, scope=None):
        found = list(self._collections.get(name, ()))
        if scope is None:
            return found
        import re

        pattern = re.compile(scope)
        return [item for item in found if hasattr(item, "name") and pattern.match(item.name)]

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    def clear_collection(self, name):
        self._collections.pop(name, None)

    # ---- Forms

    def as_graph_def(self, from_version=None, add_shapes=False):
        from tandem.graph_mode.messages import graph_def

        return graph_def(self)


@contextlib.contextmanager
def _entered(graph):
    naming.install()
    controls, graph._controls = graph._controls, []
    try:
        graph._enter()
        graph._set_controls([])
        _thread.graphs.append(graph)
        try:
            yield graph
        finally:
            _thread.graphs.pop()
    finally:
        graph._controls = controls
        graph._set_controls_now()
        graph._exit()


@contextlib.contextmanager
def _controlled(graph, control_inputs):
    """What is made in the block needs these operations and comes after them; None: after none at all."""
    before = graph._controls
    if control_inputs is None:
        graph._controls = []
    else:
        if callable(control_inputs):
            control_inputs = control_inputs()
        nodes = [n for n in map(lambda c: _node_of(graph, c), control_inputs) if n is not None]
        graph._controls = [*before, nodes]
    graph._set_controls_now()
    try:
        yield
    finally:
        graph._controls = before
        graph._set_controls_now()


def _node_of(graph, value):
    """The node to wait for; None: it has happened before, or is part of a branch, whose effects keep their order."""
    if isinstance(value, Operation):
        return value._node if value.graph is graph else None
    value = getattr(value, "values", value) if type(value).__name__ == "IndexedSlices" else value
    if isinstance(value, _core.VariableBase):
        value = value.value()
    if isinstance(value, (list, tuple)):
        raise TypeError(f"Control input must be Operation, Tensor or Variable, got {value!r}")
    if not isinstance(value, _core.Tensor):
        op = getattr(value, "op", None)
        if isinstance(op, Operation):
            return op._node if op.graph is graph else None
        raise TypeError(f"Control input must be Operation, Tensor or Variable, got {value!r}")
    place = _core.place_of(value)
    return place[0] if place is not None and getattr(value, "graph", None) is graph else None


def control_dependencies(control_inputs):
    """In the graph of a session: what is made in the block comes after `control_inputs`. Elsewhere the order of the
    program holds."""
    graph = current()
    if graph is not None and graph._is_innermost:
        return _controlled(graph, control_inputs)
    if callable(control_inputs):
        control_inputs()
    return contextlib.nullcontext()


def current():
    """The session's graph that is built now, or None; within a branch or a loop's body, the one around it."""
    graph = _core.current_graph()
    return graph if isinstance(graph, Graph) else None


def outermost():
    """The session's graph around everything that is traced now, or None where ops outside functions run at once."""
    return _thread.graphs[-1] if _thread.graphs else None


# ---- The default graph

_default = []
_eager = [True]


def disable_eager():
    """From now on ops outside of functions are put into the default graph."""
    if not _eager[0]:
        return
    if _core.current_graph() is not None and current() is None:
        raise ValueError("tf.disable_eager_execution must be called at program startup.")
    _eager[0] = False
    _enter_default()
    atexit.register(_leave_default)


def enable_eager():
    if _eager[0]:
        return
    _leave_default()
    _eager[0] = True


def is_eager_enabled():
    return _eager[0]


def _enter_default():
    naming.install()
    graph = default_graph()
    graph._enter()
    _thread.graphs.append(graph)


def _leave_default():
    if _default and _default[0] in _thread.graphs:
        _thread.graphs.remove(_default[0])
        _default[0]._exit()


def default_graph():
    """The graph that is built, or the process's own."""
    found = _core.current_graph()
    if found is not None:
        return found
    if not _default:
        _default.append(Graph())
    return _default[0]


def reset_default_graph():
    if _thread.graphs and _thread.graphs[-1:] != _default[:1]:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
            "and create a new graph."
        )
    entered = bool(_thread.graphs)
    _leave_default()
    _default.clear()
    if entered:
        _scopes.scopes.clear()
        _enter_default()
