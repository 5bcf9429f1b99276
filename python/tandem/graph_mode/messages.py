"""GraphDef and NodeDef of a graph, as far as people read them: names, ops, inputs and devices."""


class NodeDef:
    def __init__(self, name="", op="", input=(), device=""):
        self.name, self.op, self.input, self.device, self.attr = name, op, list(input), device, {}

    def __repr__(self):
        lines = [f'name: "{self.name}"', f'op: "{self.op}"'] + [f'input: "{i}"' for i in self.input]
        return "\n".join(lines + ([f'device: "{self.device}"'] if self.device else [])) + "\n"


class GraphDef:
    """`_graph`: the graph that it describes, which import_graph_def() takes it from."""

    def __init__(self, node=(), _graph=None):
        self.node = list(node)
        self._graph = _graph

    def __repr__(self):
        return "".join("node {\n" + "".join(f"  {line}\n" for line in repr(n).splitlines()) + "}\n" for n in self.node)

    def SerializeToString(self):  # noqa: N802
        return repr(self).encode()

    def ByteSize(self):  # noqa: N802
        return len(self.SerializeToString())

    def CopyFrom(self, other):  # noqa: N802
        self.node, self._graph = list(other.node), other._graph


def node_def(operation):
    graph = operation.graph
    name, _, device, inputs, _, controls = graph._describe(operation._node)
    given = []
    for node, output in inputs:
        before = graph._describe(node)[0]
        given.append(before if output == 0 else f"{before}:{output}")
    given += [f"^{graph._describe(node)[0]}" for node in controls]
    return NodeDef(name, operation.type, given, device)


def graph_def(graph):
    return GraphDef([node_def(op) for op in graph.get_operations()], graph)
