"""Symbolic tensors: what tracing knows about shapes and values."""

import numpy as np
import pytest

import tandem as tf


@pytest.fixture
def graph():
    graph = tf.__internal__.FuncGraph("test")
    with graph.as_default():
        yield graph


def placeholder(*shape, dtype=tf.float32):
    return tf.compat.v1.placeholder(dtype, shape)


def test_shapes_flow(graph):
    x = placeholder(None, 28, 28)
    assert not tf.executing_eagerly()
    assert x.shape == [None, 28, 28]
    flat = tf.reshape(x, (tf.shape(x)[0], 784))
    assert flat.shape == [None, 784]
    assert tf.matmul(flat, tf.ones((784, 10))).shape == [None, 10]
    assert (x + 1).shape == [None, 28, 28] and x[:, 0].shape == [None, 28]
    assert tf.concat([x, x], 1).shape == [None, 56, 28]
    assert tf.reduce_sum(x, axis=0).shape == [28, 28]


def test_they_have_no_value(graph):
    x = placeholder(2)
    for use in (bool, int, float, list, iter):
        with pytest.raises((TypeError, NotImplementedError)):
            use(x)
    with pytest.raises(AttributeError, match="numpy"):
        x.numpy()
    assert "shape=(2,)" in repr(x) and x.graph is graph
    assert tf.get_static_value(x) is None
    assert tf.get_static_value(tf.shape(x)).tolist() == [2]


def test_set_shape(graph):
    x = tf.compat.v1.placeholder(tf.float32)
    assert x.shape.rank is None
    x.set_shape((None, 3))
    assert x.shape == [None, 3]
    with pytest.raises(ValueError):
        x.set_shape((2, 4))


def test_init_scope_runs_eagerly(graph):
    with tf.init_scope():
        assert tf.executing_eagerly()
        assert (tf.constant(1) + 1).numpy() == 2
    v = tf.Variable(lambda: tf.ones(2) + 1)
    assert not tf.executing_eagerly()
    assert (v * 2)._symbolic
    with tf.init_scope():
        assert v.numpy().tolist() == [2, 2]


def test_a_tensor_keeps_its_graph():
    graph = tf.__internal__.FuncGraph("gone")
    with graph.as_default():
        x = placeholder(2) * 2
    del graph
    assert "Mul" in x.name and x.graph.name == "gone"
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError, ValueError)):
        x + 1


def test_placeholders_need_a_graph():
    with pytest.raises(RuntimeError, match="eager"):
        tf.compat.v1.placeholder(tf.float32)


def test_names_of_variables_begin_with_their_scopes():
    assert tf.Variable(0, name="x").name == "x:0"
    with tf.name_scope("outer"):
        assert tf.Variable(0).name == "outer/Variable:0"
        with tf.name_scope("inner"):
            assert tf.Variable(0, name="x").name == "outer/inner/x:0"
    assert tf.Variable(0, name="x").name == "x:0"


def test_projective_transform_has_a_gradient():
    image = tf.reshape(tf.range(12.0), (1, 3, 4, 1))
    shift = [[1.0, 0, 1, 0, 1, 0, 0, 0]]
    with tf.GradientTape() as tape:
        tape.watch(image)
        moved = tf.raw_ops.ImageProjectiveTransformV3(
            images=image, transforms=shift, output_shape=[3, 4], fill_value=0.0, interpolation="NEAREST"
        )
    gradient = tape.gradient(moved, image, output_gradients=tf.ones_like(moved))
    # The first column is moved out of the image.
    assert gradient[0, :, :, 0].numpy().tolist() == [[0, 1, 1, 1]] * 3


def test_lists_of_tensors_are_cast_while_a_function_is_traced():
    """As TensorFlow does; but no number that is not known becomes a size: TensorFlow cuts it."""

    @tf.function
    def floats(x):
        return tf.convert_to_tensor((x, 2), tf.float32)

    @tf.function
    def reshaped(x):
        return tf.reshape(tf.zeros([4]), (x, 2))

    assert floats(tf.constant(3)).numpy().tolist() == [3.0, 2.0]
    assert reshaped(tf.constant(2)).shape == (2, 2)
    with pytest.raises((TypeError, ValueError), match="Cast it"):
        reshaped(tf.constant(2.0))


def test_sizes_that_only_a_call_knows():
    @tf.function
    def band(x, lower, upper):
        return tf.linalg.band_part(x, lower, upper)

    @tf.function
    def parts(x, sizes):
        return tf.split(x, sizes, axis=1)

    x = tf.reshape(tf.range(24.0), (2, 3, 4))
    for lower, upper in [(0, -1), (-1, 0), (1, 2)]:
        expected = tf.linalg.band_part(x, lower, upper)
        assert band(x, tf.constant(lower), tf.constant(upper)).numpy().tolist() == expected.numpy().tolist()
    for got, expected in zip(parts(x, tf.constant([1, 0, 2])), tf.split(x, [1, 0, 2], axis=1)):
        assert got.numpy().tolist() == expected.numpy().tolist()


NOTHING = tf.zeros([0], tf.int32)
WORDS = [[104, 105], [97, 98]]
OF_UNKNOWN_SIZE = {
    "counts": (tf.math.bincount, ([1, 1, 5],), [0, 2, 0, 0, 0, 1]),
    "counts of rows": (lambda x: tf.math.bincount(x, axis=-1), ([[1, 1], [2, 0]],), [[0, 2, 0], [1, 0, 1]]),
    "counts over an axis": (lambda x: tf.math.bincount(x, axis=0), ([[1, 1], [2, 0]],), [1, 2, 1]),
    "counts of floats": (tf.math.bincount, ([1.0, 2.5],), [0, 1, 1]),
    "counts of nothing": (tf.math.bincount, (NOTHING,), []),
    "bounded counts": (lambda x, n: tf.math.bincount(x, [1.0, 2.0, 3.0], n, n), ([1, 4, 1], 3), [0, 4, 0]),
    "confusion": (tf.math.confusion_matrix, ([1, 0, 2], [1, 1, 0]), [[0, 1, 0], [0, 1, 0], [1, 0, 0]]),
    "paddings": (
        tf.required_space_to_batch_paddings,
        ([5, 3], [2, 4], [[1, 1], [0, 2]]),
        [[[1, 2], [0, 5]], [[0, 1], [0, 3]]],
    ),
    "no paddings": (tf.required_space_to_batch_paddings, [NOTHING, NOTHING], [[], []]),
    "text": (lambda x: tf.strings.unicode_encode(x, "UTF-8"), (WORDS,), [b"hi", b"ab"]),
    "a text": (lambda x: tf.strings.unicode_encode(x, "UTF-8"), (WORDS[0],), b"hi"),
    "repeats": (tf.nn.collapse_repeated, ([[1, 1, 2], [3, 3, 3]], [3, 2]), [[[1, 2], [3, 0]], [2, 1]]),
}  # fmt: skip


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", OF_UNKNOWN_SIZE)
def test_results_of_a_size_that_only_a_call_knows(name, traced):
    function, arguments, wanted = OF_UNKNOWN_SIZE[name]
    arguments = [tf.convert_to_tensor(x) for x in arguments]
    results = (tf.function(function) if traced else function)(*arguments)
    several = isinstance(results, tuple)
    got = [np.asarray(r.numpy()).tolist() for r in (results if several else [results])]
    assert got == (wanted if several else [wanted])


def test_gamma_of_a_shape_that_only_a_call_knows():
    @tf.function
    def draw(n):
        return tf.random.stateless_gamma((n, 2), seed=[1, 2], alpha=[0.5, 2.0])

    assert draw(tf.constant(3)).numpy().tolist() == tf.random.stateless_gamma((3, 2), [1, 2], [0.5, 2.0]).numpy().tolist()


def test_the_same_in_every_process(run_python):
    """Neither the order of Python's sets nor addresses show in what was traced and planned."""
    program = """
        import re
        import tandem as tf
        keras = tf.keras

        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"),
                                  keras.layers.Dropout(0.5), keras.layers.Dense(4)])
        optimizer = keras.optimizers.Adam()
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

        @tf.function
        def step(batch, extra):
            with tf.GradientTape() as tape:
                h = sum(extra.values(), batch["x"])
                zeta, alpha, mid, total = tf.constant(0.0), tf.constant(1.0), tf.constant(2.0), tf.constant(0.0)
                for i in tf.range(batch["n"]):
                    if tf.reduce_sum(h) > zeta:
                        total, alpha = total + tf.cast(i, tf.float32), alpha * 0.5
                    else:
                        mid, zeta = total - 1.0, zeta + alpha
                loss = loss_of(batch["y"], model(h, training=True)) + total + alpha + mid + zeta
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return {"loss": loss, "total": total}

        batch = {"x": tf.ones((4, 8)), "y": tf.constant([0, 1, 2, 3]), "n": tf.constant(3)}
        extra = {k: tf.ones((4, 8)) for k in ("c", "a", "b")}
        traced = step.get_concrete_function(batch, extra)
        print(traced.function_def)
        step(batch, extra)
        print(traced.function_def)
        steps = [line for line in traced.explain().split("\\n") if re.match(r" +[0-9]+ CPU:0 ", line)]
        print("\\n".join(re.sub(r"\\[[a-zA-Z0-9_.]+; .*?\\]", "", line) for line in steps))
    """
    outputs = []
    for seed, fill in (("1", ""), ("2", "x" * 50000)):
        environment = {"PYTHONHASHSEED": seed, "TANDEM_COST_STORE": "off", "FILL": fill}
        status, out, err = run_python(program, env=environment)
        assert status == 0, err
        outputs.append(out)
    assert outputs[0].count("While") >= 2  # of the trace and of the plan
    assert outputs[0] == outputs[1]
