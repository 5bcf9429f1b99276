"""Ops on ragged tensors beside elementwise ones: rows rearranged, reduced, indexed; functions, loops and datasets."""

import numpy as np
import pytest
import tandem as tf


@pytest.fixture
def digits():
    return tf.ragged.constant([[3, 1, 4, 1], [], [5, 9, 2], [6], []])


@pytest.fixture
def deep():
    return tf.ragged.constant([[[1, 2], [3]], [[4]], []])


def test_joining(digits, deep):
    assert tf.concat([digits, [[5, 3]]], axis=0).to_list()[-2:] == [[], [5, 3]]
    assert tf.concat([digits, digits * 10], axis=1).to_list()[2:4] == [[5, 9, 2, 50, 90, 20], [6, 60]]
    assert tf.concat([deep, deep], axis=2).to_list() == [[[1, 2, 1, 2], [3, 3]], [[4, 4]], []]
    assert tf.concat([deep, deep], axis=1).to_list()[0] == [[1, 2], [3], [1, 2], [3]]
    assert tf.stack([digits, digits]).shape.as_list() == [2, None, None]
    assert tf.stack([digits, digits], axis=1).to_list()[3] == [[6], [6]]
    assert tf.tile(digits, [1, 2]).to_list()[0] == [3, 1, 4, 1, 3, 1, 4, 1]
    assert tf.tile(digits, [2, 1]).shape[0] == 10
    assert tf.expand_dims(digits, 0).shape.as_list() == [1, 5, None]
    assert tf.expand_dims(digits, -1).to_list()[3] == [[6]]
    assert tf.squeeze(tf.expand_dims(digits, 1), 1).to_list() == digits.to_list()
    assert tf.reverse(digits, [0]).to_list()[1] == [6] and tf.reverse(digits, [1]).to_list()[2] == [2, 9, 5]


def test_gathering(digits, deep):
    assert tf.gather(digits, [2, 0]).to_list() == [[5, 9, 2], [3, 1, 4, 1]]
    assert tf.gather(digits, [[3], [2]]).to_list() == [[[6]], [[5, 9, 2]]]
    assert tf.gather(deep, [1, 0, 1]).to_list() == [[[4]], [[1, 2], [3]], [[4]]]
    table = tf.constant([10, 11, 12, 13])
    assert tf.gather(table, tf.ragged.constant([[3], [0, 1]])).to_list() == [[13], [10, 11]]
    assert tf.gather(deep, tf.ragged.constant([[1], [0, 1]])).to_list() == [[[[4]]], [[[1, 2], [3]], [[4]]]]
    chosen = tf.gather(tf.ragged.constant([[1, 2], [3, 4, 5]]), tf.ragged.constant([[1], [2, 0]]), axis=1, batch_dims=1)
    assert chosen.to_list() == [[2], [5, 3]]
    embedding = tf.Variable(np.arange(20.0).reshape(10, 2))
    assert tf.nn.embedding_lookup(embedding, digits).to_list()[3] == [[12.0, 13.0]]


def test_reducing(digits, deep):
    np.testing.assert_allclose(tf.reduce_mean(digits, axis=1), [2.25, np.nan, 16 / 3, 6, np.nan])
    assert tf.reduce_sum(digits, axis=0).numpy().tolist() == [14, 10, 6, 1]
    assert tf.reduce_sum(digits, axis=1, keepdims=True).numpy().tolist() == [[9], [0], [16], [6], [0]]
    assert tf.reduce_sum(deep, axis=2).to_list() == [[3, 3], [4], []]
    assert tf.reduce_sum(deep, axis=1).to_list() == [[4, 2], [4], []]
    assert tf.reduce_sum(deep, axis=[1, 2]).numpy().tolist() == [6, 4, 0]
    assert tf.reduce_sum(deep).numpy() == 10
    assert tf.reduce_any(digits > 4, axis=1).numpy().tolist() == [False, False, True, True, False]
    assert tf.reduce_all(digits > 4, axis=1).numpy().tolist() == [False, True, False, True, True]
    assert (tf.size(digits).numpy(), tf.rank(digits).numpy()) == (8, 2)
    rows = tf.nn.softmax(tf.cast(digits, tf.float32))
    np.testing.assert_allclose(rows.to_list()[2], tf.nn.softmax([5.0, 9, 2]), rtol=1e-6)
    with pytest.raises(ValueError, match="out of bounds"):
        tf.reduce_sum(digits, axis=2)


def test_choosing_and_strings(digits):
    assert tf.where(digits > 3, digits, 0).to_list()[0] == [0, 0, 4, 0]
    words = tf.ragged.constant([["So", "long"], ["thanks", "for", "all"]])
    assert tf.strings.substr(words, 0, 2).to_list()[1] == [b"th", b"fo", b"al"]
    pairs = tf.strings.join([words[:, :-1], words[:, 1:]], separator="+")
    assert pairs.to_list() == [[b"So+long"], [b"thanks+for", b"for+all"]]
    assert tf.strings.reduce_join(words, axis=1, separator=" ").numpy().tolist() == [b"So long", b"thanks for all"]


def test_indexing(digits, deep):
    assert digits[:, :2].to_list() == [[3, 1], [], [5, 9], [6], []]
    assert digits[:, -2:].to_list() == [[4, 1], [], [9, 2], [6], []]
    assert digits[:, ::-1].to_list() == [[1, 4, 1, 3], [], [2, 9, 5], [6], []]
    assert digits[:, 3:0:-2].to_list() == [[1, 1], [], [2], [], []]
    assert digits[::2].to_list() == [[3, 1, 4, 1], [5, 9, 2], []] and digits[-2].numpy().tolist() == [6]
    assert digits[..., :1].to_list()[0] == [3] and digits[2, 1].numpy() == 9
    assert digits[:, tf.newaxis].to_list()[3] == [[6]]
    assert deep[:, :, :1].to_list() == [[[1], [3]], [[4]], []]
    assert deep[0].to_list() == [[1, 2], [3]] and deep[0, 0].numpy().tolist() == [1, 2]
    assert deep[:2, 0].to_list() == [[1, 2], [4]]
    with pytest.raises(IndexError):
        digits[5]


def test_functions(digits):
    @tf.function
    def palindrome(x):
        return tf.concat([x, x[:, ::-1]], axis=1)

    assert palindrome(digits).to_list()[2] == [5, 9, 2, 2, 9, 5]

    @tf.function(input_signature=[tf.RaggedTensorSpec(shape=[None, None], dtype=tf.int32)])
    def largest(x):
        return tf.reduce_max(x, axis=1)

    assert largest(digits).numpy()[[0, 2, 3]].tolist() == [4, 9, 6]
    assert largest(tf.ragged.constant([[7], [8, 1]])).numpy().tolist() == [7, 8]
    assert largest.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError):
        largest(tf.constant([[1, 2]]))
    concrete = tf.function(lambda x: x + 1).get_concrete_function(tf.RaggedTensorSpec([None, None], tf.int32))
    assert concrete(digits).to_list()[3] == [7]


def test_map_fn(digits, deep):
    assert tf.map_fn(tf.math.square, digits).to_list() == [[9, 1, 16, 1], [], [25, 81, 4], [36], []]
    assert tf.map_fn(tf.reduce_sum, digits, fn_output_signature=tf.int32).numpy().tolist() == [9, 0, 16, 6, 0]
    ranges = tf.map_fn(tf.range, tf.constant([2, 0, 3]), fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))
    assert ranges.to_list() == [[0, 1], [], [0, 1, 2]]
    assert tf.map_fn(lambda x: x * 2, deep).to_list() == [[[2, 4], [6]], [[8]], []]
    inside = tf.function(lambda r: tf.map_fn(lambda x: x[::-1], r))
    assert inside(digits).to_list()[0] == [1, 4, 1, 3]


def test_datasets(digits, deep):
    rows = tf.data.Dataset.from_tensor_slices(digits)
    assert rows.element_spec == tf.RaggedTensorSpec([None], tf.int32, 0)
    assert [r.numpy().tolist() for r in rows] == digits.to_list()
    assert [b.to_list() for b in rows.batch(2)] == [[[3, 1, 4, 1], []], [[5, 9, 2], [6]], [[]]]
    assert [b.to_list() for b in tf.data.Dataset.from_tensor_slices(deep)][:2] == [[[1, 2], [3]], [[4]]]
    labelled = tf.data.Dataset.from_tensor_slices((digits, tf.range(5))).batch(3)
    first, labels = next(iter(labelled))
    assert first.to_list() == [[3, 1, 4, 1], [], [5, 9, 2]] and labels.numpy().tolist() == [0, 1, 2]
    assert [r.numpy().tolist() for r in rows.batch(2).unbatch()] == digits.to_list()
    assert [r.numpy().tolist() for r in tf.data.Dataset.from_tensors(digits).unbatch()] == digits.to_list()


def test_gradients_flow_through_rows():
    values = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        ragged = tf.RaggedTensor.from_row_lengths(values, [2, 1])
        loss = tf.reduce_sum(tf.concat([ragged, ragged[:, :1]], axis=1) ** 2)
    assert tf.convert_to_tensor(tape.gradient(loss, values)).numpy().tolist() == [4, 4, 12]


def test_a_dense_operand_of_the_same_rows():
    rows = tf.ragged.constant([[1, 2], [3, 4]])
    assert (rows >= tf.constant([[1, 3], [2, 9]])).to_list() == [[True, False], [True, False]]
    assert (tf.constant([[1, 3], [2, 9]]) + rows).to_list() == [[2, 5], [5, 13]]
    assert (rows + tf.constant([[10, 20]])).to_list() == [[11, 22], [13, 24]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.ragged.constant([[1], [3, 4]]) + tf.constant([[1, 3], [2, 9]])


REFUSED = tf.errors.InvalidArgumentError


def traced(function, *specs):
    return tf.function(function, input_signature=specs)


def test_from_tensor_of_unknown_size():
    unknown = tf.TensorSpec([None, None], tf.int32)
    ragged = tf.RaggedTensor.from_tensor
    for spec in (unknown, tf.TensorSpec([2, None], tf.int32)):
        assert traced(ragged, spec)(tf.constant([[1, 0], [0, 2]])).to_list() == [[1, 0], [0, 2]]
    unpadded = traced(lambda x: ragged(x, padding=0), unknown)
    assert unpadded(tf.constant([[1, 0], [0, 2], [0, 0]])).to_list() == [[1], [0, 2], []]
    assert unpadded(tf.zeros([2, 0], tf.int32)).to_list() == [[], []]
    cut = traced(lambda x, n: ragged(x, lengths=n), unknown, tf.TensorSpec([None], tf.int64))
    assert cut(tf.constant([[1, 2], [3, 4]]), tf.constant([5, 1], tf.int64)).to_list() == [[1, 2], [3]]
    deep = traced(lambda x: ragged(x, ragged_rank=2), tf.TensorSpec([None, None, None], tf.int32))
    assert deep(tf.constant([[[1, 2]], [[3, 4]]])).to_list() == [[[1, 2]], [[3, 4]]]
    words = traced(lambda x: tf.strings.ngrams(x, 2), tf.TensorSpec([None, None], tf.string))
    assert words(tf.constant([["a", "b", "c"]])).numpy().tolist() == [[b"a b", b"b c"]]


def test_from_tensor_with_lengths_and_padding():
    ragged = tf.RaggedTensor.from_tensor
    assert ragged([[1, 2], [3, 4]], lengths=[5, 1]).to_list() == [[1, 2], [3]]
    assert ragged([[1, 2], [3, 4]], lengths=[-1, 1]).to_list() == [[], [3]]
    cube = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert ragged(cube, lengths=([2, 1], [1, 0, 2])).to_list() == [[[1], []], [[5, 6]]]
    padded = [[[1, 2], [0, 0]], [[0, 0], [0, 1]]]
    assert ragged(padded, padding=[0, 0]).to_list() == [[[1, 2]], [[0, 0], [0, 1]]]
    assert ragged(padded, padding=0, ragged_rank=2).to_list() == [[[1, 2], []], [[], [0, 1]]]
    with pytest.raises(ValueError, match="but not both"):
        ragged([[1, 2]], lengths=[1], padding=0)
    with pytest.raises(ValueError, match="do not fit"):
        ragged(cube, lengths=[1, 2], ragged_rank=2)


def test_parts_that_make_no_ragged_tensor():
    with pytest.raises(REFUSED, match="decreasing"):
        tf.RaggedTensor.from_value_rowids([1, 2, 3], [2, 0, 1])
    with pytest.raises(ValueError, match="incompatible"):
        tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 1])
    with pytest.raises(ValueError, match="nrows"):
        tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 1, 2], nrows=2)
    with pytest.raises(ValueError, match="must equal nvals=3"):
        tf.RaggedTensor.from_uniform_row_length([1, 2, 3], 2)


@pytest.fixture
def rows():
    return tf.ragged.constant([[1, 2, 3], [], [4, 5]])


def test_dense_operands_are_broadcast(rows, deep):
    assert (rows + [[10], [20], [30]]).to_list() == [[11, 12, 13], [], [34, 35]]
    assert (rows + [[10]]).to_list() == (rows + [10]).to_list() == [[11, 12, 13], [], [14, 15]]
    assert (deep + [[[10]], [[20]], [[30]]]).to_list() == [[[11, 12], [13]], [[24]], []]
    assert (deep + [[10]]).to_list() == (deep + [[[10]]]).to_list() == [[[11, 12], [13]], [[14]], []]
    inner = tf.RaggedTensor.from_row_lengths(tf.ones([3, 2]), [2, 1])
    assert (inner + [[[1.0, 2.0]], [[3.0, 4.0]]]).to_list() == [[[2, 3], [2, 3]], [[4, 5]]]
    assert (inner + [1.0, 2.0]).to_list() == [[[2, 3], [2, 3]], [[2, 3]]]
    for wrong in ([[1], [2]], [1, 2, 3]):
        with pytest.raises(REFUSED):
            rows + wrong
    with pytest.raises(REFUSED):
        deep + [[10], [20], [30]]
    with pytest.raises(ValueError, match="ragged dimensions"):
        deep + rows
    with pytest.raises(ValueError, match="more dimensions"):
        rows + [[[1]]]


def test_rows_must_agree(rows):
    assert tf.where([[True], [False], [True]], rows, -rows).to_list() == rows.to_list()
    assert tf.where([[False], [False], [True]], rows, 0).to_list() == [[0, 0, 0], [], [4, 5]]
    assert tf.where(rows > 2, 1, 0).to_list() == [[0, 0, 1], [], [1, 1]]
    one, other = tf.ragged.constant([["a", "b"], []]), tf.ragged.constant([["a"], ["b"]])
    with pytest.raises(REFUSED):
        tf.where(True, one, other)
    with pytest.raises(REFUSED):
        tf.strings.join([one, other])
    with pytest.raises(REFUSED):
        tf.ragged.map_flat_values(lambda a, b: a, one, other)
    assert tf.strings.join([one, "x"]).to_list() == [[b"ax", b"bx"], []]


def test_no_value_of_a_neighbouring_row(rows):
    full = tf.gather(rows, [0, 2])
    assert full[:, 0].numpy().tolist() == [1, 4] and full[:, tf.constant(-1)].numpy().tolist() == [3, 5]
    assert tf.gather(full, [1, 0], axis=-1).to_list() == [[2, 1], [5, 4]]
    assert tf.gather(full, 0, axis=1).numpy().tolist() == [1, 4]
    for place in (0, -1, 2):
        with pytest.raises(REFUSED, match="Cannot index into an inner ragged dimension"):
            rows[:, place]
    with pytest.raises(REFUSED):
        tf.gather(rows, [0], axis=-1)
    with pytest.raises(REFUSED):
        tf.gather(full, [[0], [2]], axis=1, batch_dims=1)


def test_a_row_counted_from_the_end_in_a_trace(rows, deep):
    assert tf.function(lambda i: rows[i])(tf.constant(-1)).numpy().tolist() == [4, 5]
    assert tf.function(lambda i: deep[i])(tf.constant(-3)).to_list() == [[1, 2], [3]]


def test_squeezing_the_rows_away(rows):
    assert tf.squeeze(tf.ragged.constant([[1, 2]]), 0).numpy().tolist() == [1, 2]
    with pytest.raises(REFUSED):
        tf.squeeze(rows, 0)


def test_means_and_no_axes(rows, deep):
    mean = tf.reduce_mean(tf.ragged.constant([[1], [2]]))
    assert mean.dtype == tf.float64 and mean.numpy() == 1.5
    assert tf.reduce_sum(rows, axis=[]).to_list() == rows.to_list()
    assert tf.reduce_any(rows > 1, axis=[]).to_list() == [[False, True, True], [], [True, True]]
    with pytest.raises(ValueError, match="two ragged dimensions below"):
        tf.reduce_sum(deep, axis=0)


def test_boolean_mask(rows, deep):
    mask = tf.ragged.boolean_mask
    assert mask(rows, [True, False, True]).to_list() == [[1, 2, 3], [4, 5]]
    assert mask(rows, rows > 1).to_list() == [[2, 3], [], [4, 5]]
    assert mask(deep, tf.ragged.constant([[True, False], [True], []], tf.bool)).to_list() == [[[1, 2]], [[4]], []]
    assert mask(deep, tf.ragged.constant([[[True, False], [True]], [[False]], []])).to_list() == [[[1], [3]], [[]], []]
    assert mask([[1, 2], [3, 4]], [[True, False], [True, True]]).to_list() == [[1], [3, 4]]
    assert mask([[[1, 2], [3, 4]]], [[[True, False], [True, True]]]).to_list() == [[[1], [3, 4]]]
    with pytest.raises(REFUSED, match="identical ragged splits"):
        mask(rows, tf.ragged.constant([[True, False], [True], []], tf.bool))


def test_stack_of_anything(rows):
    assert tf.ragged.stack([[1, 2], [3]]).to_list() == [[1, 2], [3]]
    assert tf.ragged.stack([1, 2]).numpy().tolist() == [1, 2]
    assert tf.ragged.stack([[1, 2], [3, 4]], axis=1).numpy().tolist() == [[1, 3], [2, 4]]
    assert tf.ragged.stack([[[1, 2]], [[3], [4]]]).to_list() == [[[1, 2]], [[3], [4]]]
    assert tf.ragged.stack([rows, rows], axis=1).to_list()[2] == [[4, 5], [4, 5]]
    assert tf.ragged.stack([rows, [[1, 2]]]).to_list() == [rows.to_list(), [[1, 2]]]


def test_ranges():
    assert tf.ragged.range([5, 2], [0, 4], [-2, 1]).to_list() == [[5, 3, 1], [2, 3]]
    assert tf.ragged.range([0.0, 1.0], [1.0, 3.0], 0.5).to_list() == [[0, 0.5], [1, 1.5, 2, 2.5]]
    assert tf.ragged.range(3).to_list() == [[0, 1, 2]] and tf.ragged.range([0, 1], [1.5, 3.0]).dtype == tf.float32
    assert traced(tf.ragged.range, tf.TensorSpec([None], tf.int32))([2, 0, 3]).to_list() == [[0, 1], [], [0, 1, 2]]
    with pytest.raises(REFUSED, match="delta"):
        tf.ragged.range([1], [2], 0)


def test_tile_and_reverse_by_tensors(rows, deep):
    tile = traced(tf.tile, tf.RaggedTensorSpec([None, None], tf.int32), tf.TensorSpec([2], tf.int32))
    assert tile(rows, [1, 2]).to_list() == [[1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5]]
    assert tile(rows, [2, 0]).to_list() == [[]] * 6
    assert tf.tile(deep, [1, 2, 2]).to_list()[0] == [[1, 2, 1, 2], [3, 3], [1, 2, 1, 2], [3, 3]]
    assert tf.reverse(rows, tf.constant([1])).to_list() == [[3, 2, 1], [], [5, 4]]


def test_sparse_split():
    whole = tf.sparse.from_dense([[1, 0, 2], [0, 3, 0]])
    parts = lambda s: [tf.sparse.to_dense(p) for p in tf.sparse.split(s, 2, -1)]  # noqa: E731
    for split in (parts, traced(parts, tf.SparseTensorSpec([None, None], tf.int32))):
        assert [p.numpy().tolist() for p in split(whole)] == [[[1, 0], [0, 3]], [[2], [0]]]
    for number, axis in ((0, 1), (4, 1), (2, 2)):
        with pytest.raises(REFUSED):
            tf.sparse.split(whole, number, axis)


def test_map_fn_without_rows(rows):
    none = tf.sparse.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [0, 3])
    assert tf.map_fn(tf.sparse.reduce_sum, none, fn_output_signature=tf.float32).shape == [0]
    assert tf.map_fn(tf.sparse.to_dense, none, fn_output_signature=tf.float32).shape == [0, 3]
    same = tf.function(lambda s: tf.map_fn(lambda row: row, s))
    assert same(none).dense_shape.numpy()[0] == 0 and tf.map_fn(lambda row: row, none).values.shape == [0]
    assert tf.map_fn(lambda row: row, rows[:0]).to_list() == []
    assert tf.map_fn(tf.reduce_sum, tf.zeros([0, 3]), fn_output_signature=tf.float32).shape == [0]
