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


def _in_turn(*parts):
    """The elements of vectors, one of each in turn."""
    return execute("Reshape", execute("Pack", list(parts), axis=1), [-1])


def _to_batch(tensor, blocks, paddings):
    """Of blocks whose sizes only a run knows: a dimension for each block, and those before the batch."""
    shape = tensor.shape.as_list()
    tensor = execute("Pad", tensor, _around(tensor, paddings))
    n, sizes = blocks.shape[0], execute("Shape", tensor)
    cut = execute("ConcatV2", [sizes[:1], _in_turn(sizes[1 : n + 1] // blocks, blocks), sizes[n + 1 :]], axis=0)
    rest = range(2 * n + 1, tensor.shape.rank + n)
    order = [*range(2, 2 * n + 1, 2), 0, *range(1, 2 * n, 2), *rest]
    moved = execute("Transpose", execute("Reshape", tensor, cut), perm=order)
    batch = sizes[:1] * execute("Prod", blocks)
    result = execute("Reshape", moved, execute("ConcatV2", [batch, sizes[1 : n + 1] // blocks, sizes[n + 1 :]], axis=0))
    result.set_shape([None] * (n + 1) + shape[n + 1 :])
    return result


def _to_space(tensor, blocks, crops):
    """The same back: the blocks leave the batch, each beside its dimension."""
    n, sizes = blocks.shape[0], execute("Shape", tensor)
    batch = sizes[:1] // execute("Prod", blocks)
    cut = execute("ConcatV2", [blocks, batch, sizes[1:]], axis=0)
    order = [n, *(i for d in range(n) for i in (n + 1 + d, d)), *range(2 * n + 1, tensor.shape.rank + n)]
    moved = execute("Transpose", execute("Reshape", tensor, cut), perm=order)
    whole = execute("ConcatV2", [batch, sizes[1 : n + 1] * blocks, sizes[n + 1 :]], axis=0)
    crops = _around(tensor, crops)
    result = execute("Slice", execute("Reshape", moved, whole), crops[:, 0], whole - crops[:, 0] - crops[:, 1])
    result.set_shape([None] * (n + 1) + tensor.shape.as_list()[n + 1 :])
    return result


def space_to_batch(input, block_shape, paddings, name=None):  # noqa: A002
    """Blocks of space as further rows of the batch."""
    if _later(block_shape) is not None:
        return _to_batch(convert_to_tensor(input), _later(block_shape), convert_sizes(paddings, None, int32))
    later = _later(paddings)
    if later is None:
        return execute("SpaceToBatchND", input, block_shape=block_shape, paddings=flat_ints(paddings))
    input = convert_to_tensor(input)  # noqa: A001
    shape = input.shape
    input = execute("Pad", input, _around(input, later))  # noqa: A001
    input.set_shape([d if i == 0 or i > later.shape[0] else None for i, d in enumerate(shape.as_list())])
    return execute("SpaceToBatchND", input, block_shape=block_shape, paddings=[0] * (2 * later.shape[0]))


def space_to_batch_nd(input, block_shape, paddings, name=None):  # noqa: A002
    """Blocks of space as further rows of the batch."""
    return space_to_batch(input, block_shape, paddings)


def batch_to_space(input, block_shape, crops, name=None):  # noqa: A002
    """Rows of the batch as blocks of space."""
    if _later(block_shape) is not None:
        return _to_space(convert_to_tensor(input), _later(block_shape), convert_sizes(crops, None, int32))
    later = _later(crops)
    if later is None:
        return execute("BatchToSpaceND", input, block_shape=block_shape, crops=flat_ints(crops))
    input = convert_to_tensor(input)  # noqa: A001
    whole = execute("BatchToSpaceND", input, block_shape=block_shape, crops=[0] * (2 * later.shape[0]))
    crops = _around(whole, later)
    result = execute("Slice", whole, crops[:, 0], execute("Shape", whole) - crops[:, 0] - crops[:, 1])
    result.set_shape([d if i == 0 or i > later.shape[0] else None for i, d in enumerate(whole.shape.as_list())])
    return result
