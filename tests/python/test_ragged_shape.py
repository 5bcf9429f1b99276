"""tf.experimental.RowPartition and DynamicRaggedShape, and tf.reshape, tf.broadcast_to and tf.shape with them."""

import pytest
import tandem as tf

Partition, Shape = tf.experimental.RowPartition, tf.experimental.DynamicRaggedShape


def test_row_partitions():
    wanted = [0, 2, 2, 5]
    made = [
        Partition.from_row_lengths([2, 0, 3]), Partition.from_row_splits(wanted),
        Partition.from_value_rowids([0, 0, 2, 2, 2]), Partition.from_row_starts([0, 2, 2], 5),
        Partition.from_row_limits([2, 2, 5]),
    ]  # fmt: skip
    for partition in made:
        assert partition.row_splits().numpy().tolist() == wanted and partition.dtype == tf.int64
    first = made[0]
    assert repr(first) == "tf.RowPartition(row_splits=[0 2 2 5])"
    assert first.value_rowids().numpy().tolist() == [0, 0, 2, 2, 2]
    assert first.offsets_in_rows().numpy().tolist() == [0, 1, 0, 1, 2]
    assert (first.static_nrows, first.static_nvals, first.is_uniform()) == (3, 5, False)
    uniform = Partition.from_uniform_row_length(3, nvals=6)
    assert repr(uniform) == "tf.RowPartition(nrows=2, uniform_row_length=3)"
    with pytest.raises(tf.errors.InvalidArgumentError):
        Partition.from_row_splits([1, 2])
    with pytest.raises(ValueError, match="private"):
        Partition(tf.constant([0, 1]))


def test_shapes():
    shape = Shape.from_lengths([4, (2, 1, 0, 8), 12])
    assert repr(shape) == "<DynamicRaggedShape lengths=[4, (2, 1, 0, 8), 12] num_row_partitions=1>"
    assert (shape.rank, shape.inner_rank, shape.num_row_partitions) == (3, 2, 1)
    assert shape.inner_shape.numpy().tolist() == [11, 12]
    assert shape.static_lengths() == [4, (2, 1, 0, 8), 12] and shape.static_lengths(False) == [4, None, 12]
    assert [shape.is_uniform(i) for i in range(3)] == [True, False, True]
    assert int(shape[0]) == 4 and int(shape[2]) == 12
    assert repr(shape[:2]) == "<DynamicRaggedShape lengths=[4, (2, 1, 0, 8)] num_row_partitions=1>"
    with pytest.raises(ValueError, match="Index 1 is not uniform"):
        shape[1]
    with pytest.raises(ValueError):
        Shape.from_lengths([2, (1, 2, 3)])
    built = Shape([Partition.from_row_lengths([5, 3, 2])], [10, 4])
    assert built.static_lengths() == [3, (5, 3, 2), 4]
    assert Shape.from_lengths([2, 3]).num_row_partitions == 0


def test_shape_of_ragged_tensors():
    ragged = tf.ragged.constant([[1, 2], [3]])
    assert repr(tf.shape(ragged)) == "<DynamicRaggedShape lengths=[2, (2, 1)] num_row_partitions=1>"
    assert tf.shape(ragged, out_type=tf.int64).dtype == tf.int64
    assert tf.shape([[1, 2]]).numpy().tolist() == [1, 2]


def test_reshape_and_broadcast():
    shape = Shape.from_lengths([3, (1, 0, 2)])
    assert tf.reshape(tf.ragged.constant([[1, 2], [3]]), shape).to_list() == [[1], [], [2, 3]]
    assert tf.reshape([[1, 2], [3, 4]], Shape.from_lengths([3, (1, 0, 3)])).to_list() == [[1], [], [2, 3, 4]]
    assert tf.reshape(tf.ragged.constant([[1, 2], [3]]), [3]).numpy().tolist() == [1, 2, 3]
    assert tf.broadcast_to(3, shape).to_list() == [[3], [], [3, 3]]
    assert tf.broadcast_to([[1], [2], [3]], shape).to_list() == [[1], [], [3, 3]]
    assert tf.broadcast_to([7, 8], Shape.from_lengths([2, (2, 1), 2])).to_list() == [[[7, 8], [7, 8]], [[7, 8]]]
    inner = tf.ragged.constant([[[1], [2]], [[3]]], ragged_rank=1)
    assert tf.broadcast_to(inner, Shape.from_lengths([2, (2, 1), 2])).to_list() == [[[1, 1], [2, 2]], [[3, 3]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot broadcast"):
        tf.broadcast_to(tf.ragged.constant([[1], [2, 3]]), Shape.from_lengths([2, (2, 3)]))


def test_functions_take_ragged_values_and_shapes():
    @tf.function
    def doubled(ragged):
        return ragged * 2

    assert doubled(tf.ragged.constant([[1], [2, 3]])).to_list() == [[2], [4, 6]]
    assert doubled(tf.ragged.constant([[4], [5, 6]])).to_list() == [[8], [10, 12]]
    assert doubled.experimental_get_tracing_count() == 1
    spread = tf.function(tf.broadcast_to)
    assert spread(tf.constant(3), Shape.from_lengths([2, (1, 2)])).to_list() == [[3], [3, 3]]
