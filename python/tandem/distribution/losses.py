"""Losses of replicas that add up to the loss of the global batch."""

from tandem import _core
from tandem.distribution.strategy import get_strategy, has_strategy, in_cross_replica_context


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of the examples' losses over the size of the global batch."""
    loss = _core.convert_to_tensor(per_example_loss)
    if loss.dtype.is_bool or loss.dtype.name == "string":
        raise TypeError(f"`per_example_loss` must be numbers, got a tensor of {loss.dtype!r}.")
    if not loss.dtype.is_floating:
        loss = _core.execute("Cast", loss, dtype="float32")
    if loss.shape.rank == 0:
        raise ValueError("Input to `compute_average_loss` must be a tensor with at least one dimension of examples.")
    if has_strategy() and in_cross_replica_context():
        raise RuntimeError(
            "You are calling `compute_average_loss` in cross replica context, while it was expected to be called in "
            "replica context."
        )
    if sample_weight is not None:
        loss = loss * _core.convert_to_tensor(sample_weight, loss.dtype)
    if global_batch_size is None:
        global_batch_size = _core.execute("Shape", loss)[0] * get_strategy().num_replicas_in_sync
    total = _core.execute("Sum", loss)
    return total / _core.execute("Cast", _core.convert_to_tensor(global_batch_size), dtype=loss.dtype)


def scale_regularization_loss(regularization_loss):
    """A loss of the weights, which every replica computes, shared out."""
    if has_strategy() and in_cross_replica_context():
        raise RuntimeError(
            "You are calling `scale_regularization_loss` in cross replica context, while it was expected to be "
            "called in replica context."
        )
    total = _core.execute("Sum", regularization_loss)
    return total / get_strategy().num_replicas_in_sync
