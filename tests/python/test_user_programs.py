"""Pieces of programs that users bring, as they write them."""

import numpy as np
import pytest

import tandem as tf


@pytest.fixture(scope="module")
def keras():
    return tf.keras


# ---- Text


def test_text_is_vectorized_in_a_map_function(keras):
    layer = keras.layers.TextVectorization(output_sequence_length=4)
    layer.adapt(["the cat sat", "the cat", "the"])
    texts = tf.data.Dataset.from_tensor_slices(["the cat", "a cat sat on the mat"]).batch(2)
    (ids,) = texts.map(layer)
    assert ids.numpy().tolist() == [[2, 3, 0, 0], [1, 3, 4, 1]]


def test_strings_go_through_predict_and_fit(keras):
    layer = keras.layers.TextVectorization(output_sequence_length=3)
    layer.adapt(["a b c", "b c"])
    model = keras.Sequential([layer, keras.layers.Embedding(10, 2), keras.layers.Flatten(), keras.layers.Dense(1)])
    texts = ["a b", "c", "b b b"]
    from_tensor = model.predict(tf.constant(texts), verbose=0)
    from_objects = model.predict(np.array(texts, dtype=object), verbose=0)
    np.testing.assert_array_equal(from_tensor, from_objects)
    np.testing.assert_allclose(from_tensor, model(tf.constant(texts)), rtol=1e-6)
    model.compile("sgd", "mse")
    assert len(model.fit(tf.constant(texts), tf.ones((3, 1)), verbose=0).history["loss"]) == 1


def test_ragged_rows_in_a_function():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def words(lines):
        rows = tf.strings.split(lines)
        return rows, rows.to_tensor("-", shape=[None, 3]), rows[:, :1], rows[:, -2:], rows[1], rows.bounding_shape()

    rows, dense, first, last, second, bounds = words(["a b", "c", "d e f g"])
    assert isinstance(rows, tf.RaggedTensor) and rows.to_list() == [[b"a", b"b"], [b"c"], [b"d", b"e", b"f", b"g"]]
    assert dense.numpy().tolist() == [[b"a", b"b", b"-"], [b"c", b"-", b"-"], [b"d", b"e", b"f"]]
    assert first.to_list() == [[b"a"], [b"c"], [b"d"]]
    assert last.to_list() == [[b"a", b"b"], [b"c"], [b"f", b"g"]]
    assert second.numpy().tolist() == [b"c"] and bounds.numpy().tolist() == [3, 4]
    rows, dense, *_ = words(["x", "y"])  # the trace is for any number of rows
    assert dense.shape == (2, 3) and rows.to_list() == [[b"x"], [b"y"]]


@pytest.mark.parametrize("cut", ["1:3", ":-1", "-3:", "::2", "::-1", "3:1"])
def test_slices_of_ragged_rows(cut):
    lists = [[3, 1, 4, 1], [], [5, 9, 2], [6]]
    rows = tf.ragged.constant(lists, dtype=tf.int32)
    part = eval(f"slice(*[int(p) if p else None for p in '{cut}'.split(':')])")  # noqa: S307
    assert rows[part].to_list() == lists[part]
    assert rows[:, part].to_list() == [row[part] for row in lists]


def test_tables_with_string_keys():
    table = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, default_value=-1, empty_key="", deleted_key="$")
    table.insert(["x", "y"], tf.constant([5, 6], tf.int64))
    assert table.lookup(tf.constant(["x", "n"])).numpy().tolist() == [5, -1]
    table.erase(["x"])
    assert table.size().numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError):
        table.insert(["$"], tf.constant([5], tf.int64))


# ---- Random numbers of a batch's size


@pytest.mark.parametrize("signature", [None, [tf.TensorSpec([None, 2])]], ids=["known", "open"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda d: d.name)
def test_random_numbers_for_a_batch(signature, dtype):
    def shapes(x):
        rows = tf.shape(x)[0]
        normal = tf.random.normal((rows, 3), 5.0, 0.5)
        uniform = tf.random.uniform([rows, 3], 2, 9, dtype)
        return normal, uniform, tf.random.truncated_normal(tf.shape(x))

    function = tf.function(shapes, input_signature=signature)
    for rows in (4, 7):
        normal, uniform, truncated = function(tf.ones((rows, 2)))
        assert normal.shape == uniform.shape == (rows, 3) and truncated.shape == (rows, 2)
        assert abs(normal.numpy().mean() - 5) < 2 and uniform.dtype == dtype
        assert uniform.numpy().min() >= 2 and uniform.numpy().max() <= 9
    first, second = (function(tf.ones((5, 2)))[0].numpy() for _ in range(2))
    assert not np.array_equal(first, second)


def test_random_numbers_of_a_known_and_an_open_size_are_the_same():
    def draw(x):
        return tf.random.normal((tf.shape(x)[0], 3))

    def drawn(signature):
        tf.random.set_seed(7)
        function = tf.function(draw, input_signature=signature)
        return [function(tf.ones((4, 2))).numpy() for _ in range(2)]

    np.testing.assert_array_equal(drawn(None), drawn([tf.TensorSpec([None, 2])]))


def test_gradient_penalty(keras):
    """Two optimizers, noise of the batch's size and a gradient of a gradient, in a step of the user's."""
    keras.utils.set_random_seed(1)
    critic = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
    generator = keras.Sequential([keras.Input((2,)), keras.layers.Dense(4)])

    class Gan(keras.Model):
        def __init__(self):
            super().__init__()
            self.critic, self.generator = critic, generator
            self.optimizers = keras.optimizers.Adam(0.01), keras.optimizers.Adam(0.01)

        def train_step(self, real):
            rows = tf.shape(real)[0]
            with tf.GradientTape() as tape:
                fake = self.generator(tf.random.normal((rows, 2)), training=True)
                between = real + tf.random.uniform([rows, 1]) * (fake - real)
                with tf.GradientTape() as inner:
                    inner.watch(between)
                    score = self.critic(between, training=True)
                norm = tf.norm(inner.gradient(score, between), axis=1)
                penalty = tf.reduce_mean((norm - 1.0) ** 2)
                loss = tf.reduce_mean(self.critic(fake) - self.critic(real)) + 10 * penalty
            weights = self.critic.trainable_variables
            self.optimizers[0].apply_gradients(zip(tape.gradient(loss, weights), weights))
            with tf.GradientTape() as tape:
                loss = -tf.reduce_mean(self.critic(self.generator(tf.random.normal((rows, 2)), training=True)))
            weights = self.generator.trainable_variables
            self.optimizers[1].apply_gradients(zip(tape.gradient(loss, weights), weights))
            return {"penalty": penalty}

    gan = Gan()
    gan.compile()
    x = np.random.default_rng(0).normal(size=(40, 4)).astype("float32")
    penalties = gan.fit(x, batch_size=16, epochs=30, verbose=0).history["penalty"]  # the last batch is smaller
    assert np.isfinite(penalties).all() and penalties[-1] < penalties[0]


# ---- Functions


def test_a_variable_may_begin_with_an_argument():
    state = []

    @tf.function
    def function(scale, x):
        if not state:
            state.append(tf.Variable(2.0 * x))
            state.append(tf.Variable(state[0] * 3.0))
        return state[0] * x * state[1] * scale

    assert function(1, tf.constant(1.0)).numpy() == 12
    assert function(1, tf.constant(3.0)).numpy() == 36
    with pytest.raises(ValueError, match="depends on 'x', an argument"):
        tf.function(lambda x: tf.Variable(x) + 1).get_concrete_function(tf.TensorSpec([]))


def test_results_of_numpy_functions():
    assert tf.numpy_function(lambda a: a + 1, [1], tf.int64).numpy() == 2

    @tf.function
    def several(x):
        return tf.numpy_function(lambda a: (np.float64(a), 3, 2.5), [x], [tf.float32, tf.int64, tf.float32])

    assert [(r.dtype.name, float(r)) for r in several(1.0)] == [("float32", 1), ("int64", 3), ("float32", 2.5)]


def test_raw_add():
    assert tf.raw_ops.Add(x=1.0, y=2.0).numpy() == 3 and tf.raw_ops.Add(x="a", y="b").numpy() == b"ab"


# ---- State


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_training_resumes_from_a_checkpoint(keras, tmp_path, compiled):
    """Objects made anew, restored before they are built, and an iterator that goes on where it was."""

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.norm = keras.layers.Dense(5), keras.layers.BatchNormalization()

        def call(self, x, training=False):
            return self.norm(self.dense(x), training=training)

    def make():
        net, optimizer = Net(), keras.optimizers.Adam(0.1)
        rows = tf.data.Dataset.from_tensor_slices(np.arange(24, dtype="float32")[:, None]).batch(4)
        iterator = iter(rows.repeat())
        checkpoint = tf.train.Checkpoint(step=tf.Variable(0), net=net, optimizer=optimizer, iterator=iterator)
        return checkpoint

    def train(checkpoint, steps):
        net, optimizer = checkpoint.net, checkpoint.optimizer

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((net(x, training=True) - 1.0) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
            checkpoint.step.assign_add(1)
            return loss

        step = tf.function(step) if compiled else step
        return [float(step(next(checkpoint.iterator))) for _ in range(steps)]

    whole = make()
    train(whole, 5)
    path = whole.save(str(tmp_path / "c"))
    wanted = train(whole, 4)
    again = make()
    status = again.restore(path)
    assert train(again, 4) == wanted and again.step.numpy() == 9
    status.assert_consumed()


def test_an_iterator_that_a_function_uses_is_restored(tmp_path):
    iterator = iter(tf.data.Dataset.range(20))
    take = tf.function(lambda: next(iterator))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    assert [int(next(iterator)), int(take())] == [0, 1]
    path = checkpoint.save(str(tmp_path / "c"))
    assert [int(take()), int(next(iterator))] == [2, 3]
    checkpoint.restore(path)
    assert [int(take()), int(next(iterator))] == [2, 3]


def test_parts_of_variables_are_assigned():
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v[0, 1].assign(9.0)
    v[1].assign([7.0, 8.0, 9.0])
    v[:, ::2].assign(0.0)
    assert v.numpy().tolist() == [[0, 9, 0], [0, 8, 0]]

    @tf.function
    def put(row, values):
        v[row].assign(values)

    put(tf.constant(1), [1.0, 2.0, 3.0])
    assert v.numpy().tolist() == [[0, 9, 0], [1, 2, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        v[0].assign([1.0, 2.0])
    assert tf.cast(v, tf.float32) is v


def test_rows_of_a_ragged_tensor_are_elements():
    rows = tf.ragged.constant([[1, 2], [3], []], dtype=tf.int32)
    dataset = tf.data.Dataset.from_tensor_slices((rows, [10, 20, 30]))
    assert [(a.numpy().tolist(), int(b)) for a, b in dataset] == [([1, 2], 10), ([3], 20), ([], 30)]
    with pytest.raises(ValueError, match="same first dimension"):
        tf.data.Dataset.from_tensor_slices((rows, [1, 2]))


def test_ngrams(keras):
    rows = tf.ragged.constant([["a", "b", "c"], [], ["d"]])
    assert tf.strings.ngrams(rows, (1, 2), separator="").to_list() == [[b"a", b"b", b"c", b"ab", b"bc"], [], [b"d"]]
    padded = tf.strings.ngrams(rows, 3, pad_values=("<", ">"), padding_width=1)
    assert padded.to_list() == [[b"< a b", b"a b c", b"b c >"], [], [b"< d >"]]
    assert tf.strings.ngrams([["a", "b", "c"]], 2).numpy().tolist() == [[b"a b", b"b c"]]
    layer = keras.layers.TextVectorization(ngrams=2, output_mode="multi_hot")
    layer.adapt(["great movie", "boring great movie", "great movie"])
    assert "great movie" in layer.get_vocabulary()
    (found,) = tf.data.Dataset.from_tensor_slices(["great movie", "movie great"]).batch(2).map(layer)
    assert found.numpy().sum(axis=1).tolist() == [3, 3] and found.numpy()[:, 0].tolist() == [0, 1]
