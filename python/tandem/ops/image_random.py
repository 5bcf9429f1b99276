"""tf.image's random changes: with a generator's state, or with seeds of their own."""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import float32, int32
from tandem.ops import check, image as _image, random
from tandem.ops.sizes import as_int32


def _uniform(low, high, seed, stateless, dtype=float32):
    if stateless:
        return random.stateless_uniform([], seed, low, high, dtype=dtype)
    return random.uniform([], low, high, dtype=dtype, seed=seed)


def _choose(yes, changed, image):
    return execute("SelectV2", yes, changed, image)


def _flip(image, flip, seed, stateless):
    """Each image of a batch by itself; one alone as a whole."""
    image = _image._image(_image._at_least_3d(image))
    shape = [] if image.shape.rank == 3 else [execute("Shape", image)[0], 1, 1, 1]
    if image.shape.rank == 4 and image.shape[0] is not None:
        shape = [image.shape[0], 1, 1, 1]
    draw = random.stateless_uniform(shape, seed) if stateless else random.uniform(shape, seed=seed)
    # TensorFlow rounds the numbers of a batch and compares that of one image.
    alone = image.shape.rank == 3
    yes = execute("Less", draw, 0.5) if alone else execute("Greater", draw, 0.5)
    return _choose(yes, flip(image), image)


def random_flip_left_right(image, seed=None):
    """The image or its mirror image."""
    return _flip(image, _image.flip_left_right, seed, False)


def random_flip_up_down(image, seed=None):
    """The image, perhaps upside down."""
    return _flip(image, _image.flip_up_down, seed, False)


def stateless_random_flip_left_right(image, seed):
    """The image or its mirror image, as the seed says."""
    return _flip(image, _image.flip_left_right, seed, True)


def stateless_random_flip_up_down(image, seed):
    """The image, upside down if the seed says so."""
    return _flip(image, _image.flip_up_down, seed, True)


def _brightness(image, max_delta, seed, stateless):
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return _image.adjust_brightness(image, _uniform(-max_delta, max_delta, seed, stateless))


def random_brightness(image, max_delta, seed=None):
    """Another brightness."""
    return _brightness(image, max_delta, seed, False)


def stateless_random_brightness(image, max_delta, seed):
    """Another brightness, as the seed says."""
    return _brightness(image, max_delta, seed, True)


def _factor(lower, upper, seed, stateless):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return _uniform(lower, upper, seed, stateless)


def _contrast(image, lower, upper, seed, stateless):
    return _image.adjust_contrast(image, _factor(lower, upper, seed, stateless))


def random_contrast(image, lower, upper, seed=None):
    """Another contrast."""
    return _contrast(image, lower, upper, seed, False)


def stateless_random_contrast(image, lower, upper, seed):
    """Another contrast, as the seed says."""
    return _contrast(image, lower, upper, seed, True)


def _hue(image, max_delta, seed, stateless):
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return _image.adjust_hue(image, _uniform(-max_delta, max_delta, seed, stateless))


def random_hue(image, max_delta, seed=None):
    """Another hue."""
    return _hue(image, max_delta, seed, False)


def stateless_random_hue(image, max_delta, seed):
    """Another hue, as the seed says."""
    return _hue(image, max_delta, seed, True)


def _saturation(image, lower, upper, seed, stateless):
    return _image.adjust_saturation(image, _factor(lower, upper, seed, stateless))


def random_saturation(image, lower, upper, seed=None):
    """Another saturation."""
    return _saturation(image, lower, upper, seed, False)


def stateless_random_saturation(image, lower, upper, seed=None):
    """Another saturation, as the seed says."""
    return _saturation(image, lower, upper, seed, True)


def _quality(image, low, high, seed, stateless):
    if low < 0 or high < 0 or low > 100 or high > 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return _image.adjust_jpeg_quality(image, _uniform(low, high, seed, stateless, dtype=int32))


def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
    """The image after JPEG coding of another quality."""
    return _quality(image, min_jpeg_quality, max_jpeg_quality, seed, False)


def stateless_random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed):
    """The image after JPEG coding of a quality that the seed says."""
    return _quality(image, min_jpeg_quality, max_jpeg_quality, seed, True)


def _crop(value, size, seed, stateless):
    value, size = convert_to_tensor(value), as_int32(size)
    shape = execute("Shape", value)
    fits = execute("All", execute("GreaterEqual", shape, size))
    if not _core.static_value(fits):  # not known, or known to be wrong
        check.Assert(fits, ["Need value.shape >= size, got ", shape, size], summarize=1000)
    limit = shape - size + 1
    rank = [value.shape.rank] if value.shape.rank is not None else execute("Shape", size)
    # TensorFlow draws one large number for each axis and takes remainders.
    draw = (
        random.stateless_uniform(rank, seed, 0, 2**31 - 1, dtype=int32)
        if stateless
        else random.uniform(rank, 0, 2**31 - 1, dtype=int32, seed=seed)
    )
    return execute("Slice", value, execute("FloorMod", draw, limit), size)


def random_crop(value, size, seed=None, name=None):
    """A box of that size at another place."""
    return _crop(value, size, seed, False)


def stateless_random_crop(value, size, seed, name=None):
    """A box of that size at a place that the seed says."""
    return _crop(value, size, seed, True)
