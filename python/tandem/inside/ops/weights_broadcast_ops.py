"""tensorflow.python.ops.weights_broadcast_ops."""

from tandem import _namespaces


def broadcast_weights(weights, values):
    """Weights of the shape of values: one for all, or one along each dimension of size 1."""
    get = _namespaces.get
    values = get("convert_to_tensor")(values)
    weights = get("convert_to_tensor")(weights, dtype=getattr(values, "dtype", None))
    assert_broadcastable(weights, values)
    return weights * get("ones_like")(values, dtype=weights.dtype)


def assert_broadcastable(weights, values):
    mine, theirs = weights.shape, values.shape
    if mine.rank in (0, None) or theirs.rank is None:
        return
    if mine.rank != theirs.rank or any(m not in (1, None) and t is not None and m != t for m, t in zip(mine, theirs)):
        raise ValueError(f"weights can not be broadcast to values. values.shape={theirs}. weights.shape={mine}.")
