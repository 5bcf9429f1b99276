"""Variables of graphs: they get a value in each session."""

import functools

import numpy as np

from tandem import _core
from tandem.framework import variable as eager
from tandem.framework.shape import as_shape
from tandem.graph_mode import graph as graphs, ops, switches
from tandem.graph_mode.collections import GraphKeys, global_variables, local_variables
from tandem.inside.ops.variable_v1 import VariableV1

_FORMS = {
    "v1": ("initial_value", "trainable", "collections", "validate_shape", "caching_device", "name", "variable_def",
           "dtype", "expected_shape", "import_scope", "constraint", "use_resource", "synchronization", "aggregation",
           "shape"),
    "v2": ("initial_value", "trainable", "validate_shape", "caching_device", "name", "variable_def", "dtype",
           "import_scope", "constraint", "synchronization", "aggregation", "shape"),
}  # fmt: skip


class GraphVariable(VariableV1):
    """A variable of a session's graph. `_form`: whose order its arguments by place have."""

    _form = "v1"

    def __init__(self, *args, **kwargs):
        given = {**dict(zip(_FORMS[self._form], args)), **kwargs}
        graph = graphs.current() or graphs.default_graph()
        if graph._is_innermost:
            self._make(graph, **given)
        else:  # in a branch or a loop: the variable is made outside of it
            with graph.as_default():
                self._make(graph, **given)

    def _make(
        self, graph, initial_value=None, trainable=None, collections=None, validate_shape=True, name=None, dtype=None,
        expected_shape=None, constraint=None, synchronization=eager.VariableSynchronization.AUTO,
        aggregation=eager.VariableAggregation.NONE, shape=None, use_resource=None, **unused,
    ):  # fmt: skip
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if trainable is None:
            trainable = synchronization is not eager.VariableSynchronization.ON_READ
        from tandem.graph_mode.scopes import name_scope

        with graph.control_dependencies(None), name_scope(name, "Variable") as scope:
            full = scope[:-1] if scope else name
            initial = self._first(initial_value, dtype, full)
            static = as_shape(shape) if shape is not None else initial.shape if validate_shape else as_shape(None)
            if validate_shape and not initial.shape.is_fully_defined() and shape is None:
                raise ValueError(f"initial_value must have a shape specified: {initial!r}")
            _core.VariableBase.__init__(
                self, None, name=full, trainable=bool(trainable), shape=static, dtype=initial.dtype
            )
            self._graph, self._initial_value, self._constraint = graph, initial, constraint
            self._synchronization, self._aggregation = synchronization, aggregation
            self._is_reference = not (switches.resource_variables_enabled() if use_resource is None else use_resource)
            self._validated = validate_shape
            _core.name_next(f"{full}/Assign/")
            self._update("AssignVariableOp", initial)
            self._initializer = graph._made(len(graph) - 1)
            _core.name_next(f"{full}/read/")
            self._snapshot = super().read_value()
        eager._BY_HANDLE[self.handle._id] = self
        graph._variables[full] = self._snapshot
        self._collect(graph, collections, trainable)

    def _first(self, value, dtype, full):
        dtype = None if dtype is None else _core.as_dtype(dtype)
        if callable(value):
            from tandem.framework.graph import name_scope

            with name_scope(f"{full}/Initializer/"):
                value = value()
        if isinstance(value, GraphVariable):
            value = value.initialized_value()
        if isinstance(value, np.ndarray) and dtype is not None and value.dtype != dtype.as_numpy_dtype:
            value = value.astype(dtype.as_numpy_dtype)
        tensor = _core.convert_to_tensor(value, dtype)
        return tensor if tensor._symbolic else ops.constant_in_graph(tensor, None, f"{full}/initial_value/")

    def _collect(self, graph, collections, trainable):
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(names, self)

    # ---- What it is

    graph = property(lambda self: self._graph)
    initializer = property(lambda self: self._initializer)
    initial_value = property(lambda self: self._initial_value)

    @property
    def op(self):
        return self._graph._operation(self._graph._find(self._plain_name))

    def _as_graph_element(self):
        return self._snapshot

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    __str__ = __repr__

    def __iter__(self):
        raise TypeError("'Variable' object is not iterable.")

    def to_proto(self, export_scope=None):
        raise NotImplementedError("Variables of Tandem's graphs have no VariableDef.")

    # ---- In a session

    def eval(self, session=None):
        from tandem.graph_mode.session import session_for

        return session_for(self._graph, session, "eval", "tensor").run(self)

    def load(self, value, session=None):
        from tandem.graph_mode.session import session_for

        session_for(self._graph, session, "load", "variable")._values.load(self, np.asarray(value))

    def numpy(self):
        raise NotImplementedError("numpy() is only available when eager execution is enabled.")

    def is_initialized(self, name=None):
        _core.name_next(name or "IsVariableInitialized")
        return _core.execute("VariableHasValue", self)

    def initialized_value(self):
        from tandem._namespaces import get

        return get("cond")(self.is_initialized(), self.read_value, lambda: self._initial_value)

    def count_up_to(self, limit):
        from tandem._namespaces import get

        value = self.read_value()
        text = f"Reached limit of {limit}"
        get("debugging.Assert")(value < limit, [text, value])
        with graphs.control_dependencies([value]):
            self.assign_add(1)
        return value

    # ---- Writing: what is returned is read after the write

    def _written(self, name, read_value, write):
        _core.name_next(name)
        write()
        if not self._graph._is_innermost:
            return self.read_value() if read_value else None
        operation = self._graph._made(len(self._graph) - 1)
        if not read_value:
            return operation
        with self._graph.control_dependencies([operation]):
            return self.read_value()

    def _assign(self, op, value, read_value, name=None):
        if not isinstance(value, _core.Tensor):
            value = _core.convert_to_tensor(value, self.dtype)
        if op == "AssignVariableOp":
            self._check(value)
        return self._written(name or op[: -len("VariableOp")], read_value, lambda: self._update(op, value))

    def _check(self, value):
        if value.dtype is not self.dtype:
            raise TypeError(f"Input 'value' of 'Assign' Op has type {value.dtype.name} that does not match type "
                            f"{self.dtype.name} of argument 'ref'.")
        if self._validated and not self.shape.is_compatible_with(value.shape):
            raise ValueError(f"Dimension mismatch for 'Assign' of '{self.name}': Shapes must be equal: the variable's is "
                             f"{self.shape}, the value's {value.shape}.")

    def assign(self, value, use_locking=False, name=None, read_value=True):
        return self._assign("AssignVariableOp", value, read_value, name)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        return self._assign("AssignAddVariableOp", delta, read_value, name)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        return self._assign("AssignSubVariableOp", delta, read_value, name)

    def _scatter(self, op, slices):
        return self._written(op[len("Resource") :], True, lambda: self._update(op, slices.indices, slices.values))


def operation_of_write(variable, op, *values, name=None):
    """Writes to a variable; returns the operation alone."""
    variable = getattr(variable, "_variable", variable)
    return variable._written(name or op, False, functools.partial(variable._update, op, *values))


def variables_initializer(var_list, name="init"):
    """An operation that gives each variable its first value."""
    if graphs.current() is None:
        return ops.group(name=name)
    return ops.group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer():
    return variables_initializer(global_variables())


def local_variables_initializer():
    return variables_initializer(local_variables())


def is_variable_initialized(variable):
    return variable.is_initialized()


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """A string tensor with the names of the variables that have no value."""
    from tandem._namespaces import get

    wanted = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    if not wanted:
        return ops.constant_in_graph(np.zeros([0], object), "string")
    missing = get("logical_not")(get("stack")([v.is_initialized() for v in wanted]))
    names = _core.convert_to_tensor([v._plain_name for v in wanted])
    return get("boolean_mask")(names, missing)


def assert_variables_initialized(var_list=None):
    """Fails when one of the variables has no value."""
    wanted = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    return ops.group(*[v.read_value() for v in wanted], name="assert_variables_initialized") if wanted else None
