"""tensorflow.python.training.experimental.mixed_precision_global_state: what Keras 2 says of its policies."""

_STATE = {"policy": False}


def is_mixed_precision_graph_rewrite_enabled():
    """Graphs are never rewritten to another precision."""
    return False


def set_using_mixed_precision_policy(is_using_mixed_precision_policy):
    _STATE["policy"] = bool(is_using_mixed_precision_policy)


def is_using_mixed_precision_policy():
    return _STATE["policy"]
