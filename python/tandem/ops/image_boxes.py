"""tf.image: boxes of several classes thinned out together, and boxes proposed from anchors."""

import collections

from tandem._core import convert_to_tensor, execute
from tandem.ops import check

CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression", ["nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"]
)


def combined_non_max_suppression(
    boxes, scores, max_output_size_per_class, max_total_size, iou_threshold=0.5, score_threshold=float("-inf"),
    pad_per_class=False, clip_boxes=True, name=None,
):  # fmt: skip
    """The best boxes of each image, thinned out class by class; boxes [batch, n, 1 or classes, 4], scores [batch, n, classes]."""
    boxes, scores = (check.with_rank(convert_to_tensor(v, "float32"), n, n) for v, n in ((boxes, 4), (scores, 3)))
    if None in boxes.shape.as_list() or None in scores.shape.as_list():
        raise ValueError(f"combined_non_max_suppression: the shapes must be known, got {boxes.shape} and {scores.shape}.")
    per_class, total = int(max_output_size_per_class), int(max_total_size)
    classes = scores.shape[2]
    if boxes.shape[2] not in (1, classes):
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "third dimension of boxes must be either 1 or equal to the third dimension of scores")
    size = min(total, per_class * classes) if pad_per_class else total
    rows = [_best(boxes[b], scores[b], classes, per_class, size, iou_threshold, score_threshold) for b in range(boxes.shape[0])]
    found = [execute("Pack", list(column), axis=0) for column in zip(*rows)]
    if clip_boxes:
        found[0] = execute("ClipByValue", found[0], 0.0, 1.0)
    return CombinedNonMaxSuppression(*found)


def _best(boxes, scores, classes, per_class, size, overlap, least):
    parts = []
    for c in range(classes):
        mine, values = boxes[:, c if boxes.shape[1] > 1 else 0], scores[:, c]
        kept = execute("NonMaxSuppressionV5", mine, values, min(per_class, scores.shape[0]), overlap, least, 0.0)[0]
        number = execute("Fill", execute("Shape", kept), convert_to_tensor(float(c)))
        parts.append((execute("GatherV2", mine, kept), execute("GatherV2", values, kept), number))
    boxes, values, numbers = (execute("ConcatV2", list(column), axis=0) if classes > 1 else column[0] for column in zip(*parts))
    count = execute("Minimum", execute("Size", values), size)
    order = execute("ArgSort", values, axis=0, direction="DESCENDING", stable=True)[:count]
    pad = lambda x, more: execute("Pad", execute("GatherV2", x, order), [[0, size - count], *more])  # noqa: E731
    found = pad(boxes, [[0, 0]]), pad(values, []), pad(numbers, [])
    for part, shape in zip(found, ([size, 4], [size], [size])):
        part.set_shape(shape)
    return *found, count


def generate_bounding_box_proposals(
    scores, bbox_deltas, image_info, anchors, nms_threshold=0.7, pre_nms_topn=6000, min_size=16, post_nms_topn=300, name=None,
):  # fmt: skip
    """(boxes, probabilities): the best of boxes that deltas move from anchors; [batch, h, w, a], [batch, h, w, 4a], [h, w, a, 4]."""
    scores, deltas, info = (check.with_rank(convert_to_tensor(v, "float32"), n, n) for v, n in ((scores, 4), (bbox_deltas, 4), (image_info, 2)))
    if None in scores.shape.as_list():
        raise ValueError(f"generate_bounding_box_proposals: the shape of scores must be known, got {scores.shape}.")
    anchors = execute("Reshape", convert_to_tensor(anchors, "float32"), [-1, 4])
    most, kept = int(pre_nms_topn), int(post_nms_topn)
    rows = []
    for b in range(scores.shape[0]):
        values = execute("Reshape", scores[b], [-1])
        best, places = execute("TopKV2", values, min(most, values.shape[0]))
        moved = _moved(execute("GatherV2", anchors, places), execute("GatherV2", execute("Reshape", deltas[b], [-1, 4]), places), info[b])
        heights, widths = moved[:, 2] - moved[:, 0] + 1.0, moved[:, 3] - moved[:, 1] + 1.0
        least = float(min_size) * info[b][2]
        large = execute("Where", execute("LogicalAnd", execute("GreaterEqual", heights, least), execute("GreaterEqual", widths, least)))[:, 0]
        moved, best = execute("GatherV2", moved, large), execute("GatherV2", best, large)
        found = execute("NonMaxSuppressionV5", moved, best, kept, float(nms_threshold), float("-inf"), 0.0)[0]
        more = kept - execute("Size", found)
        rows.append((execute("Pad", execute("GatherV2", moved, found), [[0, more], [0, 0]]), execute("Pad", execute("GatherV2", best, found), [[0, more]])))
    return tuple(execute("Pack", list(column), axis=0) for column in zip(*rows))


def _moved(anchors, deltas, info):
    """Anchors by their deltas (y, x, height, width), within the image."""
    height, width = anchors[:, 2] - anchors[:, 0] + 1.0, anchors[:, 3] - anchors[:, 1] + 1.0
    y, x = anchors[:, 0] + 0.5 * height, anchors[:, 1] + 0.5 * width
    grow = lambda d: execute("Exp", execute("Minimum", d, 4.135166556742356))  # noqa: E731  (log(1000 / 16))
    y, x = y + deltas[:, 0] * height, x + deltas[:, 1] * width
    height, width = height * grow(deltas[:, 2]), width * grow(deltas[:, 3])
    corners = [y - 0.5 * height, x - 0.5 * width, y + 0.5 * height - 1.0, x + 0.5 * width - 1.0]
    limits = [info[0] - 1.0, info[1] - 1.0] * 2
    zero = convert_to_tensor(0.0)
    return execute("Pack", [execute("Maximum", execute("Minimum", c, limit), zero) for c, limit in zip(corners, limits)], axis=1)
