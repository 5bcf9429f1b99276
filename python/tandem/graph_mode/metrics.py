"""tf.compat.v1.metrics: (value, update operation) over local variables, for means and counts."""

import contextlib

from tandem import _core
from tandem._namespaces import get
from tandem.framework.dtypes import float32, int64
from tandem.graph_mode.collections import GraphKeys, add_to_collections
from tandem.graph_mode.scopes import variable_scope


def metric_variable(shape, dtype, name=None):
    """A local variable of zeros."""
    from tandem.inside.ops.variable_v1 import VariableV1

    return VariableV1(
        lambda: get("zeros")(shape, dtype), trainable=False, name=name,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
    )  # fmt: skip


@contextlib.contextmanager
def metric(name, default):
    """The scope of a metric."""
    if _core.executing_eagerly():
        raise RuntimeError(f"tf.metrics.{default} is not supported when eager execution is enabled.")
    with variable_scope(name, default):
        yield


def collected(value, update, metrics_collections, updates_collections):
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def safe_div(numerator, denominator):
    return get("math.divide_no_nan")(numerator, denominator)


def cast(value, dtype=float32):
    return get("cast")(value, dtype)


def total(value, axis=None):
    return get("reduce_sum")(value, axis=axis)


def spread(weights, values):
    """Weights in the shape of the values."""
    weights = cast(weights)
    if weights.shape.rank is not None and values.shape.rank is not None:
        while 0 < weights.shape.rank < values.shape.rank:
            weights = get("expand_dims")(weights, -1)
    return get("broadcast_to")(weights, get("shape")(values))


def squeezed(predictions, labels, weights=None):
    """The same without a last dimension of one that only one of them has."""
    predictions, labels = _core.convert_to_tensor(predictions), _core.convert_to_tensor(labels)
    ranks = predictions.shape.rank, labels.shape.rank
    if None not in ranks:
        if ranks[0] == ranks[1] + 1 and predictions.shape.as_list()[-1] == 1:
            predictions = get("squeeze")(predictions, [-1])
        elif ranks[1] == ranks[0] + 1 and labels.shape.as_list()[-1] == 1:
            labels = get("squeeze")(labels, [-1])
    predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is not None:
        weights = _core.convert_to_tensor(weights)
        rank = predictions.shape.rank
        if weights.shape.rank and rank is not None and weights.shape.rank == rank + 1:
            weights = get("squeeze")(weights, [-1])
    return predictions, labels, weights


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    return _mean_of(values, weights, metrics_collections, updates_collections, name, "mean")


def _mean_of(values, weights, metrics_collections, updates_collections, name, default):
    with metric(name, default):
        values = cast(values)
        sums, count = metric_variable([], float32, "total"), metric_variable([], float32, "count")
        if weights is None:
            number = cast(get("size")(values))
        else:
            weights = spread(weights, values)
            values, number = values * weights, total(weights)
        added = sums.assign_add(total(values))
        with get("control_dependencies")([values]):
            counted = count.assign_add(number)
        return collected(safe_div(sums, count), safe_div(added, counted), metrics_collections, updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    predictions, labels, weights = squeezed(predictions, labels, weights)
    if labels.dtype is not predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    right = cast(get("equal")(predictions, labels))
    return _mean_of(right, weights, metrics_collections, updates_collections, name, "accuracy")


def mean_absolute_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    predictions, labels, weights = squeezed(predictions, labels, weights)
    error = get("abs")(predictions - labels)
    return _mean_of(error, weights, metrics_collections, updates_collections, name, "mean_absolute_error")


def mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    predictions, labels, weights = squeezed(predictions, labels, weights)
    error = get("math.squared_difference")(labels, predictions)
    return _mean_of(error, weights, metrics_collections, updates_collections, name, "mean_squared_error")


def root_mean_squared_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    predictions, labels, weights = squeezed(predictions, labels, weights)
    error = get("math.squared_difference")(labels, predictions)
    value, update = _mean_of(error, weights, None, None, name, "root_mean_squared_error")
    sqrt = get("sqrt")
    return collected(sqrt(value), sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels, predictions, normalizer, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    predictions, labels, weights = squeezed(predictions, labels, weights)
    normalizer = cast(normalizer, predictions.dtype)
    error = get("where")(get("equal")(normalizer, 0), get("zeros_like")(labels),
                         get("abs")(labels - predictions) / normalizer)  # fmt: skip
    return _mean_of(error, weights, metrics_collections, updates_collections, name, "mean_relative_error")


def mean_cosine_distance(
    labels, predictions, dim, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    predictions, labels, weights = squeezed(predictions, labels, weights)
    radial = get("reduce_sum")(predictions * labels, axis=[dim], keepdims=True)
    value, update = _mean_of(radial, weights, None, None, name, "mean_cosine_distance")
    return collected(1.0 - value, 1.0 - update, metrics_collections, updates_collections)


def percentage_below(values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None):
    below = cast(get("less")(values, threshold))
    return _mean_of(below, weights, metrics_collections, updates_collections, name, "percentage_below_threshold")


def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    with metric(name, "mean"):
        values = cast(values)
        sums = metric_variable(values.shape, float32, "total_tensor")
        count = metric_variable(values.shape, float32, "count_tensor")
        number = get("ones_like")(values)
        if weights is not None:
            weights = spread(weights, values)
            values, number = values * weights, number * weights
        added, counted = sums.assign_add(values), count.assign_add(number)
        return collected(safe_div(sums, count), safe_div(added, counted), metrics_collections, updates_collections)


def _confusion(labels, predictions, num_classes, weights):
    """The confusion matrix of everything so far, and the operation that adds to it."""
    matrix = metric_variable([num_classes, num_classes], float32, "total_confusion_matrix")
    flat = [get("reshape")(cast(t, int64), [-1]) for t in (labels, predictions)]
    if weights is not None:
        weights = get("reshape")(cast(weights), [-1])
    new = get("math.confusion_matrix")(*flat, num_classes=num_classes, weights=weights, dtype=float32)
    return matrix, matrix.assign_add(new)


def mean_iou(
    labels, predictions, num_classes, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    with metric(name, "mean_iou"):
        matrix, update = _confusion(labels, predictions, num_classes, weights)
        rows, columns = total(matrix, 0), total(matrix, 1)
        diagonal = get("linalg.diag_part")(_core.convert_to_tensor(matrix))
        union = rows + columns - diagonal
        valid = total(cast(get("not_equal")(union, 0)))
        value = safe_div(total(safe_div(diagonal, union)), valid)
        return collected(value, update, metrics_collections, updates_collections)


def mean_per_class_accuracy(
    labels, predictions, num_classes, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    with metric(name, "mean_accuracy"):
        counts = metric_variable([num_classes], float32, "total")
        right = metric_variable([num_classes], float32, "count")
        labels = get("reshape")(cast(labels, int64), [-1])
        predictions = get("reshape")(cast(predictions, int64), [-1])
        ones = get("ones_like")(labels, dtype=float32)
        correct = cast(get("equal")(labels, predictions))
        if weights is not None:
            weights = get("reshape")(cast(weights), [-1])
            correct, ones = correct * weights, ones * weights
        summed = get("math.unsorted_segment_sum")
        added = counts.assign_add(summed(ones, labels, num_classes))
        hits = right.assign_add(summed(correct, labels, num_classes))
        mean_of = get("reduce_mean")
        return collected(mean_of(safe_div(right, counts)), safe_div(hits, added), metrics_collections,
                         updates_collections)  # fmt: skip
