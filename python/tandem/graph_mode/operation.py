"""tf.Operation, and the elements of a graph by name."""

from tandem import _core

# What TensorFlow calls ops that have another name here.
_TYPES = {"Call": "PartitionedCall", "RealDiv": "RealDiv"}


class Operation:
    """A node of a graph."""

    def __init__(self, graph, node):
        self._graph = graph
        self._node = node
        self._found = None

    def _described(self):
        return self._graph._describe(self._node)

    graph = property(lambda self: self._graph)
    name = property(lambda self: self._described()[0])
    device = property(lambda self: self._described()[2])

    @property
    def type(self):
        kind = self._described()[1]
        return _TYPES.get(kind, kind)

    @property
    def inputs(self):
        return tuple(self._graph._symbolic(*place) for place in self._described()[3])

    @property
    def outputs(self):
        if self._found is None:
            self._found = [self._graph._symbolic(self._node, i) for i in range(self._described()[4])]
        return list(self._found)

    @property
    def control_inputs(self):
        return [operation(self._graph, node) for node in self._described()[5]]

    @property
    def op_def(self):
        return None

    @property
    def node_def(self):
        from tandem.graph_mode.messages import node_def

        return node_def(self)

    def values(self):
        return tuple(self.outputs)

    def run(self, feed_dict=None, session=None):
        from tandem.graph_mode.session import session_for

        session_for(self._graph, session, "run", "operation").run(self, feed_dict)

    def get_attr(self, name):
        if name in ("dtype", "T") and self.outputs:
            return self.outputs[0].dtype
        if name == "shape" and self.outputs:
            return self.outputs[0].shape
        raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")

    def colocation_groups(self):
        return [f"loc:@{self.name}".encode()]

    def __eq__(self, other):
        return isinstance(other, Operation) and self._graph is other._graph and self._node == other._node

    def __hash__(self):
        return hash((id(self._graph), self._node))

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"

    __str__ = lambda self: f'name: "{self.name}"\nop: "{self.type}"\n'  # noqa: E731

    def __tf_tensor__(self, dtype=None, name=None):
        raise TypeError(f"Operation '{self.name}' is no tensor; it has {len(self.outputs)} outputs.")


class InnerOperation:
    """An operation of a branch or a loop's body: its name and type."""

    def __init__(self, graph, name, kind):
        self.graph, self.name, self.type = graph, name, _TYPES.get(kind, kind)

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


def tensor_op(tensor):
    """Tensor.op: the operation that made it."""
    place = _core.place_of(tensor) if tensor._symbolic else None
    if place is None:
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")
    graph = tensor.graph
    if not graph._has(tensor):
        return InnerOperation(graph, *_core.made_by(tensor)[:2])
    return operation(graph, place[0])


def operation(graph, node):
    made = getattr(graph, "_operation", None)
    return made(node) if made is not None else Operation(graph, node)


def element_of(graph, obj, allow_tensor=True, allow_operation=True):
    """The tensor or operation that a name, tensor, variable or operation stands for in this graph."""
    if isinstance(obj, str):
        return _named(graph, obj, allow_tensor, allow_operation)
    if isinstance(obj, bytes):
        return _named(graph, obj.decode(), allow_tensor, allow_operation)
    own = getattr(obj, "_as_graph_element", None)
    if own is not None:
        obj = own()
    if isinstance(obj, Operation) and allow_operation:
        if obj.graph is not graph:
            raise ValueError(f"Operation {obj!r} is not an element of this graph.")
        return obj
    if isinstance(obj, _core.Tensor) and allow_tensor:
        if not obj._symbolic or obj.graph is not graph:
            raise ValueError(f"Tensor {obj!r} is not an element of this graph.")
        return obj
    kinds = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
    raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")


def _named(graph, name, allow_tensor, allow_operation):
    op_name, colon, number = name.partition(":")
    if colon and allow_tensor:
        variable = graph._variables.get(op_name)
        if variable is not None and number == "0":
            return variable
        if not number.isdigit():
            raise ValueError(f"The name {name!r} looks a Tensor name, but is not a valid one. "
                             "Tensor names must be of the form \"<op_name>:<output_index>\".")
        node = graph._find(op_name)
        if node < 0:
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
                           "does not exist in the graph.")
        outputs = graph._operation(node).outputs
        if int(number) >= len(outputs):
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
                           f"exists but only has {len(outputs)} outputs.")
        return outputs[int(number)]
    if colon:
        raise ValueError(f"The name {name!r} appears to refer to a Tensor, not a Operation.")
    node = graph._find(name)
    if not allow_operation:
        raise ValueError(f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                         "\"<op_name>:<output_index>\".")
    if node < 0:
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
    return graph._operation(node)
