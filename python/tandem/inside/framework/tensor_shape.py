"""tensorflow.python.framework.tensor_shape."""

from tandem.framework.shape import Dimension, TensorShape, as_dimension, as_shape  # noqa: F401


def dimension_value(dimension):
    """A size of a shape as a number or None."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index):
    return Dimension(None) if shape.rank is None else Dimension(shape.dims[index])


def unknown_shape(rank=None, **kwargs):
    rank = kwargs.pop("ndims", rank)
    return TensorShape(None if rank is None else [None] * rank)


def enable_v2_tensorshape():
    """Shapes are TensorFlow 2's."""
