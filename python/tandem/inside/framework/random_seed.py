"""tensorflow.python.framework.random_seed."""

from tandem import _namespaces

DEFAULT_GRAPH_SEED = 87654321


def set_seed(seed):
    _namespaces.get("random.set_seed")(seed)


set_random_seed = set_seed
