"""tf.compat.v1.image: images resized by TensorFlow 1's rules, where the corners, not the centers, of pixels are aligned."""

from tandem import _core
from tandem._namespaces import get
from tandem.framework.dtypes import float32


class ResizeMethodV1:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = 0, 1, 2, 3


def _raw(op, images, size, align_corners, half_pixel_centers):
    return get("raw_ops." + op)(images=_core.convert_to_tensor(images), size=get("cast")(size, "int32"),
                                align_corners=align_corners, half_pixel_centers=half_pixel_centers)  # fmt: skip


def resize_bilinear(images, size, align_corners=False, name=None, half_pixel_centers=False):
    return _raw("ResizeBilinear", images, size, align_corners, half_pixel_centers)


def resize_nearest_neighbor(images, size, align_corners=False, name=None, half_pixel_centers=False):
    return _raw("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers)


def resize_bicubic(images, size, align_corners=False, name=None, half_pixel_centers=False):
    return _raw("ResizeBicubic", images, size, align_corners, half_pixel_centers)


def resize_area(images, size, align_corners=False, name=None):
    return get("raw_ops.ResizeArea")(images=images, size=get("cast")(size, "int32"), align_corners=align_corners)


_METHODS = {
    ResizeMethodV1.BILINEAR: resize_bilinear, ResizeMethodV1.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethodV1.BICUBIC: resize_bicubic, ResizeMethodV1.AREA: resize_area,
    "bilinear": resize_bilinear, "nearest": resize_nearest_neighbor, "bicubic": resize_bicubic, "area": resize_area,
}  # fmt: skip


def resize_images(
    images, size, method=ResizeMethodV1.BILINEAR, align_corners=False, preserve_aspect_ratio=False, name=None
):
    """Images, or one, of another size."""
    images = _core.convert_to_tensor(images)
    if method not in _METHODS:
        return get("image.resize")(images, size, method=method, preserve_aspect_ratio=preserve_aspect_ratio)
    single = images.shape.rank == 3
    if images.shape.rank not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    images = images[None] if single else images
    size = _kept_ratio(images, size) if preserve_aspect_ratio else size
    made = _METHODS[method](images, size, align_corners)
    return made[0] if single else made


def _kept_ratio(images, size):
    height, width = (get("cast")(n, float32) for n in get("unstack")(get("shape")(images)[1:3]))
    size = get("cast")(size, float32)
    scale = get("minimum")(size[0] / height, size[1] / width)
    return get("cast")(get("round")(get("stack")([scale * height, scale * width])), "int32")


def resize_image_with_pad_v1(
    image, target_height, target_width, method=ResizeMethodV1.BILINEAR, align_corners=False
):
    """As large as fits, in the middle of zeros."""
    image = _core.convert_to_tensor(image)
    single = image.shape.rank == 3
    batch = image[None] if single else image
    height, width = batch.shape.as_list()[1:3]
    ratio = max(width / target_width, height / target_height)
    new = int(height / ratio), int(width / ratio)
    resized = resize_images(batch, new, method, align_corners)
    top, left = (target_height - new[0]) // 2, (target_width - new[1]) // 2
    padded = get("pad")(resized, [[0, 0], [top, target_height - new[0] - top], [left, target_width - new[1] - left], [0, 0]])
    return padded[0] if single else padded


def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):
    return get("image.extract_glimpse")(input, size, offsets, centered, normalized,
                                        "uniform" if uniform_noise else "gaussian")  # fmt: skip
