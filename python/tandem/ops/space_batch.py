"""tf.space_to_batch and tf.batch_to_space, also with paddings and crops that are known when the function runs."""

from tandem import _core
from tandem._core import convert_sizes, convert_to_tensor, execute
from tandem._support import flat_ints
from tandem.framework.dtypes import int32


def _later(sizes):
    """The pairs of sizes as a tensor where nobody knows them yet."""
    if not isinstance(sizes, (list, tuple)) and not isinstance(sizes, _core.Tensor):
        return None
    tensor = convert_sizes(sizes, None, int32)
    return tensor if _core.static_value(tensor) is None else None


def _around(tensor, pairs):
    """Pairs for all dimensions: none for the first one, and for those behind the given ones."""
    rank, given = tensor.shape.rank, pairs.shape[0]
    if rank is None or given is None:
        raise ValueError(f"The rank of the input must be known, and how many pairs there are; got {tensor.shape}, {pairs.shape}.")
    return execute("Pad", pairs, [[1, rank - 1 - given], [0, 0]])


def space_to_batch(input, block_shape, paddings, name=None):  # noqa: A002
    """Blocks of space as further rows of the batch."""
    later = _later(paddings)
    if later is None:
        return execute("SpaceToBatchND", input, block_shape=block_shape, paddings=flat_ints(paddings))
    input = convert_to_tensor(input)  # noqa: A001
    input = execute("Pad", input, _around(input, later))  # noqa: A001
    return execute("SpaceToBatchND", input, block_shape=block_shape, paddings=[0] * (2 * later.shape[0]))


def batch_to_space(input, block_shape, crops, name=None):  # noqa: A002
    """Rows of the batch as blocks of space."""
    later = _later(crops)
    if later is None:
        return execute("BatchToSpaceND", input, block_shape=block_shape, crops=flat_ints(crops))
    input = convert_to_tensor(input)  # noqa: A001
    whole = execute("BatchToSpaceND", input, block_shape=block_shape, crops=[0] * (2 * later.shape[0]))
    crops = _around(whole, later)
    return execute("Slice", whole, crops[:, 0], execute("Shape", whole) - crops[:, 0] - crops[:, 1])
