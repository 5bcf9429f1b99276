"""tf.image: shapes, colours and resizing of images [height, width, channels] or batches of them."""

import math

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int32, int64, uint8
from tandem.ops import check
from tandem.ops.check import assert_equal, is_tensor, outer_sizes, require, size_of, with_rank, with_sizes
from tandem.ops.control_flow import is_symbolic, switch_case
from tandem.ops.math import saturate_cast
from tandem.ops.sizes import as_int32


class ResizeMethod:
    """Names of the ways to resize."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _image(image, ranks=(3, 4), name="image"):
    """The image as a tensor of three or four dimensions."""
    image = convert_to_tensor(image)
    rank = image.shape.rank
    if rank is None:
        check.assert_rank_in(image, ranks)
    elif rank not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ValueError(f"'{name}' (shape {image.shape}) must have either {wanted} dimensions.")
    return image


def _at_least_3d(image):
    image = convert_to_tensor(image)
    if image.shape.rank is None:
        check.assert_rank_at_least(image, 3)
    elif image.shape.rank < 3:
        raise ValueError(f"'image' (shape {image.shape}) must be at least three-dimensional.")
    return image


def _as_batch(image):
    """The image with a dimension of batches, and how to take that away again."""
    if image.shape.rank == 3:
        return execute("ExpandDims", image, axis=0), lambda x: execute("Squeeze", x, axis=0)
    if image.shape.rank == 4:
        return image, lambda x: x
    outer = outer_sizes(image, 3)  # of a rank that is known when the function runs
    count = execute("Prod", outer, axis=[0])
    batch = with_sizes(image, [count], [size_of(image, axis) for axis in (-3, -2, -1)])
    return batch, lambda x: with_sizes(x, outer, [size_of(x, axis) for axis in (1, 2, 3)])


def _sizes(image):
    """Height and width: numbers where they are known, tensors where not."""
    shape, dynamic = image.shape, None
    sizes = []
    for axis in (-3, -2):
        known = shape[axis] if shape.rank is not None else None
        if known is None:
            dynamic = execute("Shape", image) if dynamic is None else dynamic
            known = dynamic[axis]
        sizes.append(known)
    return sizes


def _cast(x, dtype):
    return x if x.dtype is dtype else execute("Cast", x, dtype=dtype)


# ---- Value ranges


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """The image in another dtype; values keep their part of the dtype's range."""
    image, dtype = convert_to_tensor(image), as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_integer):
        raise AttributeError("dtype must be either floating point or integer")
    if not (image.dtype.is_floating or image.dtype.is_integer):
        raise AttributeError("image dtype must be either floating point or integer")
    if image.dtype is dtype:
        return execute("Identity", image)
    if image.dtype.is_integer and dtype.is_integer:
        scale_in, scale_out = image.dtype.max, dtype.max
        if scale_in > scale_out:
            scaled = execute("FloorDiv", image, (scale_in + 1) // (scale_out + 1))
            return saturate_cast(scaled, dtype) if saturate else _cast(scaled, dtype)
        wide = saturate_cast(image, dtype) if saturate else _cast(image, dtype)
        return wide * ((scale_out + 1) // (scale_in + 1))
    if image.dtype.is_floating and dtype.is_floating:
        return _cast(image, dtype)
    if image.dtype.is_integer:
        return _cast(image, dtype) * (1.0 / image.dtype.max)
    # Every integer gets an equal share of [0, 1).
    scaled = image * (dtype.max + 0.5)
    return saturate_cast(scaled, dtype) if saturate else _cast(scaled, dtype)


def _in_float(image, change):
    """Does something to an image of floats in [0, 1], and gives its dtype back."""
    original = image.dtype
    if original.name in ("float16", "float32"):
        return change(image)
    return convert_image_dtype(change(convert_image_dtype(image, float32)), original, saturate=True)


def adjust_brightness(image, delta):
    """Adds delta, in parts of the range of the dtype."""
    return _in_float(convert_to_tensor(image), lambda x: x + _cast(convert_to_tensor(delta), x.dtype))


def adjust_contrast(images, contrast_factor):
    """Moves values away from the mean of their channel."""

    def change(x):
        mean = execute("Mean", _cast(x, float32), axis=[-3, -2], keepdims=True)
        return _cast((_cast(x, float32) - mean) * contrast_factor + mean, x.dtype)

    return _in_float(_at_least_3d(images), change)


def adjust_gamma(image, gamma=1, gain=1):
    """gain · value^gamma."""
    require(gamma >= 0, "Gamma should be a non-negative real number.")
    image = convert_to_tensor(image)
    if image.dtype.name in ("float16", "float32"):
        return gain * image**gamma
    adjusted = gain * convert_image_dtype(image, float32) ** gamma
    return convert_image_dtype(adjusted, image.dtype, saturate=True)


def _by_hsv(image, change):
    def rgb(x):
        hue, saturation, value = execute("Split", execute("RGBToHSV", x), num=3, axis=-1)
        return execute("HSVToRGB", execute("ConcatV2", change(hue, saturation, value), axis=-1))

    return _in_float(_at_least_3d(image), rgb)


def adjust_hue(image, delta, name=None):
    """Turns the hue; delta in [-1, 1]."""
    if not is_symbolic(delta) and not -1 <= delta <= 1:  # nor does TensorFlow check it in a graph
        raise ValueError("delta must be in the interval [-1, 1]")

    turn = lambda x: execute("AdjustHue", x, _cast(convert_to_tensor(delta), float32))  # noqa: E731
    return _in_float(_at_least_3d(image), turn)


def adjust_saturation(image, saturation_factor, name=None):
    """Multiplies the saturation."""

    def change(hue, saturation, value):
        one, zero = convert_to_tensor(1, hue.dtype), convert_to_tensor(0, hue.dtype)
        return [hue, execute("ClipByValue", saturation * saturation_factor, zero, one), value]

    return _by_hsv(image, change)


def adjust_jpeg_quality(image, jpeg_quality, dct_method="", name=None):
    """The image after it was written as a JPEG file of that quality and read again."""
    image = convert_to_tensor(image)
    contents = execute("EncodeJpeg", convert_image_dtype(image, uint8, saturate=True), quality=jpeg_quality if isinstance(jpeg_quality, _core.Tensor) else int(jpeg_quality))
    decoded = execute("DecodeJpeg", contents, channels=image.shape[-1] or 0, dct_method=dct_method)
    return convert_image_dtype(decoded, image.dtype, saturate=True)


def rgb_to_grayscale(images, name=None):
    """The luminance of red, green and blue."""
    images = with_rank(images, 1)
    _require_channels(images, 3, "an RGB image must have")
    values = convert_image_dtype(images, float32)
    weights = convert_to_tensor([0.2989, 0.5870, 0.1140], float32)
    grey = execute("Sum", values * weights, axis=-1, keepdims=True)
    return convert_image_dtype(grey, images.dtype)


def grayscale_to_rgb(images, name=None):
    """Grey as equal parts of red, green and blue."""
    images = _at_least_1(images)
    result = execute("ConcatV2", [images] * 3, axis=-1)
    if result.shape.rank is not None:
        result.set_shape([*result.shape.as_list()[:-1], 3])
    return result


def _at_least_1(images):
    images = with_rank(images, 1)
    _require_channels(images, 1, "a grayscale image should be")
    return images


def _require_channels(images, count, what):
    channels, words = size_of(images, -1), f"Last dimension of {what} size {count}, got shape {images.shape}."
    if is_tensor(channels):
        assert_equal(channels, count, message=words)
    elif channels != count:
        raise ValueError(words)


_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_YIQ_BACK = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_YUV_BACK = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _mix(images, matrix):
    from tandem.ops.math import tensordot

    images = convert_to_tensor(images)
    return tensordot(images, convert_to_tensor(matrix, images.dtype), [[images.shape.rank - 1], [0]])


def rgb_to_yiq(images):
    """Colours as luma and two chrominances (NTSC)."""
    return _mix(images, _YIQ)


def yiq_to_rgb(images):
    """Colours from luma and two chrominances (NTSC)."""
    return _mix(images, _YIQ_BACK)


def rgb_to_yuv(images):
    """Colours as luma and two chrominances (PAL)."""
    return _mix(images, _YUV)


def yuv_to_rgb(images):
    """Colours from luma and two chrominances (PAL)."""
    return _mix(images, _YUV_BACK)


def per_image_standardization(image):
    """Mean 0 and variance 1; the deviation is never below that of one pixel."""
    image = _at_least_3d(image)
    values = _cast(image, float32) if image.dtype.name not in ("float16", "float32") else image
    count = 1
    for size in (*_sizes(image), size_of(image, -1)):
        count = count * size
    axes = [-3, -2, -1]
    mean = execute("Mean", values, axis=axes, keepdims=True)
    deviation = execute("Sqrt", execute("Moments", values, axis=axes, keepdims=True)[1])
    least = execute("Rsqrt", _cast(convert_to_tensor(count), values.dtype))
    return (values - mean) / execute("Maximum", deviation, least)


def encode_png(image, compression=-1, name=None):
    """The contents of a PNG file; those of several for a batch."""
    image = convert_to_tensor(image)
    if image.shape.rank == 3:
        return execute("EncodePng", image, compression=compression)
    if image.shape.rank is None:
        image = with_rank(image, 3, 3)  # how many files there are must be known
        return execute("EncodePng", image, compression=compression)
    flat = execute("Reshape", image, [-1, *image.shape.as_list()[-3:]])
    parts = execute("Unpack", flat, num=flat.shape[0], axis=0)
    encoded = execute("Pack", [execute("EncodePng", part, compression=compression) for part in parts], axis=0)
    return execute("Reshape", encoded, image.shape.as_list()[:-3])


# ---- Flips, crops and borders


def flip_left_right(image):
    """The mirror image."""
    return execute("ReverseV2", _at_least_3d(image), axis=[-2])


def flip_up_down(image):
    """The image upside down."""
    return execute("ReverseV2", _at_least_3d(image), axis=[-3])


def transpose(image, name=None):
    """Rows become columns."""
    image = _image(image)
    batch, back = _as_batch(image)
    return back(execute("Transpose", batch, perm=[0, 2, 1, 3]))


def rot90(image, k=1, name=None):
    """Turned by k quarters against the clock."""
    image = _image(image)
    turns = [
        lambda: image,
        lambda: execute("ReverseV2", transpose(image), axis=[-3]),
        lambda: execute("ReverseV2", image, axis=[-3, -2]),
        lambda: flip_left_right(transpose(image)),
    ]
    if is_symbolic(k):
        return switch_case(execute("FloorMod", as_int32(k, "k"), 4), turns)
    return turns[int(k) % 4]()


def _number(value, what):
    """A size or an offset: a Python number, or a tensor of int32."""
    return as_int32(value, what) if is_tensor(value) else value


def _box(offset_height, offset_width, target_height, target_width):
    """What says where a box lies, without negative offsets."""
    names = ("offset_height", "offset_width", "target_height", "target_width")
    box = [_number(value, name) for value, name in zip((offset_height, offset_width, target_height, target_width), names)]
    for offset, name in zip(box[:2], names):
        require(offset >= 0, f"{name} must be >= 0.")
    return box


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """A box of the image."""
    image = _image(image)
    height, width = _sizes(image)
    top, left, rows, columns = _box(offset_height, offset_width, target_height, target_width)
    for target, offset, size, what in ((rows, top, height, "height"), (columns, left, width, "width")):
        require(target > 0, f"target_{what} must be > 0.")
        if any(map(is_tensor, (target, offset, size))):  # numbers that int32 does not hold are too large, not cut off
            target, offset, size = (execute("Cast", convert_to_tensor(v, None, int64), dtype=int64) for v in (target, offset, size))
        require(size - offset >= target, f"{what} must be >= target + offset.")
    if image.shape.rank is None or not any(map(is_tensor, (top, left, rows, columns))):
        return image[..., top : top + rows, left : left + columns, :]
    batch = [0] * (image.shape.rank - 3)
    sizes = [*[-1 for _ in batch], rows, columns, -1]  # known ones stay known
    return execute("Slice", image, convert_sizes([*batch, top, left, 0]), convert_sizes(sizes))


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The image at a place of a larger one of zeros."""
    image = _image(image)
    batch, back = _as_batch(image)
    height, width = _sizes(image)
    top, left, rows, columns = _box(offset_height, offset_width, target_height, target_width)
    after = []
    for target, offset, size, what in ((rows, top, height, "height"), (columns, left, width, "width")):
        if any(map(is_tensor, (target, offset, size))):
            target, offset, size = (execute("Cast", v, dtype=int64) for v in (target, offset, size))
        rest = target - offset - size
        require(rest >= 0, f"{what} must be <= target - offset")
        after.append(_number(rest, f"target - offset of the {what}"))
    padded = execute("Pad", batch, convert_sizes([[0, 0], [top, after[0]], [left, after[1]], [0, 0]]))
    if padded._symbolic:
        known = [None if is_tensor(size) else size for size in (rows, columns)]
        padded.set_shape([batch.shape[0], *known, batch.shape[3]])
    return back(padded)


def central_crop(image, central_fraction):
    """The middle part of an image."""
    image = _image(image)
    given = convert_to_tensor(central_fraction)
    fraction = _core.static_value(given) if is_tensor(central_fraction) else central_fraction
    if fraction is None:
        fraction = _float64(given)
        inside = execute("LogicalAnd", fraction > 0.0, fraction <= 1.0)
        check.Assert(inside, ["central_fraction must be within (0, 1]"])
    elif not 0.0 < fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    elif fraction == 1.0:
        return image
    else:
        fraction = float(fraction)

    def part(size):
        if is_tensor(size) or is_tensor(fraction):
            wide = _float64(size)
            start = execute("Cast", (wide - wide * fraction) / 2.0, dtype=int32)
        else:
            start = int((size - size * fraction) / 2)
        return start, size - start * 2

    (top, rows), (left, columns) = map(part, _sizes(image))
    return image[..., top : top + rows, left : left + columns, :]


def resize_with_crop_or_pad(image, target_height, target_width):
    """The middle of the image, cut or with a border of zeros."""
    image = _image(image)
    wanted = _number(target_height, "target_height"), _number(target_width, "target_width")
    cuts, borders = [], []
    for target, size, what in zip(wanted, _sizes(image), ("height", "width")):
        require(target > 0, f"target_{what} must be > 0.")
        larger, smaller = (_largest, _smallest) if is_tensor(target) or is_tensor(size) else (max, min)
        cuts.append((larger((size - target) // 2, 0), smaller(size, target)))
        borders.append(larger(-(size - target) // 2, 0))
    (top, rows), (left, columns) = cuts
    cropped = crop_to_bounding_box(image, top, left, rows, columns)
    return pad_to_bounding_box(cropped, *borders, *wanted)


def _largest(a, b):
    return execute("Maximum", a, b)


def _smallest(a, b):
    return execute("Minimum", a, b)


# ---- Resizing

_FILTERS = {"lanczos3": "lanczos3", "lanczos5": "lanczos5", "gaussian": "gaussian", "mitchellcubic": "mitchellcubic"}


def resize(images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False, name=None):
    """Images of another size. The result is float32 but for the nearest-neighbour method."""
    images = convert_to_tensor(images)
    if images.shape.rank is None:
        raise ValueError("'images' contains no shape.")
    if images.shape.rank not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    batch, back = _as_batch(images)
    size = as_int32(size)
    if size.shape != [2]:
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if preserve_aspect_ratio:
        size = _kept_ratio(batch, size)
    return back(_resize(batch, size, str(method).lower(), antialias))


def _kept_ratio(batch, size):
    present = execute("Cast", execute("Shape", batch)[1:3], dtype=float32)
    factor = execute("Min", execute("Cast", size, dtype=float32) / present)
    scaled = execute("Round", present * factor)
    return execute("Maximum", saturate_cast(scaled, int32), 1)


def _resize(batch, size, method, antialias):
    if method == "nearest":
        return execute("ResizeNearestNeighbor", batch, size, half_pixel_centers=True)
    if method == "area":
        return execute("ResizeArea", batch, size)
    filters = {**_FILTERS, **({"bilinear": "triangle", "bicubic": "keyscubic"} if antialias else {})}
    if method in filters:
        present = execute("Cast", execute("Shape", batch)[1:3], dtype=float32)
        scale = execute("Cast", size, dtype=float32) / present
        return execute(
            "ScaleAndTranslate", batch, size, scale, execute("ZerosLike", scale), kernel_type=filters[method],
            antialias=antialias,
        )  # fmt: skip
    if method == "bilinear":
        return execute("ResizeBilinear", batch, size, half_pixel_centers=True)
    if method == "bicubic":
        return execute("ResizeBicubic", batch, size, half_pixel_centers=True)
    raise ValueError(f"Resize method is not implemented: {method}")


def resize_with_pad(image, target_height, target_width, method="bilinear", antialias=False):
    """The image as large as fits, its ratio kept, in the middle of zeros."""
    target_height, target_width = _number(target_height, "target_height"), _number(target_width, "target_width")
    image = _image(image)
    batch, back = _as_batch(image)
    height, width = _sizes(image)
    require(target_height > 0, "target_height must be > 0.")
    require(target_width > 0, "target_width must be > 0.")
    if any(map(is_tensor, (height, width, target_height, target_width))):
        ratio = execute("Maximum", _float64(width) / _float64(target_width), _float64(height) / _float64(target_height))
        ratio = execute("SelectV2", execute("Equal", ratio, 0.0), execute("OnesLike", ratio), ratio)  # of an image of nothing
        floor = lambda x: execute("Cast", execute("Floor", x), dtype=int32)  # noqa: E731
        rows, columns = floor(_float64(height) / ratio), floor(_float64(width) / ratio)
        above = execute("Maximum", 0, floor((_float64(target_height) - _float64(height) / ratio) / 2.0))
        before = execute("Maximum", 0, floor((_float64(target_width) - _float64(width) / ratio) / 2.0))
        resized = _resize(batch, execute("Pack", [rows, columns], axis=0), str(method).lower(), antialias)
        return back(pad_to_bounding_box(resized, above, before, target_height, target_width))
    ratio = max(width / target_width, height / target_height) or 1.0
    rows, columns = math.floor(height / ratio), math.floor(width / ratio)
    above = max(0, math.floor((target_height - height / ratio) / 2))
    before = max(0, math.floor((target_width - width / ratio) / 2))
    resized = _resize(batch, as_int32([rows, columns]), str(method).lower(), antialias)
    return back(pad_to_bounding_box(resized, above, before, target_height, target_width))


def _float64(x):
    return execute("Cast", convert_to_tensor(x), dtype="float64")
