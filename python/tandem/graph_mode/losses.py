"""tf.compat.v1.losses: weighted losses, which are collected in the graph."""

from tandem import _core
from tandem._namespaces import get
from tandem.framework.dtypes import float32
from tandem.graph_mode.collections import GraphKeys, add_to_collection, get_collection


class Reduction:
    """How the weighted losses of single elements become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"

    @classmethod
    def all(cls):
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
                cls.SUM_BY_NONZERO_WEIGHTS)  # fmt: skip

    @classmethod
    def validate(cls, key):
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


_BY_WEIGHTS = Reduction.SUM_BY_NONZERO_WEIGHTS


# ---- The collected losses


def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    if loss_collection and not _core.executing_eagerly():
        add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    losses = get_regularization_losses(scope)
    return get("add_n")(losses, name=name) if losses else get("constant")(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return get("add_n")(losses, name=name)


# ---- Weighting


def _safe_div(numerator, denominator):
    return get("math.divide_no_nan")(numerator, denominator)


def _check_weights(losses, weights):
    """Weights are a number, or have the losses' rank with sizes of one or theirs."""
    there, given = losses.shape, weights.shape
    if given.rank is None or there.rank is None or given.rank == 0:
        return
    fits = given.rank == there.rank and all(
        w in (1, None) or v is None or w == v for w, v in zip(given.as_list(), there.as_list())
    )
    if not fits:
        raise ValueError(f"weights can not be broadcast to values. values.rank={there.rank}. weights.rank={given.rank}. "
                         f"values.shape={there}. weights.shape={given}.")


def _num_present(losses, weights, per_batch=False):
    """The number of losses whose weight is not zero: of all, or of each row, whose dimensions stay as ones."""
    present = get("cast")(get("not_equal")(weights, 0.0), float32)
    present = get("broadcast_to")(present, get("shape")(losses))
    if per_batch:
        return get("reduce_sum")(present, axis=list(range(1, losses.shape.rank)), keepdims=True)
    return get("reduce_sum")(present)


def compute_weighted_loss(
    losses, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS
):
    """The losses times the weights, brought together."""
    Reduction.validate(reduction)
    with get("name_scope")(scope or "weighted_loss"):
        losses = _core.convert_to_tensor(losses)
        given, losses = losses.dtype, get("cast")(losses, float32)
        weights = get("cast")(weights, float32)
        _check_weights(losses, weights)
        weighted = losses * weights
        loss = weighted if reduction == Reduction.NONE else get("reduce_sum")(weighted)
        if reduction == Reduction.MEAN:
            loss = _safe_div(loss, get("reduce_sum")(get("ones_like")(losses) * weights))
        elif reduction == _BY_WEIGHTS:
            loss = _safe_div(loss, _num_present(losses, weights))
        elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
            loss = _safe_div(loss, get("cast")(get("size")(losses), float32))
        loss = get("cast")(loss, given)
        add_loss(loss, loss_collection)
        return loss


def _pair(labels, predictions, names=("labels", "predictions")):
    for name, value in zip(names, (labels, predictions)):
        if value is None:
            raise ValueError(f"{name} must not be None.")
    predictions = get("cast")(predictions, float32)
    labels = get("cast")(labels, float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def absolute_difference(
    labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS
):
    with get("name_scope")(scope or "absolute_difference") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = get("abs")(predictions - labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels, predictions, axis=None, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS,
    dim=None,
):  # fmt: skip
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    with get("name_scope")(scope or "cosine_distance_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = 1 - get("reduce_sum")(predictions * labels, axis=[axis], keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS):
    with get("name_scope")(scope or "hinge_loss") as scope:
        labels, logits = _pair(labels, logits, ("labels", "logits"))
        losses = get("nn.relu")(1 - (2 * labels - 1) * logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS
):
    with get("name_scope")(scope or "huber_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        error = get("abs")(predictions - labels)
        near = get("minimum")(error, delta)
        return compute_weighted_loss(0.5 * near * near + delta * (error - near), weights, scope, loss_collection, reduction)


def log_loss(
    labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS
):
    with get("name_scope")(scope or "log_loss") as scope:
        labels, predictions = _pair(labels, predictions)
        log = get("math.log")
        losses = -labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES):
    """Of all pairs of elements of a row, the squared difference of their errors."""
    with get("name_scope")(scope or "mean_pairwise_squared_error") as scope:
        labels, predictions = _pair(labels, predictions)
        weights = get("cast")(weights, float32)
        difference = predictions - labels
        axes = list(range(1, difference.shape.rank))
        total = get("reduce_sum")
        count = _num_present(difference, weights, per_batch=True)
        first = 2 * _safe_div(total(difference * difference, axis=axes, keepdims=True), get("maximum")(count - 1, 0.0))
        second = 2 * _safe_div(total(difference, axis=axes, keepdims=True) ** 2, count * (count - 1))
        loss = total((first - second) * weights)
        loss = get("where")(total(count) > 0, loss, get("zeros_like")(loss))
        add_loss(loss, loss_collection)
        return loss


def mean_squared_error(
    labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS
):
    with get("name_scope")(scope or "mean_squared_error") as scope:
        labels, predictions = _pair(labels, predictions)
        losses = get("math.squared_difference")(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _labels_and_logits(name, labels, logits):
    """As tensors of the dtype of the logits, whose shapes fit."""
    if labels is None or logits is None:
        raise ValueError(f"{'logits' if logits is None else name} must not be None.")
    logits = _core.convert_to_tensor(logits)
    labels = get("cast")(labels, logits.dtype)
    logits.shape.assert_is_compatible_with(labels.shape)
    return labels, logits


def sigmoid_cross_entropy(
    multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection=GraphKeys.LOSSES,
    reduction=_BY_WEIGHTS,
):  # fmt: skip
    with get("name_scope")(scope or "sigmoid_cross_entropy_loss") as scope:
        labels, logits = _labels_and_logits("multi_class_labels", multi_class_labels, logits)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = get("nn.sigmoid_cross_entropy_with_logits")(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection=GraphKeys.LOSSES,
    reduction=_BY_WEIGHTS,
):  # fmt: skip
    with get("name_scope")(scope or "softmax_cross_entropy_loss") as scope:
        labels, logits = _labels_and_logits("onehot_labels", onehot_labels, logits)
        if label_smoothing > 0:
            classes = get("cast")(get("shape")(labels)[-1], logits.dtype)
            labels = labels * (1 - label_smoothing) + label_smoothing / classes
        losses = get("nn.softmax_cross_entropy_with_logits")(labels=get("stop_gradient")(labels), logits=logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_WEIGHTS
):
    if labels is None or logits is None:
        raise ValueError(f"{'logits' if logits is None else 'labels'} must not be None.")
    with get("name_scope")(scope or "sparse_softmax_cross_entropy_loss") as scope:
        labels, logits = _core.convert_to_tensor(labels), _core.convert_to_tensor(logits)
        squeeze = get("squeeze")
        if labels.shape.rank is not None and labels.shape.rank == logits.shape.rank:
            labels = squeeze(labels, [-1])
        losses = get("nn.sparse_softmax_cross_entropy_with_logits")(labels=labels, logits=logits)
        weights = get("cast")(weights, losses.dtype)
        if weights.shape.rank is not None and weights.shape.rank == (losses.shape.rank or 0) + 1:
            weights = squeeze(weights, [-1])
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
