"""What users give by mistake: TensorFlow's exception class, a message that helps, and the process goes on."""

import pathlib
import resource

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


# ---- Sizes that are nothing, or too much: each eagerly, traced, for unknown sizes, in map and on a device


def nothing(*shape, dtype=None):
    return lambda: tf.zeros(shape, dtype or tf.float32)


def gradient_of(function):
    def call(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return call


# What is given, what is called, and the shape of what comes back or the words of the refusal.
SIZES = {
    "argmax": (nothing(0, 3), lambda x: tf.argmax(x, 1), (0,)),
    "argmax inside": (nothing(3, 2, 0), lambda x: tf.argmax(x, 0), (2, 0)),
    "argmax over nothing": (nothing(0, 3), lambda x: tf.argmax(x, 0), "Reduction axis 0 is empty"),
    "argmin": (nothing(0, 3), lambda x: tf.argmin(x, 1), (0,)),
    "pool with argmax": (nothing(0, 4, 4, 1), lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")[0], "not be empty"),
    "gradient of sort": (nothing(0, 3), gradient_of(tf.sort), (0, 3)),
    "gradient of top_k": (nothing(0, 3), gradient_of(lambda x: tf.nn.top_k(x, 2)[0]), (0, 3)),
    "gradient of gather": (
        nothing(0, 3), gradient_of(lambda x: tf.gather(x, tf.zeros([0, 2], tf.int32), batch_dims=1)), (0, 3)),
    "depth_to_space": (nothing(1, 2, 2, 4), lambda x: tf.nn.depth_to_space(x, 2**32), "Block size should be"),
    "space_to_depth": (nothing(1, 0, 0, 4), lambda x: tf.nn.space_to_depth(x, 2**32), "Block size should be"),
    "space_to_batch": (
        nothing(1, 2, 2, 4), lambda x: tf.space_to_batch(x, [2**40, 2**40], [[0, 2**62], [0, 2**62]]), "64 bits"),
    "fft": (nothing(2, 0, dtype=tf.complex64), tf.signal.fft, (2, 0)),
    "ifft": (nothing(2, 0, dtype=tf.complex64), tf.signal.ifft, (2, 0)),
    "fft2d": (nothing(2, 0, 3, dtype=tf.complex64), tf.signal.fft2d, (2, 0, 3)),
    "rfft": (nothing(2, 3), lambda x: tf.signal.rfft(x, [0]), (2, 0)),
    "rfft of nothing": (nothing(2, 0), lambda x: tf.signal.rfft(x, [4]), (2, 3)),
    "irfft": (nothing(2, 3, dtype=tf.complex64), lambda x: tf.signal.irfft(x, [0]), (2, 0)),
    "lrn": (nothing(1, 2, 2, 3), lambda x: tf.nn.lrn(x, depth_radius=2**31 - 1), "depth_radius"),
    "lrn of few channels": (nothing(1, 2, 2, 3), lambda x: tf.nn.lrn(x, depth_radius=2**31 - 2), (1, 2, 2, 3)),
    "max_pool2d": (nothing(1, 2, 2, 1), lambda x: tf.nn.max_pool2d(x, 3, 1, "VALID"), "would be negative"),
    "max_pool3d": (nothing(1, 2, 2, 2, 1), lambda x: tf.nn.max_pool3d(x, 3, 2, "VALID"), "would be negative"),
    "conv2d": (nothing(1, 2, 2, 1), lambda x: tf.nn.conv2d(x, tf.ones([3, 3, 1, 1]), 1, "VALID"), "would be negative"),
    "window of 2**40": (nothing(1, 2, 2, 1), lambda x: tf.nn.max_pool2d(x, 2**40, 1, "SAME"), "fit in 32 bits"),
    "repeat": (nothing(1), lambda x: tf.repeat(x, -1), "repeats >= 0"),
    "repeat too often": (nothing(2), lambda x: tf.repeat(x, [2**62, 2**62]), "64 bits"),
    "ragged.range": (
        nothing(3, dtype=tf.int64), lambda x: tf.ragged.range(x, x + 2**61).flat_values, "range size overflowed|64 bits"),
    "ragged.range to infinity": (nothing(2), lambda x: tf.ragged.range(x, x + 1e30).flat_values, "limit - start"),
}  # fmt: skip


# ---- Sizes, counts, orders and indices that contradict each other: refused in all the modes above


def given(*values, dtype=tf.int64):
    return lambda: tf.constant(values, dtype)


def at(indices, shape=(1, 2)):
    """Ones at these places."""
    indices = tf.convert_to_tensor(indices, tf.int64)
    return tf.SparseTensor(indices, tf.ones(tf.shape(indices)[:1]), shape)


def pair():
    return at([[0, 0], [0, 1]])


def rows_of(made):
    return made.row_splits() if isinstance(made, tf.experimental.RowPartition) else made.row_splits


WRONG = {
    "matmul": (nothing(3, 1), lambda x: tf.sparse.sparse_dense_matmul(pair(), x)),
    "matmul of a sparse shape": (
        given(1, 2), lambda s: tf.sparse.sparse_dense_matmul(at([[0, 0]], s), tf.ones([3, 1]))),
    "matmul adjoint": (nothing(3, 1), lambda x: tf.sparse.sparse_dense_matmul(pair(), x, adjoint_a=True)),
    "matmul of a vector": (nothing(2), lambda x: tf.sparse.sparse_dense_matmul(pair(), x)),
    "matmul of row -1": (given([-1, 0]), lambda i: tf.sparse.sparse_dense_matmul(at(i), tf.ones([2, 1]))),
    "matmul of column 2": (given([0, 2]), lambda i: tf.sparse.sparse_dense_matmul(tf.ones([3, 1]), at(i))),
    "concat": (given(1, 3), lambda s: tf.sparse.concat(0, [pair(), at([[0, 2]], s)])),
    "concat of ranks": (given(3), lambda s: tf.sparse.concat(0, [pair(), at([[0]], s)])),
    "add": (given(2, 1), lambda s: tf.sparse.add(pair(), at([[0, 0]], s))),
    "add of a dense row": (nothing(1, 1), lambda x: tf.sparse.add(pair(), x)),
    "maximum": (given(1, 3), lambda s: tf.sparse.maximum(pair(), at([[0, 0]], s))),
    "minimum of ranks": (given(2), lambda s: tf.sparse.minimum(pair(), at([[0]], s))),
    "map_values": (given([0, 1], [0, 0]), lambda i: tf.sparse.map_values(tf.add, pair(), at(i))),
    "reset_shape": (given(1, 1), lambda s: tf.sparse.reset_shape(pair(), s)),
    "reset_shape of a rank": (given(1, 2, 3), lambda s: tf.sparse.reset_shape(pair(), s)),
    "with_values": (nothing(3), lambda v: tf.sparse.to_dense(pair().with_values(v))),
    "counts": (nothing(2), lambda v: tf.sparse.reorder(tf.SparseTensor([[0, 0]], v, [1, 2]))),
    "ranks": (given([0, 0, 0]), lambda i: tf.sparse.to_dense(at(i))),
    "to_dense in no order": (given([0, 1], [0, 0]), lambda i: tf.sparse.to_dense(at(i))),
    "to_dense twice": (given([0, 1], [0, 1]), lambda i: tf.sparse.to_dense(at(i))),
    "to_dense outside": (given([0, 5]), lambda i: tf.sparse.to_dense(at(i), validate_indices=False)),
    "to_dense before": (given([0, -1]), lambda i: tf.sparse.to_dense(at(i), validate_indices=False)),
    "expand_dims": (given([0, 0]), lambda i: tf.sparse.expand_dims(at(i), 5)),
    "slice start": (given(0, -1), lambda s: tf.sparse.slice(pair(), s, [1, 2])),
    "slice size": (given(1, -2), lambda s: tf.sparse.slice(pair(), [0, 0], s)),
    "slice of a rank": (given(1), lambda s: tf.sparse.slice(pair(), [0, 0], s)),
    "split": (given(1, 2), lambda s: tf.sparse.split(at([[0, 0]], s), 3, 1)[0]),
    "retain": (given(True, dtype=tf.bool), lambda m: tf.sparse.retain(pair(), m)),
    "transpose": (given([0, 0]), lambda i: tf.sparse.transpose(at(i), [0])),
    "reorder": (given([5, 0]), lambda i: tf.sparse.reorder(at(i))),
    "reshape": (given([0, 5]), lambda i: tf.sparse.reshape(at(i), [2, 1])),
    "reduce_sum": (given([0, 5]), lambda i: tf.sparse.reduce_sum(at(i), 1)),
    "reduce_max": (given([0, -1]), lambda i: tf.sparse.reduce_max(at(i), 1)),
    "softmax": (given([0, 5]), lambda i: tf.sparse.softmax(at(i))),
    "to_indicator": (
        given(1, 5), lambda v: tf.sparse.to_indicator(tf.SparseTensor([[0, 0], [0, 1]], v, [1, 2]), 2)),
    "fill_empty_rows": (given([-1, 0]), lambda i: tf.sparse.fill_empty_rows(at(i), 0.0)[0]),
    "sparse.cross": (
        given(2, 1), lambda s: tf.sparse.cross_hashed([tf.cast(pair(), tf.int64), tf.cast(at([[0, 0]], s), tf.int64)])),
    "segment_sum in no order": (given(1, 0), lambda i: tf.sparse.segment_sum(tf.ones([2, 2]), [0, 1], i)),
    "segment_mean before": (given(-1, 0), lambda i: tf.sparse.segment_mean(tf.ones([2, 2]), [0, 1], i)),
    "segment_sqrt_n past": (given(0, 5), lambda i: tf.sparse.segment_sqrt_n(tf.ones([2, 2]), [0, 1], i, 2)),
    "segment_sum of counts": (given(0), lambda i: tf.sparse.segment_sum(tf.ones([2, 2]), [0, 1], i)),
    "sets.size": (given([0, 1], [0, 0]), lambda i: tf.sets.size(tf.cast(at(i), tf.int32))),
    "sets.union": (nothing(2, 1, dtype=tf.int32), lambda x: tf.sets.union([[1]], x)),
    "from_sparse": (given([0, 0], [0, 2]), lambda i: tf.RaggedTensor.from_sparse(at(i, [1, 3]))),
    "from_sparse after the start": (given([0, 1]), lambda i: tf.RaggedTensor.from_sparse(at(i, [1, 3]))),
    "row_splits": (given(0, 2, 1, 3), lambda i: tf.RaggedTensor.from_row_splits([1, 2, 3], i)),
    "row_splits from 1": (given(1, 3), lambda i: tf.RaggedTensor.from_row_splits([1, 2, 3], i)),
    "row_splits to 2": (given(0, 2), lambda i: tf.RaggedTensor.from_row_splits([1, 2, 3], i)),
    "row_lengths": (given(-1, 4), lambda i: tf.RaggedTensor.from_row_lengths([1, 2, 3], i)),
    "row_starts": (given(0, 5), lambda i: tf.RaggedTensor.from_row_starts([1, 2, 3], i)),
    "row_limits": (given(3, 2), lambda i: tf.RaggedTensor.from_row_limits([1, 2, 3], i)),
    "value_rowids": (given(1, 0), lambda i: tf.RaggedTensor.from_value_rowids([1, 2], i)),
    "value_rowids before": (given(-1, 0), lambda i: tf.RaggedTensor.from_value_rowids([1, 2], i)),
    "value_rowids past": (given(0, 5), lambda i: tf.RaggedTensor.from_value_rowids([1, 2], i, nrows=2)),
    "value_rowids of counts": (given(0), lambda i: tf.RaggedTensor.from_value_rowids([1, 2], i)),
    "uniform rows": (nothing(3), lambda x: tf.RaggedTensor.from_uniform_row_length(x, 2)),
    "partition splits": (given(0, 2, 1), lambda i: rows_of(tf.experimental.RowPartition.from_row_splits(i))),
    "partition rowids": (given(0, 3), lambda i: rows_of(tf.experimental.RowPartition.from_value_rowids(i, nrows=2))),
    "partition values": (
        given(3), lambda n: rows_of(tf.experimental.RowPartition.from_uniform_row_length(0, nvals=n[0]))),
    "dynamic partitions": (given(0, -1), lambda i: tf.ragged.stack_dynamic_partitions([1, 2], i, 2)),
    "gather in rows": (
        given(2**32), lambda i: tf.gather(tf.ragged.constant([[1, 2]], row_splits_dtype=tf.int32), i[None], batch_dims=1)),
    "unravel_index": (given(10), lambda i: tf.unravel_index(i, tf.constant([2, 2], tf.int64))),
    "unravel_index before": (given(-1), lambda i: tf.unravel_index(i, tf.constant([2, 2], tf.int64))),
    "suppression": (
        given(-1, dtype=tf.int32), lambda n: tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0]], [1.0], n[0])),
    "suppression with overlaps": (
        given(-1, dtype=tf.int32), lambda n: tf.image.non_max_suppression_overlaps([[1.0]], [1.0], n[0])),
    "colours": (
        nothing(1, 2, 2, 5), lambda x: tf.image.draw_bounding_boxes(x, [[[0.0, 0.0, 1.0, 1.0]]], tf.ones([1, 5]))),
    "sampled boxes": (
        given([[0.0, 0.0, 2.0, 2.0]], dtype=tf.float32),
        lambda b: tf.image.stateless_sample_distorted_bounding_box([2, 2, 3], b, [1, 2]).begin),
    "encode_wav": (given(-1, dtype=tf.int32), lambda rate: tf.audio.encode_wav([[0.0]], rate[0])),
    "encode_wav of nothing": (nothing(0, 1), lambda x: tf.audio.encode_wav(x, 8000)),
    "decode_base64": (given("abc=====", dtype=tf.string), tf.io.decode_base64),
    "substr": (given(0, 0), lambda i: tf.strings.substr(["abc", "d"], i, tf.constant([1], tf.int64))),
    "lu_solve": (nothing(3, 1), lambda x: tf.linalg.lu_solve(tf.eye(2), [0, 1], x)),
    "lu_reconstruct": (given(0, 5), lambda i: tf.linalg.lu_reconstruct(tf.eye(2), i)),
    "bins": (
        given(0, dtype=tf.int32), lambda n: tf.histogram_fixed_width_bins([1.0], [0.0, 2.0], nbins=n[0])),
}  # fmt: skip

OPEN = {"traced": False, "unknown sizes": True}


def in_mode(mode, x, call):
    if mode == "eager":
        return call(x)
    if mode == "map":
        return next(iter(tf.data.Dataset.from_tensors(x).map(call)))
    signature = [tf.TensorSpec([None] * x.shape.rank, x.dtype)] if OPEN[mode] else None
    return tf.function(call, input_signature=signature)(x)


@pytest.mark.parametrize("mode", ["eager", "traced", "unknown sizes", "map"])
@pytest.mark.parametrize("case", SIZES)
def test_sizes_that_are_nothing_or_too_much(case, mode):
    make, call, wanted = SIZES[case]
    if isinstance(wanted, str):
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=wanted):
            in_mode(mode, make(), call)
    else:
        assert in_mode(mode, make(), call).shape == wanted


@pytest.mark.parametrize("mode", ["eager", "traced", "unknown sizes", "map"])
@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_together(case, mode):
    make, call = WRONG[case]
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        in_mode(mode, make(), call)


def test_sizes_on_a_device(run_python):
    status, output, errors = run_python(
        f"""
        import re
        import sys
        sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
        import tandem as tf
        from test_bad_input import SIZES, WRONG, in_mode

        for name, (make, call, wanted) in SIZES.items():
            for mode in ("eager", "traced"):
                with tf.device("GPU:0"):
                    try:
                        given = in_mode(mode, make(), call).numpy().shape
                        assert given == wanted, (name, mode, given)
                    except (tf.errors.InvalidArgumentError, ValueError) as error:
                        assert isinstance(wanted, str) and re.search(wanted, str(error)), (name, mode, error)
        for name, (make, call) in WRONG.items():
            for mode in ("eager", "traced"):
                with tf.device("GPU:0"):
                    try:
                        tf.nest.map_structure(lambda t: t.numpy(), in_mode(mode, make(), call), expand_composites=True)
                    except (tf.errors.InvalidArgumentError, ValueError):
                        continue
                    raise AssertionError((name, mode))
        print("all", len(SIZES))
        """,
        gpus=2,
    )
    assert status == 0, errors
    assert output.split() == ["all", str(len(SIZES))]


def test_sparse_tensors_that_do_fit():
    """What the checks let pass, in functions of unknown shapes too."""
    repeated = at([[0, 1], [0, 1]])
    assert tf.sparse.reduce_sum(repeated, 1).numpy() == [2]
    assert tf.sparse.reduce_max(repeated, 1).numpy() == [1]
    assert tf.sparse.sparse_dense_matmul(repeated, tf.ones([2, 1])).numpy() == [[2]]
    assert tf.sparse.add(tf.ones([1, 2]), pair()).numpy().tolist() == [[2, 2]]
    assert tf.sparse.add(pair(), at([[0, 1]]), threshold=1.5).indices.numpy().tolist() == [[0, 1]]
    assert tf.sparse.to_dense(at([[0, 1], [0, 0]]), validate_indices=False).numpy().tolist() == [[1, 1]]
    nothing_there = tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [5, 5])
    assert tf.sparse.reset_shape(nothing_there).dense_shape.numpy().tolist() == [0, 0]
    words = tf.sparse.from_dense([["a", ""], ["", "b"]])
    assert tf.sparse.to_dense(words).numpy().tolist() == [[b"a", b""], [b"", b"b"]]

    @tf.function(input_signature=[tf.SparseTensorSpec([None, None])])
    def turned(rows):
        assert rows.shape.rank == 2
        both = tf.sparse.concat(0, [rows, tf.sparse.add(rows, rows)])
        return tf.sparse.to_dense(tf.sparse.expand_dims(tf.sparse.transpose(both), 0))

    assert turned(pair()).numpy().tolist() == [[[1, 2], [1, 2]]]


def test_a_number_of_partitions_is_no_other_number_in_32_bits():
    with pytest.raises(tf.errors.InvalidArgumentError, match="partitions must be less"):
        tf.ragged.stack_dynamic_partitions([1, 2], [0, 1], tf.constant(9 - 2**32, tf.int64))
    rows = tf.ragged.stack_dynamic_partitions([1, 2, 3], [0, 1, 0], tf.constant(2, tf.int64))
    assert rows.to_list() == [[1, 3], [2]]


def test_assertions_take_no_more_than_they_show(monkeypatch):
    """All that they were given came to the host in every run, whether or not they held."""
    from tandem.ops import check

    execute, shapes = check.execute, []

    def noted(op, *args, **kwargs):
        shapes.extend(data.shape for data in args[1]) if op == "Assert" else None
        return execute(op, *args, **kwargs)

    def message(assert_op, x, summarize):
        f = tf.function(lambda x: assert_op(tf.constant(False), [x], summarize=summarize),
                        input_signature=[tf.TensorSpec([None] * x.shape.rank, x.dtype)])  # fmt: skip
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            f(x)
        return error.value.message.splitlines()[0].split("[[{{")[0]

    def whole(condition, data, summarize):
        execute("Assert", condition, data, summarize=3 if summarize is None else summarize)

    monkeypatch.setattr(check, "execute", noted)
    for sizes in ([], [3], [4], [5], [2, 2], [9, 1], [1, 9], [9, 9], [2, 2, 9], [9, 2, 2]):
        x = tf.reshape(tf.range(int(np.prod(sizes))), sizes)
        for summarize in (None, 0, 5, -1):
            assert message(tf.debugging.Assert, x, summarize) == message(whole, x, summarize)
    assert message(tf.debugging.Assert, tf.constant(["a"] * 9), None) == message(whole, tf.constant(["a"] * 9), None)
    shapes.clear()
    tf.function(lambda x: tf.debugging.assert_less(x, 5))(tf.zeros([100, 200]))
    assert all(max(shape, default=0) <= 4 for shape in shapes) and [4, 4] in shapes


def test_a_check_of_indices_that_are_one_tensor_is_left_out(monkeypatch):
    from tandem.framework import sparse

    compared = []
    monkeypatch.setattr(sparse.check, "assert_equal", lambda x, y, **kwargs: compared.append((x, y)))
    one = pair()
    assert tf.sparse.map_values(tf.add, one, one.with_values([1.0, 2.0])).values.numpy().tolist() == [2.0, 3.0]
    assert not compared
    tf.sparse.map_values(tf.add, one, pair())
    assert len(compared) == 1


def test_errors_of_rows_name_what_was_made():
    for made, name in ((tf.RaggedTensor, "RaggedTensor"), (tf.experimental.RowPartition, "RowPartition")):
        values = [[1, 2]] if made is tf.RaggedTensor else []
        for call, wrong in ((made.from_row_splits, [0, 2, 1]), (made.from_value_rowids, [1, 0])):
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=f"do not form a valid {name}"):
                call(*values, wrong)


def test_sparse_sizes():
    assert tf.sparse.eye(2**63 - 1, 3).dense_shape.numpy().tolist() == [2**63 - 1, 3]
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError)):
        tf.sparse.eye(2**63 - 1)
    pair = tf.sparse.from_dense([[1, 2]])
    assert tf.sparse.reshape(pair, [2, -1]).indices.numpy().tolist() == [[0, 0], [1, 0]]
    reshape = tf.function(lambda shape: tf.sparse.reshape(tf.sparse.from_dense([[1, 2]]), shape).indices)
    for shape in ([3], [-1, -1], [-2], [-1, 3], [0], [0, -1], [2**62, 2**62], [[2]]):
        for call in (lambda s: tf.sparse.reshape(pair, s), lambda s: reshape(tf.constant(s, tf.int64))):
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
                call(shape)


def test_the_number_of_inputs_is_checked_while_tracing():
    for traced in (False, True):
        call = tf.function(lambda x: tf.experimental.numpy.add(x)) if traced else tf.experimental.numpy.add
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x2'"):
            call(1.0)
    core = tf._core
    for name in core.op_names():
        described = core.op(name).describe()
        inputs = described["inputs"]
        if not inputs or inputs[0]["list"] or inputs[0]["optional"] or inputs[0]["resource"]:
            continue
        for call in (lambda n: core.execute(n), tf.function(lambda n: core.execute(n), autograph=False)):
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError)):
                call(name)


def test_a_branch_that_is_not_taken_may_be_wrong():
    @tf.function
    def padded(flag, x):
        return tf.cond(flag, lambda: tf.pad(x, [[2**40, -1]]), lambda: x + 1)

    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        padded(tf.constant(True), tf.ones([2]))


# ---- Loops over datasets that AutoGraph does not convert end in an error


def generator_over(rows):
    yield from rows


def unconverted(text):
    made = {}
    exec(text, made)  # noqa: S102  a function without a source
    return made["loop"]


UNROLLED = {
    "no source": unconverted("def loop(rows):\n  total = 0\n  for row in rows: total += row\n  return total"),
    "comprehension": lambda rows: [row for row in rows],
    "list": lambda rows: list(rows),
    "generator": lambda rows: [row for row in generator_over(rows)],
    "sum": lambda rows: sum(rows),
    "enumerate of an iterator": lambda rows: [row for row in enumerate(iter(rows))],
}


@pytest.mark.parametrize("autograph", [True, False])
@pytest.mark.parametrize("how", UNROLLED)
def test_loops_that_would_never_end(how, autograph):
    rows = tf.data.Dataset.range(50)
    with pytest.raises(ValueError, match="unusually high number of `tf.data.Iterator.get_next"):
        tf.function(UNROLLED[how], autograph=autograph)(rows)
    with pytest.raises(ValueError, match="unusually high number"):
        tf.function(lambda: UNROLLED[how](rows), autograph=autograph)()
    with pytest.raises(ValueError, match="unusually high number"):
        list(rows.take(2).map(tf.autograph.experimental.do_not_convert(lambda x: UNROLLED[how](rows))))


def test_elements_that_a_function_takes_one_by_one():
    rows = tf.data.Dataset.range(100)

    @tf.function
    def converted(rows):
        iterator, total = iter(rows), tf.constant(0, tf.int64)
        for _ in range(40):
            total += next(iterator)
        for row in iterator:
            total += row
        return total

    assert converted(rows) == 4950

    @tf.function(autograph=False)
    def three(rows):
        iterator = iter(rows)
        return next(iterator) + next(iterator) + next(iterator)

    assert three(rows) == 3


@pytest.mark.parametrize("gpus", [0, 2])
def test_loops_over_distributed_datasets(run_python, gpus):
    status, output, errors = run_python(
        """
        import tandem as tf

        strategy = tf.distribute.MirroredStrategy()
        count = strategy.num_replicas_in_sync
        rows = tf.data.Dataset.range(10).map(lambda x: tf.cast(x, tf.float32))

        def step(batch):
            return strategy.reduce("SUM", strategy.run(tf.reduce_sum, (batch,)), axis=None)

        @tf.function
        def epoch(batches):
            total, steps = 0.0, 0
            for batch in batches:
                total += step(batch)
                steps += 1
            return total, steps

        @tf.function
        def two(batches):
            total, steps = 0.0, 0
            for batch in batches:
                if steps == 2:
                    break
                total += step(batch)
                steps += 1
            return total, steps

        @tf.function
        def by_hand(batches):
            return step(next(batches)) + step(batches.get_next())

        cut = strategy.experimental_distribute_dataset(rows.batch(4))
        own = strategy.distribute_datasets_from_function(lambda context: rows.batch(4))
        for batches in (cut, own):
            expected = [step(batch).numpy() for batch in batches]
            for given in (batches, iter(batches)):
                total, steps = epoch(given)
                assert total == 45 and steps == len(expected), (total, steps, expected)
            total, steps = two(batches)
            assert total == sum(expected[:2]) and steps == min(2, len(expected)), (total, steps, expected)
            assert by_hand(iter(batches)) == sum(expected[:2])
            assert len(epoch.pretty_printed_concrete_signatures()) > 0

        try:
            tf.function(epoch.python_function, autograph=False)(cut)
        except ValueError as error:
            print("refused", "unusually high number" in str(error))
        """,
        gpus=gpus,
    )
    assert status == 0, errors
    assert output.split() == ["refused", "True"]


# ---- What the fuzzer of calls found: other classes than TensorFlow's

REFUSED = {
    "dynamic_stitch of fewer tensors": lambda: tf.dynamic_stitch([[0], [1]], [[1.0]]),
    "dynamic_stitch of nothing": lambda: tf.dynamic_stitch([], []),
    "dynamic_stitch of other rows": lambda: tf.dynamic_stitch([[0, 1]], [[1.0]]),
    "dynamic_stitch to negative places": lambda: tf.dynamic_stitch([[-1]], [[1.0]]),
    "fftshift": lambda: tf.signal.fftshift(tf.ones([3]), 5),
    "ifftshift": lambda: tf.signal.ifftshift(tf.ones([3]), 10**30),
    "rfftnd": lambda: tf.signal.rfftnd(tf.ones([3]), axes=[]),
    "irfftnd": lambda: tf.signal.irfftnd(tf.constant(1j)),
    "frame of a scalar": lambda: tf.signal.frame(tf.constant(1.0), 4, 2),
    "frame without a step": lambda: tf.signal.frame(tf.ones([8]), 4, 0),
    "overlap_and_add": lambda: tf.signal.overlap_and_add(tf.ones([3]), 2),
    "inverse_stft": lambda: tf.signal.inverse_stft(tf.constant(1j), 4, 2),
    "inverse window": lambda: tf.signal.inverse_stft_window_fn(0)(4),
    "dct": lambda: tf.signal.dct(2.0),
    "idct": lambda: tf.signal.idct(tf.ones([3]), n=0),
    "mdct": lambda: tf.signal.mdct(tf.ones([8]), 0),
    "inverse_mdct": lambda: tf.signal.inverse_mdct(tf.constant(1.0)),
    "mfccs": lambda: tf.signal.mfccs_from_log_mel_spectrograms(tf.constant(1.0)),
    "rgb_to_grayscale": lambda: tf.image.rgb_to_grayscale(1.0),
    "grayscale_to_rgb": lambda: tf.image.grayscale_to_rgb(1.0),
    "ssim": lambda: tf.image.ssim(0.0, 0.0, 1.0),
    "extract_glimpse": lambda: tf.image.extract_glimpse(tf.ones([2]), [2, 2], [[0.0, 0.0]]),
    "extract_patches": lambda: tf.image.extract_patches(tf.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 0, 1, 1], [1] * 4, "SAME"),
    "resize_with_pad": lambda: tf.image.resize_with_pad(tf.ones([4, 4, 1]), 5, 0),
    "dilation2d": lambda: tf.nn.dilation2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1]), [], "SAME", "NHWC", [1] * 4),
    "collapse_repeated": lambda: tf.nn.collapse_repeated([], 1),
    "isotonic_regression": lambda: tf.nn.isotonic_regression(1.0),
    "sufficient_statistics": lambda: tf.nn.sufficient_statistics(tf.ones([3]), 7),
    "approx_max_k": lambda: tf.math.approx_max_k(1.0, 3),
    "moveaxis": lambda: tf.experimental.numpy.moveaxis(1.0, 0, 2),
    "swapaxes": lambda: tf.experimental.numpy.swapaxes(tf.ones([3]), 1, 0),
    "arange": lambda: tf.experimental.numpy.arange(0, 10, 0),
    "split": lambda: tf.function(lambda n: tf.split(tf.constant(1.0), n, num=1))(tf.constant([1])),
    "diag_part": lambda: tf.linalg.diag_part(tf.ones([3, 3]), k=[]),
    "paddings": lambda: tf.required_space_to_batch_paddings([5], [0]),
    "a ragged position": lambda: tf.strings.substr(tf.constant("abc"), tf.ragged.constant([[1], []]), 1),
    "sparse.concat": lambda: tf.sparse.concat(0, tf.ones([3])),
    "cross entropy": lambda: tf.nn.softmax_cross_entropy_with_logits(tf.ones([2, 3, 4]), 3.0, axis=2),
    "norm": lambda: tf.norm(1.0, 1, axis=[0, 1]),
    "searchsorted": lambda: tf.searchsorted(1.0, [1.0]),
    "sparse counts": lambda: tf.SparseTensor([[0, 0]], [1, 2], [1, 2]),
    "sparse ranks": lambda: tf.SparseTensor([[0, 0, 0]], [1], [1, 2]),
    "sparse shape": lambda: tf.SparseTensor([[0]], [1], 2),
    "values of ragged rows": lambda: tf.ragged.constant([[1], [2, 3]]).with_values([1, 2]),
    "splits that are no integers": lambda: tf.RaggedTensor.from_row_splits([1, 2], [0.0, 2.0]),
    "no splits": lambda: tf.RaggedTensor.from_row_splits([1, 2], []),
    "default of ragged rows": lambda: tf.ragged.constant([[1], [2, 3]]).to_tensor(default_value=[0]),
    "map": lambda: tf.data.Dataset.range(3).map(lambda x: x, num_parallel_calls=0),
    "map of floats": lambda: tf.data.Dataset.range(3).map(lambda x: x, num_parallel_calls=2.5),
    "parallel batch": lambda: tf.data.Dataset.range(3).batch(2, num_parallel_calls=0),
    "interleave": lambda: tf.data.Dataset.range(3).interleave(tf.data.Dataset.range, num_parallel_calls=-3),
    "map_and_batch": lambda: tf.data.experimental.map_and_batch(lambda x: x, 2, num_parallel_batches=0),
    "batch": lambda: tf.data.Dataset.range(3).batch([2]),
    "take": lambda: tf.data.Dataset.range(3).take(tf.constant([1], tf.int64)),
    "take of two": lambda: tf.data.Dataset.range(3).take(tf.Variable([1, 2], dtype=tf.int64)),
    "take of nothing": lambda: tf.data.Dataset.range(3).take(tf.Variable(tf.zeros([0], tf.int64))),
    "take of a shape": lambda: tf.data.Dataset.range(3).take(tf.TensorShape(None)),
    "shuffle": lambda: tf.data.Dataset.range(3).shuffle(-1),
    "prefetch": lambda: tf.data.Dataset.range(3).prefetch(1.5),
    "rebatch": lambda: tf.data.Dataset.range(4).batch(2).rebatch([]),
    "snapshot": lambda: tf.data.Dataset.range(3).snapshot("unused", compression="ZZZ"),
    "TextLineDataset": lambda: tf.data.TextLineDataset("unused", buffer_size=-1),
    "CsvDataset": lambda: tf.data.experimental.CsvDataset("unused", []),
    "cache": lambda: tf.data.Dataset.range(3).cache(5),
    "channels of a PNG": lambda: tf.io.decode_png(tf.io.encode_png(tf.ones([2, 2, 3], tf.uint8)), channels=2),
    "shape of a JPEG": lambda: tf.io.extract_jpeg_shape("", output_type=tf.float32),
    "channels of sound": lambda: tf.audio.decode_wav("", desired_channels=-3),
    "samples of sound": lambda: tf.audio.decode_wav("", desired_samples=-5),
    "area": lambda: tf.image.sample_distorted_bounding_box([2, 2, 3], [[[0.0, 0.0, 1.0, 1.0]]], area_range=[0.5, 2.0]),
    "attempts": lambda: tf.image.sample_distorted_bounding_box([2, 2, 3], [[[0.0, 0.0, 1.0, 1.0]]], max_attempts=0),
    "sigma": lambda: tf.image.non_max_suppression_with_scores([[0.0, 0.0, 1.0, 1.0]], [1.0], 1, soft_nms_sigma=-1.0),
    "glimpse of -1": lambda: tf.image.extract_glimpse(tf.ones([1, 2, 2, 1]), [-1, 1], [[0.0, 0.0]]),
    "replacement_char": lambda: tf.strings.unicode_decode("a", "UTF-8", replacement_char=0x110000),
    "overlap_and_add of 0": lambda: tf.signal.overlap_and_add(tf.ones([2, 2]), 0),
    "fftnd": lambda: tf.signal.fftnd(tf.ones([4], tf.complex64), fft_length=[4, 4]),
    "dct of one": lambda: tf.signal.dct(tf.ones([1]), type=1),
    "mel bins": lambda: tf.signal.linear_to_mel_weight_matrix(0),
    "mel dtype": lambda: tf.signal.linear_to_mel_weight_matrix(2, dtype=tf.int32),
    "binary bincount": lambda: tf.math.bincount([1], weights=[1], binary_output=True),
    "encoding": lambda: tf.strings.unicode_transcode("a", "UTF-8", 3),
    "pad mode": lambda: tf.pad([1], [[1, 1]], mode=tf.float32),
    "norm to use": lambda: tf.clip_by_global_norm([tf.ones([2])], lambda x: x, 1j),
    "lengths of rows": lambda: tf.RaggedTensor.from_tensor(tf.ones([4, 4]), lengths=2**32),
    "bins": lambda: tf.signal.linear_to_mel_weight_matrix(2**63),
    "steps of frames": tf.function(lambda: tf.signal.frame(tf.zeros([tf.random.uniform([], 9, 10, tf.int32)]), 4, 2**32 + 3)),
    "patches of a far rate": lambda: tf.image.extract_patches(
        tf.ones([1, 9, 11, 3]), [1, 3, 2, 1], [1, 2, 3, 1], [1, 7, 1, 1], "VALID"
    ),
    "patches of a far rate, of an image of any size": lambda: tf.function(
        lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 3, 1], [1, 7, 1, 1], "VALID"),
        input_signature=[tf.TensorSpec([None] * 4)],
    )(tf.ones([1, 9, 11, 3])),
    "strides of 2**40": lambda: tf.nn.erosion2d(
        tf.ones([1, 4, 4, 2]), tf.ones([3, 3, 2]), [1, 2**40, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]
    ),
    "a batch of 1e30": lambda: tf.data.Dataset.range(9).bucket_by_sequence_length(lambda x: x, [3, 6], [2, 2, 1e30]),
    "a boundary of 2**63": lambda: tf.data.Dataset.range(9).bucket_by_sequence_length(lambda x: x, [2**63, 6], [2, 2, 2]),
    "blocks that are no vector": lambda: tf.required_space_to_batch_paddings([3], -2),
    "a step of 10**30": lambda: tf.signal.stft(tf.ones([13]), 4, 10**30),
    "a window of 2**32": lambda: tf.signal.inverse_stft_window_fn(2**32)(8, tf.float32),
    "an axis of 2**32": lambda: tf.experimental.numpy.linspace(2, tf.zeros([2, 4]), axis=2**32 + 3),
    "a numpy range": lambda: tf.experimental.numpy.arange(2**62, step=2**16),
    "a range": lambda: tf.constant(range(2**63 - 1)),
    "a range of more than there can be": lambda: tf.linalg.tridiagonal_matmul(tf.ones([3, 4]), range(10**30)),
    "a folder of numbers": lambda: tf.io.gfile.listdir(tf.ones([3])),
    "a folder that is not known": lambda: tf.function(tf.io.gfile.listdir, autograph=False)(tf.constant("a")),
    "eigenvalues": lambda: tf.linalg.eigh_tridiagonal(tf.ones([3]), tf.ones([2]), select="i", select_range=[2, 1]),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_classes_of_what_is_refused(call):
    with pytest.raises((ValueError, TypeError, tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError)):
        call()


def test_what_a_pass_finds_to_be_wrong():
    pad = tf.function(
        lambda x: tf.image.pad_to_bounding_box(x, -1, 1, 9, 9), input_signature=[tf.TensorSpec([None, None, None, None])]
    )
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        pad(tf.ones([1, 4, 4, 1]))


def test_memory_that_a_kernel_asks_for():
    """What does not fit is ResourceExhaustedError, wherever the memory was asked for."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    signal = tf.zeros([1, 2**24 + 1], tf.complex64)
    resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20), before[1]))
    try:
        with pytest.raises(tf.errors.ResourceExhaustedError):
            tf.signal.fft(signal)  # a size with a large factor: tables of several times its length
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
