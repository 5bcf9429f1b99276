"""What graph mode adds to the ops: placeholders, constants as operations, groups of operations."""

from tandem import _core
from tandem.framework import composites
from tandem.framework.graph import _scope_in
from tandem.framework.shape import as_shape
from tandem.graph_mode import graph as graphs
from tandem.graph_mode.operation import Operation


def full_name(graph, name):
    """A name in the scopes around; one that ends with "/" is whole."""
    return name[:-1] if name.endswith("/") else _scope_in(graph) + name


def placeholder(dtype, shape=None, name=None):
    """A tensor that gets its value in Session.run()."""
    graph = _core.current_graph()
    if graph is None:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return graph.placeholder(_core.as_dtype(dtype), shape, full_name(graph, name or "Placeholder"))


def placeholder_with_default(input, shape, name=None):
    """A tensor that may be fed, and is `input` otherwise."""
    graph = graphs.current()
    if graph is None:
        return _core.execute("Identity", _core.convert_to_tensor(input))
    _core.name_next(name or "PlaceholderWithDefault")
    return _core.execute("PlaceholderWithDefault", _core.convert_to_tensor(input), shape=as_shape(shape))


def sparse_placeholder(dtype, shape=None, name=None):
    """A sparse tensor that is fed with a SparseTensorValue, or (indices, values, dense_shape)."""
    from tandem.framework.sparse import SparseTensor

    shape = as_shape(shape)
    name = name or "Placeholder"
    values = placeholder(dtype, [None], name + "/values")
    indices = placeholder("int64", [None, shape.rank], name + "/indices")
    if shape.is_fully_defined():
        dense = placeholder_with_default(constant_in_graph(shape.as_list(), "int64"), [shape.rank], name + "/shape")
    else:
        dense = placeholder("int64", [shape.rank], name + "/shape")
    return SparseTensor(indices, values, dense)


def constant_in_graph(value, dtype=None, name="Const"):
    """A constant as a value of the session's graph that is built, which has a name and may be fed."""
    tensor = _core.convert_to_tensor(value, dtype)
    graph = graphs.current()
    if graph is None or tensor._symbolic or not graph._is_innermost:
        return tensor
    return graph._add_constant(tensor, full_name(graph, name or "Const"))


def node_of_last(graph):
    return len(graph) - 1


def no_op(name=None):
    """An operation that does nothing itself."""
    graph = graphs.current()
    if graph is None or not graph._is_innermost:
        return None
    _core.name_next(name or "NoOp")
    _core.execute("NoOp")
    return graph._made(node_of_last(graph))


def _flat(inputs):
    from tandem.framework import nest

    for value in nest.flatten(inputs):
        if value is None:
            raise TypeError("Expected Operation, Tensor, or Variable, got None.")
        yield value


def group(*inputs, **kwargs):
    """An operation that is done when all inputs are."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    graph = graphs.current()
    inputs = list(_flat(inputs))
    if graph is None or not graph._is_innermost:
        return None
    with graph.control_dependencies(inputs):
        return no_op(name or "group_deps")


def tuple_of(tensors, control_inputs=None):
    """The same tensors, each of which needs all of them."""
    present = [t for t in tensors if t is not None]
    with graphs.control_dependencies([*present, *(control_inputs or ())]):
        return [t if t is None or is_operation(t) else _core.execute("Identity", _core.convert_to_tensor(t))
                for t in tensors]  # fmt: skip


def with_dependencies(dependencies, output_tensor, name=None):
    """The tensor, which then needs `dependencies`."""
    with graphs.control_dependencies(dependencies):
        if name is not None:
            _core.name_next(name)
        return _core.execute("Identity", _core.convert_to_tensor(output_tensor))


def with_effects(graph, make):
    """What make() gives, whose tensors then need all operations with effects that it has made."""
    before = len(graph)
    made = make()
    effects = [n for n in range(before, len(graph)) if _has_effect(graph, n)]
    if not effects:
        return made
    with graph.control_dependencies([graph._operation(n) for n in effects]):
        return composites.rebuild(made, _after)


def _after(value, path):
    """The value, after what the scope says."""
    return _core.execute("Identity", value) if isinstance(value, _core.Tensor) and value._symbolic else value


def _has_effect(graph, node):
    _, kind, _, _, outputs, _ = graph._describe(node)
    return (outputs == 0 and kind not in ("NoOp", "VarHandleOp")) or kind in ("If", "Case", "While", "PyFunc")


def effect(name, function):
    """An operation that Python does when it is run: function(session, feed_dict)."""
    operation = no_op(name)
    operation.graph._effects[operation._node] = function
    return operation


def source(dtype, shape, name, function):
    """A tensor that gets its value from function(session) in every run that needs it, unless it is fed."""
    tensor = placeholder(dtype, shape, name)
    tensor.graph._sources[_core.place_of(tensor)[0]] = function
    return tensor


def is_operation(value):
    return isinstance(value, Operation)
