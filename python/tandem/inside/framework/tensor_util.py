"""tensorflow.python.framework.tensor_util: values that are known while a graph is made."""

from tandem import _core
from tandem._core import is_tensor  # noqa: F401
from tandem.framework.shape import TensorShape
from tandem.ops.array import get_static_value

is_tf_type = is_tensor


def constant_value(tensor, partial=False):
    return get_static_value(tensor, partial)


def try_evaluate_constant(tensor):
    return get_static_value(tensor) if _core.is_tensor(tensor) else None


def constant_value_as_shape(tensor):
    """The shape that a tensor of sizes stands for; sizes that are not known are None."""
    known = get_static_value(tensor, partial=True)
    if known is not None:
        return TensorShape([None if size is None or size < 0 else int(size) for size in known])
    rank = tensor.shape[0] if tensor.shape.rank == 1 else None
    return TensorShape(None if rank is None else [None] * rank)


def ShapeEquals(tensor_proto, shape):  # noqa: N802
    return [d.size for d in tensor_proto.tensor_shape.dim] == list(TensorShape(shape))
