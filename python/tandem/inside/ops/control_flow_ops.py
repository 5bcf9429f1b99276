"""tensorflow.python.ops.control_flow_ops."""

from tandem.framework.graph import session_graph
from tandem.ops.math_more import group, tuple_


def with_dependencies(dependencies, output_tensor, name=None):
    """The tensor, which then needs `dependencies`; ops with effects keep the order of the program elsewhere."""
    if session_graph() is not None:
        from tandem.graph_mode import ops

        return ops.with_dependencies(dependencies, output_tensor, name)
    return output_tensor


tuple = tuple_v2 = tuple_  # noqa: A001
group_v2 = group


def get_enclosing_xla_context():
    """Graphs of Tandem's have no contexts of XLA."""
