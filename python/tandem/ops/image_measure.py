"""tf.image's measures of images, their gradients, patches and boxes."""

import collections
import math
import operator

import numpy as np

from tandem import _core
from tandem._core import convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int32
from tandem.framework.errors import InvalidArgumentError
from tandem.ops.check import outer_sizes, require_padding, size_of, with_rank, with_sizes
from tandem.ops.image import _image, convert_image_dtype
from tandem.ops.sizes import as_int32, clipped_int32, made_on_host, of_pieces


def total_variation(images, name=None):
    """Sums of differences between neighbours, one for each image."""
    images = convert_to_tensor(images)
    if images.shape.rank not in (3, 4):
        raise ValueError("'images' must be either 3 or 4-dimensional.")
    axes = list(range(images.shape.rank))[-3:]
    down = images[..., 1:, :, :] - images[..., :-1, :, :]
    right = images[..., :, 1:, :] - images[..., :, :-1, :]
    return execute("Sum", execute("Abs", down), axis=axes) + execute("Sum", execute("Abs", right), axis=axes)


def image_gradients(image):
    """Differences to the next row and to the next column, with zeros at the end."""
    image = _image(image, (4,))
    down = image[:, 1:, :, :] - image[:, :-1, :, :]
    right = image[:, :, 1:, :] - image[:, :, :-1, :]
    return (
        execute("Pad", down, [[0, 0], [0, 1], [0, 0], [0, 0]]),
        execute("Pad", right, [[0, 0], [0, 0], [0, 1], [0, 0]]),
    )


def sobel_edges(image):
    """Sobel's differences along rows and columns, in a new last dimension."""
    from tandem.ops.nn import depthwise_conv2d

    image = _image(image, (4,))
    channels = size_of(image, -1)
    kernels = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)
    kernels = convert_to_tensor(np.transpose(kernels, (1, 2, 0))[:, :, None, :], image.dtype)
    filters = execute("Tile", kernels, convert_sizes([1, 1, channels, 1]))
    padded = execute("MirrorPad", image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = depthwise_conv2d(padded, filters, [1, 1, 1, 1], "VALID")
    return execute("Reshape", edges, execute("ConcatV2", [execute("Shape", image), [2]], axis=0))


def psnr(a, b, max_val, name=None):
    """Peak signal-to-noise ratio of two images, in decibels."""
    a = convert_to_tensor(a)
    peak = convert_image_dtype(convert_to_tensor(max_val, a.dtype), float32)
    a, b = convert_image_dtype(a, float32), convert_image_dtype(b, float32)
    error = execute("Mean", execute("SquaredDifference", a, b), axis=[-3, -2, -1])
    return 20 * execute("Log", peak) / math.log(10.0) - (10 / math.log(10)) * execute("Log", error)


def _gaussian(size, sigma, dtype):
    coordinates = np.arange(size, dtype=np.float32) - (size - 1) / 2.0
    exponents = -0.5 * np.square(coordinates) / np.square(np.float32(sigma))
    grid = exponents[None, :] + exponents[:, None]
    weights = np.exp(grid - grid.max())
    return convert_to_tensor((weights / weights.sum())[:, :, None, None], dtype)


def _smooth(x, kernel):
    """Filters every channel; outer dimensions beyond one are merged."""
    from tandem.ops.nn import depthwise_conv2d

    shape = execute("Shape", x)
    flat = execute("Reshape", x, execute("ConcatV2", [[-1], shape[-3:]], axis=0))
    kernels = execute("Tile", kernel, convert_sizes([1, 1, size_of(x, -1), 1]))
    y = depthwise_conv2d(flat, kernels, [1, 1, 1, 1], "VALID")
    return execute("Reshape", y, execute("ConcatV2", [shape[:-3], execute("Shape", y)[1:]], axis=0))


def _ssim_parts(x, y, max_val, filter_size, filter_sigma, k1, k2):
    """The similarity of windows, and its part that is contrast and structure."""
    kernel = _gaussian(filter_size, filter_sigma, x.dtype)
    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    mean_x, mean_y = _smooth(x, kernel), _smooth(y, kernel)
    both = mean_x * mean_y * 2.0
    squares = execute("Square", mean_x) + execute("Square", mean_y)
    luminance = (both + c1) / (squares + c1)
    products = _smooth(x * y, kernel) * 2.0
    powers = _smooth(execute("Square", x) + execute("Square", y), kernel)
    contrast = (products - both + c2) / (powers - squares + c2)
    return luminance * contrast, contrast


def _pair(img1, img2, max_val):
    img1 = with_rank(img1, 3)
    img2 = with_rank(convert_to_tensor(img2, img1.dtype), 3)
    peak = convert_image_dtype(convert_to_tensor(max_val, img1.dtype), float32)
    return convert_image_dtype(img1, float32), convert_image_dtype(img2, float32), peak


@made_on_host
def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, return_index_map=False):
    """Structural similarity of two images."""
    x, y, peak = _pair(img1, img2, max_val)
    similar, _ = _ssim_parts(x, y, peak, filter_size, filter_sigma, k1, k2)
    if return_index_map:
        return execute("Mean", similar, axis=[-1])
    return execute("Mean", execute("Mean", similar, axis=[-3, -2]), axis=[-1])


@made_on_host
def ssim_multiscale(
    img1, img2, max_val, power_factors=(0.0448, 0.2856, 0.3001, 0.2363, 0.1333), filter_size=11, filter_sigma=1.5,
    k1=0.01, k2=0.03,
):  # fmt: skip
    """Structural similarity over several scales."""
    from tandem.ops.nn import avg_pool2d

    x, y, peak = _pair(img1, img2, max_val)
    parts = []
    for scale in range(len(power_factors)):
        if scale:
            sizes = [size_of(x, axis) for axis in (-3, -2, -1)]
            odd = convert_sizes([[0, 0], [0, sizes[0] % 2], [0, sizes[1] % 2], [0, 0]])
            flat = [execute("MirrorPad", with_sizes(v, [-1], sizes), odd, mode="SYMMETRIC") for v in (x, y)]
            pooled = [avg_pool2d(v, 2, 2, "VALID") for v in flat]
            x, y = (with_sizes(v, outer_sizes(x, 3), [size_of(v, axis) for axis in (1, 2, 3)]) for v in pooled)
        similar, contrast = _ssim_parts(x, y, peak, filter_size, filter_sigma, k1, k2)
        last = scale == len(power_factors) - 1
        parts.append(execute("Relu", execute("Mean", similar if last else contrast, axis=[-3, -2])))
    product = execute("Prod", execute("Pack", [p**f for p, f in zip(parts, power_factors)], axis=-1), axis=[-1])
    return execute("Mean", product, axis=[-1])


def _of_four(values, what):
    """A list of four sizes, of which those of batch and channels are 1."""
    values = [operator.index(v) for v in values] if isinstance(values, (list, tuple)) else values
    if not isinstance(values, list) or len(values) != 4 or min(values) < 1 or (values[0], values[3]) != (1, 1):
        raise InvalidArgumentError(
            None, None, f"{what} must be a list of 4 positive sizes, of which the first and the last are 1, got {values}."
        )
    if max(values) > int32.max:
        raise InvalidArgumentError(None, None, f"{what} must fit in 32 bits, got {values}.")
    return values


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Patches of images, each laid out along the last dimension."""
    images = with_rank(_image(images, (4,)), 4, 4)
    require_padding(padding)
    sizes, strides, rates = _of_four(sizes, "sizes"), _of_four(strides, "strides"), _of_four(rates, "rates")
    counts, places, paddings = [], [], [[0, 0]]
    for axis in (1, 2):
        size, stride, rate, there = sizes[axis], strides[axis], rates[axis], size_of(images, axis)
        reach = (size - 1) * rate + 1
        if padding == "SAME":
            count = -(-there // stride)
            missing = _not_negative((count - 1) * stride + reach - there)
            paddings.append([missing // 2, missing - missing // 2])
        else:
            count = _count_of_windows(there, reach, stride)
            paddings.append([0, 0])
        counts.append(count)
        places.append(execute("Reshape", of_pieces(count, stride, size, rate), [-1]))
    padded = execute("Pad", images, convert_sizes([*paddings, [0, 0]])) if padding == "SAME" else images
    both = execute("GatherV2", execute("GatherV2", padded, places[0], axis=1), places[1], axis=2)
    (out_h, out_w), h, w, channels = counts, sizes[1], sizes[2], size_of(images, 3)
    grid = execute("Reshape", both, convert_sizes([-1, out_h, h, out_w, w, channels]))
    grid = execute("Transpose", grid, perm=[0, 1, 3, 2, 4, 5])
    return execute("Reshape", grid, convert_sizes([-1, out_h, out_w, h * w * channels]))


def _count_of_windows(there, reach, stride):
    """By TensorFlow's rule: a window that is a little too large has no places, a larger one is refused."""
    if isinstance(there, _core.Tensor):
        too_large = f"Computed output size would be negative: effective_filter_size {reach}, stride {stride}"
        execute("Assert", there - reach + 2 * stride > 0, [convert_to_tensor(too_large)], summarize=1)
        return _not_negative((there - reach + stride) // stride)
    count = int((there - reach + stride) / stride)  # towards 0
    if count < 0:
        raise ValueError(
            f"Computed output size would be negative: {count} [input_size: {there}, effective_filter_size: {reach}, "
            f"stride: {stride}]"
        )
    return count


def _not_negative(number):
    return execute("Maximum", number, 0) if isinstance(number, _core.Tensor) else max(number, 0)


@made_on_host
def extract_glimpse(input, size, offsets, centered=True, normalized=True, noise="uniform", name=None):
    """A window of each image around its offset; what lies outside of the image is noise."""
    from tandem.ops import random

    x = with_rank(convert_to_tensor(input, float32), 4, 4)
    offsets = with_rank(convert_to_tensor(offsets, float32), 2, 2)
    height, width = _core.to_ints(as_int32(size))
    if height < 0 or width < 0:
        raise InvalidArgumentError(None, None, f"extract_glimpse: size must be non-negative, got [{height}, {width}].")
    starts, there = [], [size_of(x, axis) for axis in (1, 2)]
    for axis, (window, size) in enumerate(zip((height, width), there)):
        at, size = offsets[:, axis], execute("Cast", size, dtype=float32)
        if normalized:
            at = at * size
        if centered:
            at = at / 2.0 + size / 2.0 if normalized else at + size / 2.0
            at = at - window / 2.0
        starts.append(execute("Cast", at, dtype=int32))
    rows = starts[0][:, None] + np.arange(height, dtype=np.int32)[None, :]
    columns = starts[1][:, None] + np.arange(width, dtype=np.int32)[None, :]
    inside = execute(
        "LogicalAnd",
        execute("LogicalAnd", rows >= 0, rows < there[0])[:, :, None],
        execute("LogicalAnd", columns >= 0, columns < there[1])[:, None, :],
    )
    clip = lambda v, n: execute("ClipByValue", v, 0, n - 1)  # noqa: E731
    picked = execute("GatherV2", x, clip(rows, there[0]), axis=1, batch_dims=1)
    picked = execute("Transpose", picked, perm=[0, 2, 1, 3])
    picked = execute("GatherV2", picked, clip(columns, there[1]), axis=1, batch_dims=1)
    picked = execute("Transpose", picked, perm=[0, 2, 1, 3])
    shape = picked.shape.as_list() if picked.shape.is_fully_defined() else execute("Shape", picked)
    outside = {
        "uniform": lambda: random.uniform(shape),
        "gaussian": lambda: random.normal(shape),
        "zero": lambda: execute("ZerosLike", picked),
    }
    if noise not in outside:
        raise ValueError(f"noise must be 'uniform', 'gaussian' or 'zero', got {noise!r}")
    return execute("SelectV2", inside[..., None], picked, outside[noise]())


# ---- Boxes


def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0, name=None):
    """Boxes of images, all of one size."""
    return execute(
        "CropAndResize", image, convert_to_tensor(boxes, float32), clipped_int32(box_indices),
        as_int32(crop_size, "crop_size"), method=method, extrapolation_value=extrapolation_value,
    )  # fmt: skip


def _scalars(max_output_size, iou_threshold, score_threshold, sigma):
    floats = (convert_to_tensor(v, float32) for v in (iou_threshold, score_threshold, sigma))
    return as_int32(max_output_size, "max_output_size"), *floats


def non_max_suppression_with_scores(
    boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), soft_nms_sigma=0.0, name=None
):
    """The best boxes that overlap little, and their scores."""
    options = _scalars(max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    boxes, scores = convert_to_tensor(boxes, float32), convert_to_tensor(scores, float32)
    return execute("NonMaxSuppressionV5", boxes, scores, *options)


def non_max_suppression(
    boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None
):
    """The best boxes that overlap little, best first."""
    return non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]


def non_max_suppression_overlaps(
    overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=float("-inf"), name=None
):
    """The best of things that overlap little, by a matrix of overlaps."""
    options = _scalars(max_output_size, overlap_threshold, score_threshold, 0.0)
    overlaps, scores = convert_to_tensor(overlaps, float32), convert_to_tensor(scores, float32)
    return execute("NonMaxSuppressionWithOverlaps", overlaps, scores, *options)[0]


def non_max_suppression_padded(
    boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), pad_to_max_output_size=False,
    name=None, sorted_input=False, canonicalized_coordinates=False, tile_size=512,
):  # fmt: skip
    """The best boxes that overlap little, filled up to a number, and how many they are."""
    found = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
    count = execute("Size", found)
    if pad_to_max_output_size:
        missing = as_int32(max_output_size, "max_output_size") - count
        found = execute("Pad", found, execute("Pack", [execute("Pack", [0, missing], axis=0)], axis=0))
        known = _core.static_value(convert_to_tensor(max_output_size))
        if found._symbolic and known is not None:
            found.set_shape([int(known)])
    return found, count


def draw_bounding_boxes(images, boxes, colors, name=None):
    """Images with the outlines of boxes."""
    images, boxes = convert_to_tensor(images), convert_to_tensor(boxes, float32)
    given = np.zeros([0, 4], np.float32) if colors is None else colors
    return execute("DrawBoundingBoxesV2", images, boxes, convert_to_tensor(given, float32))


BoundingBox = collections.namedtuple("BoundingBox", ["begin", "size", "bboxes"])


# Random words for one attempt: a few, and more where some are rejected.
_WORDS = 64


def stateless_sample_distorted_bounding_box(
    image_size, bounding_boxes, seed, min_object_covered=0.1, aspect_ratio_range=None, area_range=None,
    max_attempts=None, use_image_if_no_bounding_boxes=None, name=None,
):  # fmt: skip
    """A random box that covers enough of an object, as the seed says."""
    from tandem.ops import random

    attempts = 100 if max_attempts is None else int(max_attempts)
    if attempts < 1:
        raise InvalidArgumentError(None, None, f"max_attempts must be positive, got {attempts}.")
    words = random.stateless_uniform([_WORDS * attempts], seed, None, None, dtype="uint32")
    ratios, areas = aspect_ratio_range or (0.75, 1.33), area_range or (0.05, 1.0)
    for given, what in ((ratios, "Aspect ratio"), (areas, "Area")):
        if len(given) != 2:
            raise InvalidArgumentError(None, None, f"{what} range field must specify 2 dimensions, got {given}.")
    size = convert_to_tensor(image_size)
    begin, extent, boxes = execute(
        "SampleBoxFromWords", as_int32(size, "image_size"), convert_to_tensor(bounding_boxes, float32), words,
        min_object_covered=float(min_object_covered), least_ratio=float(ratios[0]), most_ratio=float(ratios[1]),
        least_area=float(areas[0]), most_area=float(areas[1]), max_attempts=attempts,
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
    )  # fmt: skip
    if size.dtype is not int32:
        begin, extent = (execute("Cast", part, dtype=size.dtype) for part in (begin, extent))
    return BoundingBox(begin, extent, boxes)


def sample_distorted_bounding_box(
    image_size, bounding_boxes, seed=0, min_object_covered=0.1, aspect_ratio_range=None, area_range=None,
    max_attempts=None, use_image_if_no_bounding_boxes=None, name=None,
):  # fmt: skip
    """A random box that covers enough of an object."""
    from tandem.ops import random

    draw = random.uniform([2], 0, 2**31 - 1, dtype=int32, seed=seed or None)
    return stateless_sample_distorted_bounding_box(
        image_size, bounding_boxes, draw, min_object_covered, aspect_ratio_range, area_range,
        max_attempts, use_image_if_no_bounding_boxes,
    )  # fmt: skip
