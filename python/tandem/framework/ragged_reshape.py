"""tf.reshape and tf.broadcast_to of and to ragged shapes."""

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import int64
from tandem.framework.ragged import RaggedTensor
from tandem.framework.row_partition import RowPartition, partitions_of


def put_together(flat, shape):
    """Flat values in the rows of a DynamicRaggedShape."""
    result = execute("Reshape", flat, shape.inner_shape)
    for partition in reversed(shape.row_partitions):
        result = RaggedTensor(result, partition.row_splits(), True, partition.static_uniform_row_length)
    return result


def reshape(value, shape):
    flat = value.flat_values if isinstance(value, RaggedTensor) else convert_to_tensor(value)
    return put_together(flat, shape)


def _all_partitions(partitions, inner_shape):
    """One partition for every dimension but the first: of the dense ones too. And the number of outermost rows."""
    found = list(partitions)
    count = inner_shape[0]
    for axis in range(1, inner_shape.shape[0]):
        found.append(RowPartition.from_uniform_row_length(inner_shape[axis], nrows=count, dtype=int64))
        count = count * inner_shape[axis]
    rows = partitions[0].nrows() if partitions else inner_shape[0]
    return rows, found


def _coordinates(rows, partitions):
    """For every value its index in each dimension, and how long its row is there."""
    from tandem.ops.array import range as range_

    coordinates, lengths = [range_(rows)], [execute("ZerosLike", range_(rows)) + rows]
    for partition in partitions:
        ids = partition.value_rowids()
        coordinates = [execute("GatherV2", c, ids) for c in coordinates] + [partition.offsets_in_rows()]
        lengths = [execute("GatherV2", n, ids) for n in [*lengths, partition.row_lengths()]]
    return coordinates, lengths


def _check_fits(condition):
    from tandem.ops.check import Assert

    Assert(execute("All", condition), ["Cannot broadcast: the rows have other lengths than those of the shape"])


def broadcast_to(value, shape):
    """Every value of the result is looked up: a dimension of size one gives its only element again and again."""
    shape = shape.with_dtype(int64)
    if not isinstance(value, RaggedTensor):
        value = convert_to_tensor(value)
    flat = value.flat_values if isinstance(value, RaggedTensor) else value
    own = [p.with_dtype(int64) for p in partitions_of(value)]
    rank = flat.shape.rank + len(own)
    coordinates, lengths = _coordinates(*_all_partitions(shape.row_partitions, shape.inner_shape))
    if rank > len(coordinates):
        raise ValueError(f"A value of rank {rank} cannot be broadcast to {shape}.")
    if rank == 0:
        total = execute("Prod", shape.inner_shape)
        return put_together(execute("Fill", execute("ExpandDims", total, axis=0), flat), shape)
    rows, partitions = _all_partitions(own, execute("Shape", flat, out_type=int64))
    zero = convert_to_tensor(0, int64)
    coordinates, lengths = coordinates[len(coordinates) - rank :], lengths[len(lengths) - rank :]
    _check_fits(execute("LogicalOr", execute("Equal", rows, 1), execute("Equal", rows, lengths[0])))
    place = execute("SelectV2", execute("Equal", rows, 1), zero, coordinates[0])
    for partition, coordinate, wanted in zip(partitions, coordinates[1:], lengths[1:]):
        start = execute("GatherV2", partition.row_starts(), place)
        length = execute("GatherV2", partition.row_lengths(), place)
        # A ragged row is never stretched, not even one of length one.
        single = execute("Equal", length, 1) if partition.is_uniform() else execute("ZerosLike", length) > 0
        _check_fits(execute("LogicalOr", single, execute("Equal", length, wanted)))
        place = start + execute("SelectV2", single, zero, coordinate)
    values = execute("GatherV2", execute("Reshape", flat, [-1]), place)
    return put_together(values, shape)


def shape_of(value, out_type):
    """tf.shape of a ragged tensor."""
    from tandem.framework.ragged_shape import DynamicRaggedShape

    return DynamicRaggedShape.from_tensor(value, as_dtype(out_type))
