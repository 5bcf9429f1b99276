"""The global step of a graph: the variable that counts the steps of training."""

from tandem import _core
from tandem.framework.dtypes import int64
from tandem.graph_mode import graph as graphs
from tandem.graph_mode.collections import GraphKeys


def _of(graph):
    return graph if graph is not None else graphs.default_graph()


def get_global_step(graph=None):
    graph = _of(graph)
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise TypeError("Multiple tensors in global_step collection.")
    if found:
        step = found[0]
    else:
        named = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.op.name == "global_step"]
        if not named:
            return None
        step = named[0]
    assert_global_step(step)
    return step


def assert_global_step(global_step_tensor):
    if not isinstance(global_step_tensor, (_core.Tensor, _core.VariableBase)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    if global_step_tensor.shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')


def create_global_step(graph=None):
    from tandem.graph_mode.scopes import get_variable
    from tandem.inside.ops.init_ops import Zeros

    graph = _of(graph)
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default():
        return get_variable(
            "global_step", shape=[], dtype=int64, initializer=Zeros(int64), trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )  # fmt: skip


def get_or_create_global_step(graph=None):
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess, global_step_tensor):
    """The number of steps so far."""
    return int(sess.run(global_step_tensor))
