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
