"""tf.compat.v1.metrics that count true and false positives and negatives: precision, recall, AUC and their like."""

import numpy as np

from tandem import _core
from tandem._namespaces import get
from tandem.framework.dtypes import bool as bool_, float32
from tandem.graph_mode.metrics import cast, collected, metric, metric_variable, safe_div, spread, squeezed, total

_EPSILON = 1e-7


def _as_bools(labels, predictions, weights):
    predictions, labels, weights = squeezed(cast(predictions, bool_), cast(labels, bool_), weights)
    return labels, predictions, weights


def _count(condition, weights, variable):
    """Counts where a condition holds: (the sum so far, the sum with this batch)."""
    values = cast(condition)
    if weights is not None:
        values = values * spread(weights, values)
    count = metric_variable([], float32, variable)
    return count, count.assign_add(total(values))


def _counting(name, default, holds):
    def counts(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        with metric(name, default):
            labels, predictions, weights = _as_bools(labels, predictions, weights)
            count, update = _count(holds(labels, predictions), weights, "count")
            return collected(_core.convert_to_tensor(count), update, metrics_collections, updates_collections)

    counts.__name__ = counts.__qualname__ = name
    return counts


def _and(a, b):
    return get("logical_and")(a, b)


def _not(a):
    return get("logical_not")(a)


true_positives = _counting("true_positives", "true_positives", _and)
true_negatives = _counting("true_negatives", "true_negatives", lambda y, p: _and(_not(y), _not(p)))
false_positives = _counting("false_positives", "false_positives", lambda y, p: _and(_not(y), p))
false_negatives = _counting("false_negatives", "false_negatives", lambda y, p: _and(y, _not(p)))


def precision(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    with metric(name, "precision"):
        labels, predictions, weights = _as_bools(labels, predictions, weights)
        right, more_right = _count(_and(labels, predictions), weights, "true_positives/count")
        wrong, more_wrong = _count(_and(_not(labels), predictions), weights, "false_positives/count")
        return collected(safe_div(right, right + wrong), safe_div(more_right, more_right + more_wrong),
                         metrics_collections, updates_collections)  # fmt: skip


def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    with metric(name, "recall"):
        labels, predictions, weights = _as_bools(labels, predictions, weights)
        right, more_right = _count(_and(labels, predictions), weights, "true_positives/count")
        missed, more_missed = _count(_and(labels, _not(predictions)), weights, "false_negatives/count")
        return collected(safe_div(right, right + missed), safe_div(more_right, more_right + more_missed),
                         metrics_collections, updates_collections)  # fmt: skip


# ---- At several thresholds

_KINDS = {
    "tp": ("true_positives", lambda y, p: _and(y, p)),
    "fn": ("false_negatives", lambda y, p: _and(y, _not(p))),
    "tn": ("true_negatives", lambda y, p: _and(_not(y), _not(p))),
    "fp": ("false_positives", lambda y, p: _and(_not(y), p)),
}


def _at_thresholds(labels, predictions, thresholds, weights, kinds="tp fn tn fp"):
    """{kind: counts by threshold} so far, and with this batch."""
    predictions, labels, weights = squeezed(cast(predictions), cast(labels, bool_), weights)
    flat = get("reshape")
    scores, truth = flat(predictions, [1, -1]), flat(labels, [1, -1])
    limits = flat(_core.convert_to_tensor([float(t) for t in thresholds], float32), [-1, 1])
    above = get("greater")(scores, limits)
    truth = get("broadcast_to")(truth, get("shape")(above))
    factor = None if weights is None else flat(spread(weights, predictions), [1, -1])
    values, updates = {}, {}
    for kind in kinds.split():
        name, holds = _KINDS[kind]
        found = cast(holds(truth, above))
        found = found if factor is None else found * factor
        values[kind] = metric_variable([len(thresholds)], float32, name)
        updates[kind] = values[kind].assign_add(total(found, 1))
    return values, updates


def _counts_at(name, kind):
    def counts(
        labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):
        with metric(name, _KINDS[kind][0]):
            values, updates = _at_thresholds(labels, predictions, thresholds, weights, kind)
            return collected(_core.convert_to_tensor(values[kind]), updates[kind], metrics_collections,
                             updates_collections)  # fmt: skip

    counts.__name__ = counts.__qualname__ = name
    return counts


true_positives_at_thresholds = _counts_at("true_positives_at_thresholds", "tp")
true_negatives_at_thresholds = _counts_at("true_negatives_at_thresholds", "tn")
false_positives_at_thresholds = _counts_at("false_positives_at_thresholds", "fp")
false_negatives_at_thresholds = _counts_at("false_negatives_at_thresholds", "fn")


def _ratio_at(name, default, kinds, other):
    def ratio(
        labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):
        with metric(name, default):
            values, updates = _at_thresholds(labels, predictions, thresholds, weights, kinds)
            both = [get("math.divide")(c["tp"] + 0.0, _EPSILON + c["tp"] + c[other]) for c in (values, updates)]
            return collected(*both, metrics_collections, updates_collections)

    ratio.__name__ = ratio.__qualname__ = name
    return ratio


precision_at_thresholds = _ratio_at("precision_at_thresholds", "precision_at_thresholds", "tp fp", "fp")
recall_at_thresholds = _ratio_at("recall_at_thresholds", "recall_at_thresholds", "tp fn", "fn")


def _spaced(number):
    """Thresholds over [0, 1], with ends just outside of it."""
    inner = [(i + 1) / (number - 1) for i in range(number - 2)]
    return [-_EPSILON, *inner, 1.0 + _EPSILON]


def _area(c, curve, method):
    tp, fn, tn, fp = (_core.convert_to_tensor(c[k]) for k in ("tp", "fn", "tn", "fp"))
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fp, fn)
    rate = (tp + _EPSILON) / (tp + fn + _EPSILON)
    if curve == "ROC":
        x, y = fp / (fp + tn + _EPSILON), rate
    else:
        x, y = rate, (tp + _EPSILON) / (tp + fp + _EPSILON)
    pick = {"trapezoidal": lambda a, b: (a + b) / 2.0, "minoring": get("minimum"), "majoring": get("maximum")}[
        "trapezoidal" if method == "careful_interpolation" else method]  # fmt: skip
    return total((x[:-1] - x[1:]) * pick(y[:-1], y[1:]))


def _interpolated(tp, fp, fn):
    """The area under a curve of precision and recall, between points by the rule of Davis and Goadrich."""
    size = tp.shape.as_list()[0]
    positive = tp[: size - 1] - tp[1:]
    both = tp + fp
    precision_slope = safe_div(positive, get("maximum")(both[: size - 1] - both[1:], 0.0))
    intercept = tp[1:] - precision_slope * both[1:]
    ratio = get("where")(
        get("logical_and")(both[: size - 1] > 0, both[1:] > 0),
        safe_div(both[: size - 1], get("maximum")(both[1:], 0.0)), get("ones_like")(both[1:]),
    )  # fmt: skip
    return total(safe_div(
        precision_slope * (positive + intercept * get("math.log")(ratio)), get("maximum")(tp[1:] + fn[1:], 0.0)
    ))  # fmt: skip


def auc(
    labels, predictions, weights=None, num_thresholds=200, metrics_collections=None, updates_collections=None,
    curve="ROC", name=None, summation_method="trapezoidal", thresholds=None,
):  # fmt: skip
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with metric(name, "auc"):
        limits = _spaced(num_thresholds) if thresholds is None else [0.0 - _EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
        values, updates = _at_thresholds(labels, predictions, limits, weights)
        return collected(_area(values, curve, summation_method), _area(updates, curve, summation_method),
                         metrics_collections, updates_collections)  # fmt: skip


def _chosen(name, default, wanted):
    def chosen(
        labels, predictions, limit, weights=None, num_thresholds=200, metrics_collections=None, updates_collections=None,
        name=None,
    ):  # fmt: skip
        if not 0 <= limit <= 1:
            raise ValueError(f"`{wanted}` must be in the range [0, 1]. Currently, `{wanted}` got {limit}.")
        with metric(name, default):
            values, updates = _at_thresholds(labels, predictions, _spaced(num_thresholds), weights)
            both = [_at_limit(c, wanted, limit) for c in (values, updates)]
            return collected(*both, metrics_collections, updates_collections)

    chosen.__name__ = chosen.__qualname__ = name
    return chosen


def _at_limit(c, wanted, limit):
    """One rate where the other one is nearest to the limit."""
    tp, fn, tn, fp = (_core.convert_to_tensor(c[k]) for k in ("tp", "fn", "tn", "fp"))
    sensitivity, specificity = safe_div(tp, tp + fn + _EPSILON), safe_div(tn, tn + fp + _EPSILON)
    if wanted == "specificity":
        place = get("argmin")(get("abs")(specificity - limit))
        found = [t[place] for t in (tp, fn)]
    else:
        # Of the places where the sensitivity is nearest to it, the one with the most specificity.
        distance = get("abs")(sensitivity - limit)
        nearest = cast(get("equal")(distance, get("reduce_min")(distance)))
        place = get("argmax")(nearest * (1 + specificity))
        found = [t[place] for t in (tn, fp)]
    return safe_div(found[0], found[0] + found[1] + _EPSILON)


def sensitivity_at_specificity(
    labels, predictions, specificity, weights=None, num_thresholds=200, metrics_collections=None,
    updates_collections=None, name=None,
):  # fmt: skip
    return _SENSITIVITY(labels, predictions, specificity, weights, num_thresholds, metrics_collections,
                        updates_collections, name)  # fmt: skip


def specificity_at_sensitivity(
    labels, predictions, sensitivity, weights=None, num_thresholds=200, metrics_collections=None,
    updates_collections=None, name=None,
):  # fmt: skip
    return _SPECIFICITY(labels, predictions, sensitivity, weights, num_thresholds, metrics_collections,
                        updates_collections, name)  # fmt: skip


_SENSITIVITY = _chosen("sensitivity_at_specificity", "sensitivity_at_specificity", "specificity")
_SPECIFICITY = _chosen("specificity_at_sensitivity", "specificity_at_sensitivity", "sensitivity")


# ---- Of the k best classes


def _hits(labels, top, class_id):
    """By row: which of the best classes are labels; the number of labels."""
    labels = cast(labels, "int64")
    if labels.shape.rank == top.shape.rank - 1:
        labels = get("expand_dims")(labels, -1)
    if class_id is not None:
        top = get("where")(get("equal")(top, class_id), top, -1 * get("ones_like")(top))
        labels = get("where")(get("equal")(labels, class_id), labels, -2 * get("ones_like")(labels))
    same = get("equal")(get("expand_dims")(top, -1), get("expand_dims")(labels, -2))
    return get("reduce_any")(same, axis=-1), top, labels


def _top_ratio(labels, top, weights, class_id, of_labels, collections):
    hits, top, labels = _hits(labels, top, class_id)
    right = total(cast(hits), -1)
    valid = labels >= 0 if of_labels else top >= 0
    if of_labels:
        others = total(cast(valid), -1) - right
    else:
        others = total(cast(valid), -1) - right
    if weights is not None:
        factor = spread(weights, right)
        right, others = right * factor, others * factor
    first = metric_variable([], float32, "true_positive")
    second = metric_variable([], float32, "false_negative" if of_labels else "false_positive")
    more, rest = first.assign_add(total(right)), second.assign_add(total(others))
    divided = get("math.divide")
    return collected(divided(first + 0.0, first + second), divided(more, more + rest), *collections)


def _best(predictions, k):
    return cast(get("math.top_k")(predictions, k)[1], "int64")


def precision_at_k(
    labels, predictions, k, class_id=None, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    with metric(name, f"precision_at_{k}"):
        return _top_ratio(labels, _best(predictions, k), weights, class_id, False,
                          (metrics_collections, updates_collections))  # fmt: skip


def recall_at_k(
    labels, predictions, k, class_id=None, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    with metric(name, f"recall_at_{k}"):
        return _top_ratio(labels, _best(predictions, k), weights, class_id, True,
                          (metrics_collections, updates_collections))  # fmt: skip


def precision_at_top_k(
    labels, predictions_idx, k=None, class_id=None, weights=None, metrics_collections=None, updates_collections=None,
    name=None,
):  # fmt: skip
    with metric(name, f"precision_at_{k}"):
        return _top_ratio(labels, cast(predictions_idx, "int64"), weights, class_id, False,
                          (metrics_collections, updates_collections))  # fmt: skip


def recall_at_top_k(
    labels, predictions_idx, k=None, class_id=None, weights=None, metrics_collections=None, updates_collections=None,
    name=None,
):  # fmt: skip
    with metric(name, f"recall_at_{k}"):
        return _top_ratio(labels, cast(predictions_idx, "int64"), weights, class_id, True,
                          (metrics_collections, updates_collections))  # fmt: skip


sparse_precision_at_k = precision_at_k


def average_precision_at_k(
    labels, predictions, k, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    with metric(name, f"average_precision_at_{k}"):
        hits, top, labels = _hits(labels, _best(predictions, k), None)
        right = cast(hits)
        ranks = _core.convert_to_tensor(np.arange(1, k + 1, dtype=np.float32))
        relevant = get("minimum")(total(cast(labels >= 0), -1), float(k))
        average = safe_div(total(get("cumsum")(right, axis=-1) / ranks * right, -1), relevant)
        number = get("ones_like")(average)
        if weights is not None:
            factor = spread(weights, average)
            average, number = average * factor, factor
        sums, count = metric_variable([], float32, "total"), metric_variable([], float32, "max")
        more, counted = sums.assign_add(total(average)), count.assign_add(total(number))
        return collected(safe_div(sums, count), safe_div(more, counted), metrics_collections, updates_collections)


sparse_average_precision_at_k = average_precision_at_k
