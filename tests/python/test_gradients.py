"""GradientTape from Python."""

import gc

import numpy as np
import pytest

import tandem as tf


def test_structures():
    w, b = tf.Variable([[1.0, 2.0]]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * w) + b
    grads = tape.gradient(y, {"w": w, "b": [b]})
    assert set(grads) == {"w", "b"}
    np.testing.assert_allclose(grads["w"].numpy(), [[2.0, 4.0]])
    assert grads["b"][0].numpy() == 1


def test_once_unless_persistent():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).numpy() == 4
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, x * x * x
    assert tape.gradient(y, x).numpy() == 4 and tape.gradient(z, x).numpy() == 12


def test_unconnected():
    x, y = tf.Variable(1.0), tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        z = x * 1.0
    assert tape.gradient(z, y) is None
    zero = tape.gradient(z, y, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert zero.numpy().tolist() == [0, 0]
    assert tape.gradient(z, [y], unconnected_gradients="zero")[0].shape == (2,)


def test_second_order_and_jacobian():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        first = inner.gradient(y, x)
    np.testing.assert_allclose(first.numpy(), [3, 12])
    np.testing.assert_allclose(outer.gradient(first, x).numpy(), [6, 12])
    with tf.GradientTape() as tape:
        y = x * x
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), np.diag([2.0, 4.0]))


def test_watching():
    frozen, trainable = tf.Variable(1.0, trainable=False), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = frozen * trainable
    assert [v.ref() for v in tape.watched_variables()] == [trainable.ref()]
    assert tape.gradient(y, [frozen, trainable])[0] is None
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = trainable * 2
    assert tape.gradient(y, trainable) is None
    with pytest.raises(ValueError, match="not tf.Tensor"), tf.GradientTape() as tape:
        tape.watch(1.0)


def test_stop_recording():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            unseen = x * x * x
    assert tape.gradient(unseen + y, x) is None
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            x * 2
        y = y * x
    assert tape.gradient(y, x).numpy() == 27


def test_stop_recording_pauses_one_tape():
    x = tf.Variable(3.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        with inner.stop_recording():
            y = x * x
        z = y * x
    assert outer.gradient(z, x).numpy() == 27
    assert inner.gradient(z, x).numpy() == 9
    with pytest.raises(RuntimeError, match="not recording"), tf.GradientTape().stop_recording():
        pass
    with tf.GradientTape() as tape:
        with pytest.raises(KeyError), tape.stop_recording():
            raise KeyError
        y = x * x
    assert tape.gradient(y, x).numpy() == 6


def test_gradients_in_functions():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def first(x):
        y = x * x * v
        z = tf.reduce_sum(y)
        return tf.gradients([y, z], [x, v, y], grad_ys=[tf.constant([1.0, 1.0]), None])

    by_x, by_v, by_y = first(tf.constant([3.0, 4.0]))
    assert by_x.numpy().tolist() == [12, 32] and by_v.numpy().tolist() == [18, 32] and by_y.numpy().tolist() == [2, 2]

    @tf.function
    def unconnected(x):
        return tf.gradients(x * 2, tf.constant(1.0), unconnected_gradients=tf.UnconnectedGradients.ZERO)

    assert unconnected(tf.constant(1.0))[0].numpy() == 0
    assert tf.function(lambda x: [tf.gradients(x, tf.constant(1.0))[0] is None])(tf.constant(1.0))[0].numpy()

    @tf.function
    def branch_and_slices(x, table):
        picked = tf.gather(table, [1, 1])
        y = tf.cond(x > 0, lambda: x * x, lambda: -x)
        return tf.gradients(y * tf.reduce_sum(picked), [x, table])

    by_x, by_table = branch_and_slices(tf.constant(3.0), tf.constant([1.0, 2.0]))
    assert by_x.numpy() == 24
    assert tf.convert_to_tensor(by_table).numpy().tolist() == [0, 18]
    hessian = tf.function(lambda x: tf.hessians(tf.reduce_sum(x * x * x), x)[0])(tf.constant([1.0, 2.0]))
    assert hessian.numpy().tolist() == [[6, 0], [0, 12]]
    with pytest.raises(RuntimeError, match="not supported when eager execution"):
        tf.gradients(tf.ones([1]), tf.ones([1]))


def test_gradients_of_colours_and_boxes():
    # TensorFlow's numbers, with channels that are equal among them.
    colours = tf.constant([[[0.2, 0.5, 0.9], [0.7, 0.3, 0.1], [0.5, 0.5, 0.2], [0.3, 0.3, 0.3], [0.6, 0.1, 0.6]]])
    with tf.GradientTape() as tape:
        tape.watch(colours)
        total = tf.reduce_sum(tf.image.rgb_to_hsv(colours) * tf.constant([1.0, 2.0, 3.0]))
    wanted = [[-2.0861678, -0.23809524, 3.5958679], [3.3155706, 0.2777778, -3.0423281], [4.044444, 0.5555556, -4.0],
              [9.666666, 0.0, -6.6666665], [3.8888888, -3.3333333, -0.33333334]]  # fmt: skip
    np.testing.assert_allclose(tape.gradient(total, colours)[0], wanted, rtol=1e-5, atol=1e-6)

    image = tf.reshape(tf.range(24.0), [1, 4, 6, 1]) ** 1.5
    boxes = tf.constant([[0.1, 0.2, 0.7, 0.9], [0.5, -0.25, 0.8, 0.6]])
    answers = {
        "bilinear": ([[9223.6855, 0, 33882.25, 7099.1113], [13212.293, 0, 22059.525, 0]], 237.99397),
        "nearest": ([[6932.4814, 0, 31992.016, 6617.2197], [16257.976, 0, 18713.496, 0]], 348.56848),
    }
    for method, (by_boxes, largest) in answers.items():
        with tf.GradientTape() as tape:
            tape.watch([image, boxes])
            loss = tf.reduce_sum(tf.image.crop_and_resize(image, boxes, [0, 0], [3, 2], method=method) ** 2)
        of_image, of_boxes = tape.gradient(loss, [image, boxes])
        np.testing.assert_allclose(of_boxes, by_boxes, rtol=1e-4, atol=1e-2)
        np.testing.assert_allclose(of_image.numpy().max(), largest, rtol=1e-5)


def test_gradient_of_isotonic_regression():
    x = tf.constant([[3.0, 1.0, 4.0, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        fitted, segments = tf.nn.isotonic_regression(x)
        loss = tf.reduce_sum(fitted * tf.constant([1.0, 2.0, 4.0, 8.0]))
    assert fitted.numpy().tolist() == [[3, 2.5, 2.5, 1]] and segments.numpy().tolist() == [[0, 1, 1, 2]]
    assert tape.gradient(loss, x).numpy().tolist() == [[1, 3, 3, 8]]
    rising, segments = tf.nn.isotonic_regression([[3, 1, 4, 1], [1, 2, 3, 4]], decreasing=False, axis=0)
    assert rising.dtype == tf.float64 and rising.numpy().tolist() == [[2, 1, 3.5, 1], [2, 2, 3.5, 4]]
    assert segments.numpy().tolist() == [[0, 0, 0, 0], [0, 1, 0, 1]]


def test_gather_gives_slices():
    table = tf.Variable(np.arange(8.0).reshape(4, 2))
    with tf.GradientTape() as tape:
        rows = tf.gather(table, [1, 3, 1])
        loss = tf.reduce_sum(rows)
    grad = tape.gradient(loss, table)
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.shape == (4, 2)
    dense = tf.convert_to_tensor(grad).numpy()
    np.testing.assert_allclose(dense, [[0, 0], [2, 2], [0, 0], [1, 1]])
    table.scatter_sub(grad)
    np.testing.assert_allclose(table.numpy(), np.arange(8.0).reshape(4, 2) - dense)


def test_output_gradients():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0])).numpy(), [2, 40])


def test_custom_gradient():
    @tf.custom_gradient
    def clipped(x):
        return x * x, lambda upstream: upstream * 100.0

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = clipped(x) * 2.0
    assert y.numpy() == 18
    assert tape.gradient(y, x).numpy() == 200


def test_error_in_a_custom_gradient_reaches_the_caller():
    @tf.custom_gradient
    def broken(x):
        def grad(upstream):
            raise KeyError("no gradient here")

        return x * 1.0, grad

    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = broken(x)
    with pytest.raises(KeyError, match="no gradient here"):
        tape.gradient(y, x)


def test_tapes_let_go_of_memory():
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    for _ in range(5):
        x = tf.Variable(np.ones(1 << 18, np.float32))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.exp(x) * x)
        tape.gradient(y, x).numpy()  # a device is done with what it was given
        del x, y, tape
    gc.collect()
    assert tf.config.experimental.get_memory_info("CPU:0")["current"] <= before + (1 << 20)


def test_training_reaches_the_solution():
    rng = np.random.default_rng()
    true = rng.normal(size=(3, 1)).astype(np.float32)
    data = rng.normal(size=(256, 3)).astype(np.float32)
    w = tf.Variable(tf.zeros((3, 1)))
    for _ in range(200):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.constant(data) @ w - data @ true) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
    np.testing.assert_allclose(w.numpy(), true, atol=1e-3)


# ---- Gradients of gradients of compiled functions

ORDERS = """
    import numpy as np
    import tandem as tf

    w, runs = tf.Variable(2.0), tf.Variable(0.0)
    x = tf.constant([1.0, 2.0, 3.0])

    def plain(x):
        return w * x**3

    def branching(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: w * tf.sin(x) * x, lambda: x)

    def turning(x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x * w), (0, x))[1]

    def turning_until(x):
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 1000.0, lambda y: (y * x + w * tf.sin(y),), (x,))[0]

    def nesting(x):
        def turn(i, y):
            def inner():
                return y * tf.while_loop(lambda j, _: j < 2, lambda j, z: (j + 1, z * x * w + tf.sin(y)), (0, y))[1]

            return i + 1, tf.cond(tf.reduce_sum(y) > 2.0, inner, lambda: tf.exp(y * 0.1) * x)

        return tf.while_loop(lambda i, _: i < 3, turn, (0, x * 0.1))[1]

    def calling(x):
        return w * tf.function(lambda z: z * z * tf.tanh(z))(x)

    def gradient(f, x, between, persistent=False):
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = f(x)
            if persistent:
                y = tape.gradient(y, x)
        between()
        return tape.gradient(y, x)

    def nested(order):
        if order == 1:
            return lambda f, x, between: gradient(f, x, between)
        inner = nested(order - 1)
        return lambda f, x, between: gradient(lambda x: inner(f, x, lambda: None), x, between)

    def forward_over_backward(f, x, between):
        return forward(f, x, between, lambda f, x: nested(1)(f, x, lambda: None))

    def forward(f, x, between, inner=lambda f, x: f(x)):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = inner(f, x)
        between()
        return accumulator.jvp(y)

    ways = {
        "first": nested(1),
        "second": nested(2),
        "third": nested(3),
        "persistent": lambda f, x, between: gradient(f, x, between, persistent=True),
        "forward": forward,
        "forward over backward": forward_over_backward,
    }

    def check(f, way):
        def counted(x):
            runs.assign_add(1.0)
            return f(x)

        made = []
        for g in (counted, tf.function(counted)):
            w.assign(2.0)
            runs.assign(0.0)
            made.append(ways[way](g, x, lambda: w.assign(100.0)).numpy())
            assert float(runs) == 1, (f.__name__, way, float(runs))
        np.testing.assert_allclose(*made, rtol=1e-4, err_msg=f"{f.__name__} {way}")

    with tf.device(DEVICE):
        for f in (plain, branching, turning, turning_until, nesting, calling):
            for way in ways:
                check(f, way)
"""


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
def test_a_function_runs_once_whatever_the_order(run_python, device):
    """Its effects are not repeated, and gradients read what the variables were when it ran."""
    status, _, errors = run_python(ORDERS.replace("DEVICE", repr(device)), gpus=1)
    assert status == 0, errors


PENALTY = """
    import numpy as np
    import tandem as tf

    layer = tf.keras.layers.BatchNormalization(momentum=0.5)
    layer.build((None, 2))
    asked = []
    number = lambda: asked.append(0) or np.float32(1)
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def critic(x):
        return tf.nn.dropout(layer(x, training=True) ** 2, 0.5) * tf.numpy_function(number, [], tf.float32)

    with tf.device(DEVICE):
        for step in range(1, 3):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = critic(x)
                slope = inner.gradient(y, x)
                penalty = tf.reduce_sum(slope**2)
            assert np.isfinite(outer.gradient(penalty, x)).all()
            np.testing.assert_allclose(layer.moving_mean, np.array([2.0, 3.0]) * (1 - 0.5**step))
            assert len(asked) == step
"""


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
def test_a_gradient_penalty_updates_once(run_python, device):
    status, _, errors = run_python(PENALTY.replace("DEVICE", repr(device)), gpus=1)
    assert status == 0, errors


def test_orders_that_were_not_saved():
    """A persistent tape may ask for any order: what was not saved is computed again only where nobody can tell."""
    x = tf.constant([1.0, 2.0])

    def tower(f, order):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
            for _ in range(order - 1):
                y = tape.gradient(y, x)
        return tape.gradient(y, x).numpy()

    for order, want in ((3, [24, 48]), (4, [24, 24]), (5, [0, 0])):
        power = tf.function(lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1])
        np.testing.assert_allclose(tower(power, order), want)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_custom_gradients_in_structures(wrap):
    """They are taken in the order of tf.nest, as the arguments are."""

    @tf.custom_gradient
    def plus(x, y):
        return x + y, lambda upstream: {"b": upstream * 10.0, "a": [upstream * 20.0]}

    @tf.custom_gradient
    def too_many(x, y):
        return x + y, lambda upstream: {"a": upstream, "b": upstream, "c": upstream}

    def gradients(f):
        x, y = tf.constant(1.0), tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = wrap(f)(x, y)
        return [float(g) for g in tape.gradient(z, [x, y])]

    assert gradients(plus) == [20.0, 10.0]
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="3 gradients for 2 inputs"):
        gradients(too_many)
