"""tensorflow.python.framework.tensor_shape."""

from tandem.framework.dimension import Dimension, as_dimension  # noqa: F401
from tandem.framework.shape import TensorShape, as_shape  # noqa: F401


def dimension_value(dimension):
    """A size of a shape as a number or None."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index):
    return Dimension(None) if shape.rank is None else shape.dims[index]


def unknown_shape(rank=None, **kwargs):
    rank = kwargs.pop("ndims", rank)
    return TensorShape(None if rank is None else [None] * rank)


def enable_v2_tensorshape():
    """Sizes of shapes are numbers."""
    from tandem.framework.shape import use_dimensions

    use_dimensions(False)
