"""What users give by mistake: TensorFlow's exception class, a message that helps, and the process goes on."""

import numpy as np
import pytest

import tandem as tf


@pytest.fixture(scope="module")
def keras():
    return tf.keras


@pytest.mark.parametrize("use", ["watch", "gradient", "jacobian", "reset"])
def test_a_tape_that_was_not_entered(use):
    tape, x = tf.GradientTape(), tf.constant(1.0)
    arguments = {"watch": (x,), "reset": ()}.get(use, (x, x))
    with pytest.raises(RuntimeError, match="before its `with` block"):
        getattr(tape, use)(*arguments)


@pytest.mark.parametrize(
    ("raised", "wanted"),
    [
        (KeyError("k"), tf.errors.UnknownError),
        (ValueError("v"), tf.errors.InvalidArgumentError),
        (NotImplementedError("n"), tf.errors.UnimplementedError),
        (StopIteration(), tf.errors.OutOfRangeError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_errors_of_py_functions(raised, wanted, traced):
    def fail(x):
        raise raised

    def call(x):
        return tf.py_function(fail, [x], tf.int32)

    with pytest.raises(wanted, match=type(raised).__name__):
        (tf.function(call) if traced else call)(tf.constant(1))
    assert tf.py_function(lambda x: x + 1, [1], tf.int32).numpy() == 2


@pytest.mark.parametrize("convert", [int, float, complex], ids=lambda f: f.__name__)
def test_numbers_of_symbolic_tensors(convert):
    with pytest.raises(TypeError, match="no value while the function is traced"):
        tf.function(lambda x: convert(x), autograph=False)(tf.constant(1.0))


def test_arguments_of_a_concrete_function():
    concrete = tf.function(lambda a: a + a).get_concrete_function(tf.TensorSpec([None]))
    for wrong in (tf.constant([1]), tf.constant([[1.0]])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="input #0.*was expected to be a float32 tensor"):
            concrete(wrong)
    assert concrete(tf.constant([1.0])).numpy() == 2


def test_sizes_that_do_not_fit():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Dimension -1 must be >= 0"):
        tf.random.normal([-1])
    image = tf.ones((4, 4, 3))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Need value.shape >= size"):
        tf.image.random_crop(image, (5, 5, 3))
    crop = tf.function(lambda image, size: tf.image.random_crop(image, size))
    with pytest.raises(tf.errors.InvalidArgumentError, match="size"):
        crop(image, tf.constant([5, 5, 3]))
    assert crop(image, tf.constant([2, 2, 3])).shape == (2, 2, 3)


# ---- In fit: the exception comes out of fit, and the model can be used and trained on


def model_and_data(keras, loss="mse"):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(1)])
    model.compile("sgd", loss)
    x = np.random.default_rng(0).normal(size=(40, 6)).astype("float32")
    return model, x, x[:, :1]


def failing(raised):
    def fail(*arguments, **keywords):
        raise raised

    return fail


@pytest.mark.parametrize("hook", ["on_train_batch_end", "on_epoch_end", "on_train_begin"])
def test_callbacks_that_raise(keras, hook):
    model, x, y = model_and_data(keras)
    callback = type("Failing", (keras.callbacks.Callback,), {hook: failing(ZeroDivisionError("in the hook"))})()
    with pytest.raises(ZeroDivisionError, match="in the hook"):
        model.fit(x, y, verbose=0, callbacks=[callback])
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"]).all()


def map_function_fails(model, x, y):
    rows = tf.data.Dataset.from_tensor_slices((x, y))

    def divide(a, b):
        return tf.ensure_shape(tf.numpy_function(failing(ZeroDivisionError("in map")), [a], tf.float32), [6]), b

    model.fit(rows.map(divide).batch(4), verbose=0)


def generator_fails(model, x, y):
    def batches():
        yield x[:4], y[:4]
        raise ValueError("generator broke")

    model.fit(batches(), steps_per_epoch=3, verbose=0)


@pytest.mark.parametrize(
    ("feed", "wanted", "message"),
    [
        (lambda m, x, y: m.fit(x[:, :5], y, verbose=0), ValueError, "expected axis -1 of input shape to have value 6"),
        (lambda m, x, y: m.fit(x, y[:30], verbose=0), ValueError, "Data cardinality is ambiguous"),
        (lambda m, x, y: m.fit(x, verbose=0), ValueError, "None"),
        (lambda m, x, y: m.predict(np.ones((3, 2)), verbose=0), ValueError, "have value 6"),
        (map_function_fails, tf.errors.UnknownError, "ZeroDivisionError: in map"),
        (generator_fails, ValueError, "generator broke"),
    ],
    ids=["features", "rows", "no labels", "predict", "map", "generator"],
)
def test_data_that_does_not_fit(keras, feed, wanted, message):
    model, x, y = model_and_data(keras)
    with pytest.raises(wanted, match=message):
        feed(model, x, y)
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"]).all()


def test_a_batch_larger_than_the_data(keras):
    model, x, y = model_and_data(keras)
    assert len(model.fit(x, y, batch_size=10**9, verbose=0).history["loss"]) == 1


def test_errors_in_layers_and_losses_name_them(keras):
    class Wrong(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)

        def call(self, x):
            return tf.matmul(self.dense(x), tf.ones((3, 3)))

    model, x, y = model_and_data(keras, loss=lambda a, b: tf.reduce_mean(a - tf.ones((7, 7)) @ tf.ones((3, 3))))
    with pytest.raises(ValueError, match="MatMul: Matrix size-incompatible"):
        model.fit(x, y, verbose=0)
    wrong = Wrong()
    wrong.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"(?s)Wrong.call\(\).*MatMul: .*inner dimensions \(2 and 3\)"):
        wrong.fit(x, y, verbose=0)


def test_labels_out_of_range_leave_the_weights(keras):
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    before = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"label value of 7 which is outside the valid range"):
        model.fit(np.ones((8, 6)), np.full(8, 7), verbose=0)
    for mine, theirs in zip(model.get_weights(), before):
        np.testing.assert_array_equal(mine, theirs)


def test_gradients_by_something_else_than_tensors():
    @tf.function
    def by_a_number(x):
        return tf.gradients(x * x, [x, 3.0], stop_gradients=[2.0])

    assert by_a_number(tf.constant(2.0))[0].numpy() == 4
    assert by_a_number(tf.constant(2.0))[1] is None
    with pytest.raises(ValueError, match="None"):
        tf.function(lambda x: tf.gradients(x * x, [None]))(tf.constant(2.0))


def test_a_ragged_argument_that_does_not_fit():
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def more(rows):
        return rows + 1

    assert more(tf.ragged.constant([[1], [2, 3]])).to_list() == [[2], [3, 4]]
    for wrong in (tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.ragged.constant([[[1], [2]]]), tf.constant([[1]])):
        with pytest.raises(TypeError, match="Binding inputs"):
            more(wrong)


def test_indices_of_any_integer_type_in_functions():
    take = tf.function(lambda x, i: x[i])
    for dtype in (tf.int8, tf.uint8, tf.int32, tf.int64):
        assert take(tf.constant([1.0, 2.0]), tf.constant(1, dtype)).numpy() == 2
    assert tf.round(tf.constant([3], tf.uint8)).numpy() == 3


def test_sizes_that_are_no_integers():
    for make in (tf.zeros, tf.ones):
        for shape in ((2.5,), [2, 2.0]):
            with pytest.raises(TypeError, match="Cannot convert"):
                make(shape)
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32, int64"):
        tf.reshape(tf.ones(4), (2.5,))


def test_a_stack_of_nothing():
    made = tf.stack([])
    assert made.shape == (0,) and made.dtype == tf.float32
    with pytest.raises(IndexError):
        tf.stack([], axis=1)
    assert tf.stack([tf.ones(2), tf.zeros(2)], axis=1).numpy().tolist() == [[1, 0], [1, 0]]
