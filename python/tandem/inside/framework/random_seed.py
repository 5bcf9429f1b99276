"""tensorflow.python.framework.random_seed."""

from tandem import _namespaces
from tandem.framework.graph import session_graph

DEFAULT_GRAPH_SEED = 87654321


def set_seed(seed):
    """Of the process; in the graph of a session, of the operations that come."""
    graph = session_graph()
    if graph is not None:
        graph.seed = seed
    _namespaces.get("random.set_seed")(seed)


def get_seed(op_seed):
    """The two seeds of an operation: the graph's and its own."""
    graph = session_graph()
    seed = None if graph is None else graph.seed
    if seed is not None:
        return seed, len(graph) if op_seed is None else op_seed
    return (None, None) if op_seed is None else (DEFAULT_GRAPH_SEED, op_seed)


set_random_seed = set_seed
