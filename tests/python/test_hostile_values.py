"""Values that are right in kind and far out in size: numbers with no double for their distance, images with more rows
than a float counts, structures without end, shapes whose outer sizes are huge and whose inner size is zero."""

import collections
import math
import os
import pathlib
import warnings

import numpy as np
import pytest

import tandem as tf
from tandem._core import execute

GUARDED = {"TANDEM_GUARD_PAGES": "1"}  # what reads past an end faults


# ---- Places computed from floats


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("buckets", [1, 2, 30])
def test_histogram_of_the_whole_range(traced, buckets):
    largest = np.finfo(np.float64).max
    data = np.array([-largest, -1.0, 0.0, 1.0, largest / 2, largest, np.nan, np.inf])

    def histogram(x):
        return execute("SummaryHistogram", x, buckets=buckets)

    rows = (tf.function(histogram) if traced else histogram)(tf.constant(data)).numpy()
    assert np.isfinite(rows).all() and rows[:, 2].sum() == 6
    assert rows[0, 0] == -largest and rows[-1, 1] == largest
    assert (rows[:-1, 1] == rows[1:, 0]).all() and (rows[:, 0] <= rows[:, 1]).all()
    if buckets == 30:
        assert rows[0, 2] == 1 and rows[-1, 2] == 1 and rows[22, 2] == 1


@pytest.mark.parametrize("seed", range(5))
def test_histogram_counts_as_numpy_does(seed):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=1000) * 10.0 ** rng.integers(-300, 300)
    rows = execute("SummaryHistogram", tf.constant(data), buckets=30).numpy()
    counts, edges = np.histogram(data, 30)
    np.testing.assert_allclose(rows[:, 0], edges[:-1], rtol=1e-12, atol=np.abs(data).max() * 1e-13)
    assert np.abs(rows[:, 2] - counts).sum() <= 2  # one that lies on an edge


@pytest.mark.parametrize("gpus", [0, 1])
def test_histogram_of_a_range_without_numbers_for_it(run_python, gpus):
    """Distances that the dtype does not have: the bin was no number, or negative."""
    status, out, err = run_python(
        """
        import numpy as np, tandem as tf
        inf = np.inf
        for dtype in (np.int32, np.int64, np.float32, np.float64):
            about = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
            least, most = about.min, about.max
            values = np.array([least, least // 4, most // 8, most // 4 * 3, most], dtype)
            found = tf.histogram_fixed_width(values, np.array([least, most], dtype), nbins=4).numpy()
            assert found.tolist() == [1, 1, 1, 2], (dtype, found)
            ranges = [(least, most), (least, 0), (0, most)]
            ranges += [(-inf, inf), (-inf, 0), (0, inf)] if dtype in (np.float32, np.float64) else []
            for low, high in ranges:
                found = tf.histogram_fixed_width(values, np.array([low, high], dtype), nbins=5).numpy()
                assert found.sum() == 5 and (found >= 0).all(), (dtype, low, high, found)
        # Numbers that a double cannot tell apart.
        for low in (2**60, -(2**62) - 5):
            found = tf.histogram_fixed_width(low + np.arange(10), np.array([low, low + 10]), nbins=5).numpy()
            assert found.tolist() == [2] * 5, found
        """,
        gpus=gpus,
        env=GUARDED,
    )
    assert status == 0, out + err


SIDE = (1 << 24) + 8  # the last row but one is a float, the last is not


@pytest.mark.parametrize("kind", ["bilinear", "nearest"])
@pytest.mark.parametrize("gpus", [0, 1])
def test_crops_of_more_rows_than_a_float_counts(run_python, kind, gpus):
    status, out, err = run_python(
        f"""
        import numpy as np, tandem as tf
        for side in ({SIDE}, {SIDE + 1}, {SIDE + 2}, {SIDE + 3}):
            image = np.zeros([1, side, 1, 1], np.uint8)
            image[0, -4:] = 7
            for sides in ((side, 1), (1, side)):
                x = tf.constant(image.reshape(1, *sides, 1))
                boxes = tf.constant([[0.9999999, 0.9999999, 1.0, 1.0]])
                crop = tf.image.crop_and_resize(x, boxes, [0], [2, 2], method="{kind}").numpy()
                assert set(crop.ravel()) <= {{0.0, 7.0}} and crop.ravel()[-1] == 7, crop
            x = tf.constant(image.astype(np.float32))
            boxes = tf.constant([[1.0, 0.0, 1.0, 0.0]])
            with tf.GradientTape() as tape:
                tape.watch([x, boxes])
                crop = tf.image.crop_and_resize(x, boxes, [0], [1, 1], method="{kind}")
            to_image, to_boxes = tape.gradient(crop, [x, boxes])
            assert tf.reduce_sum(to_image).numpy() == 1, to_image
        """,
        gpus=gpus,
        env=GUARDED,
    )
    assert status == 0, out + err


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "area", "lanczos3"])
def test_resizing_more_rows_than_a_float_counts(run_python, method):
    status, out, err = run_python(
        f"""
        import numpy as np, tandem as tf
        for side in ({SIDE + 1}, {SIDE + 3}):
            image = tf.ones([1, side, 1, 1], tf.uint8)
            for rows in (1, 3, 4):
                small = tf.image.resize(image, [rows, 1], method="{method}")
                np.testing.assert_allclose(small.numpy().ravel(), 1, rtol=0.02)
        if "{method}" in ("bilinear", "nearest"):
            op = dict(bilinear="ResizeBilinear", nearest="ResizeNearestNeighbor")["{method}"]
            for ends in (dict(align_corners=True), dict(), dict(half_pixel_centers=True)):
                same = tf._core.execute(op, image, [side, 1], **ends)
                assert same.shape == image.shape and (same.numpy() == 1).all()
        """,
        env=GUARDED,
    )
    assert status == 0, out + err


# ---- The ends of a dtype, and infinities below them


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int64])
def test_the_lowest_elements_of_sparse_tensors(dtype):
    low = -math.inf if dtype.is_floating else dtype.min
    rows = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], tf.constant([low, low, 3], dtype), [3, 3])
    assert tf.sparse.reduce_max(rows, 1).numpy().tolist() == [low, 3, 0]
    both = tf.sparse.maximum(rows, rows)
    assert both.indices.numpy().tolist() == rows.indices.numpy().tolist()
    assert both.values.numpy().tolist() == [low, low, 3]
    other = tf.SparseTensor([[0, 0]], tf.constant([1], dtype), [3, 3])
    assert tf.sparse.minimum(rows, other).values.numpy().tolist() == [0, low, low, 0]


def test_dilation_of_the_lowest():
    """What is beyond the edge is below all sums; it was another number, to which the filter was added."""

    def dilated(value, dtype, filter_value):
        image = tf.fill([1, 3, 3, 1], tf.constant(value, dtype))
        filters = tf.fill([2, 2, 1], tf.constant(filter_value, dtype))
        return set(tf.nn.dilation2d(image, filters, [1] * 4, "SAME", "NHWC", [1] * 4).numpy().ravel().tolist())

    assert dilated(-5, tf.int32, -3) == {-8}
    assert dilated(-math.inf, tf.float32, 0) == {-math.inf}
    assert dilated(-(2.0**120), tf.float32, 0) == {-(2.0**120)}
    assert dilated(-1e308, tf.float64, -1e307) == {-1e308 - 1e307}


def test_bounds_that_are_not_there():
    values = np.array([-np.inf, -5, 5, np.inf], np.float32)
    assert tf.experimental.numpy.clip(values, None, 1).numpy().tolist() == [-np.inf, -5, 1, 1]
    assert tf.experimental.numpy.clip(values, -1, None).numpy().tolist() == [-1, -1, 5, np.inf]
    with pytest.raises(ValueError, match="Not more than one"):
        tf.experimental.numpy.clip(values, None, None)


# ---- Structures without end


def nested(depth, make=lambda inner: [inner]):
    value = make(1)
    for _ in range(depth):
        value = make(value)
    return value


def holds_itself():
    value = []
    value.append(value)
    return value


ENDLESS = {
    "list": lambda: nested(100_000),
    "tuple": lambda: nested(100_000, lambda inner: (inner,)),
    "dict": lambda: nested(100_000, lambda inner: {"a": inner}),
    "ordered": lambda: nested(100_000, lambda inner: collections.OrderedDict(a=inner)),
    "itself": holds_itself,
}
USES = {
    "argument": lambda value: tf.function(lambda a: 1)(value),
    "keyword": lambda value: tf.function(lambda a: 1)(a=value),
    "convert": tf.convert_to_tensor,
    "zeros": tf.zeros,
    "reshape": lambda value: tf.reshape(tf.zeros([4]), value),
    "add": lambda value: tf.zeros([4]) + value,
    "index": lambda value: tf.zeros([4])[value],
    "gather": lambda value: tf.gather(tf.zeros([4]), value),
    "stack": lambda value: tf.stack([tf.zeros([2]), value]),
    "result": lambda value: tf.function(lambda: value)(),
    "dataset": tf.data.Dataset.from_tensors,
    "variable": tf.Variable,
    "attribute": lambda value: execute("Sum", tf.zeros([4]), axis=value),
}


@pytest.mark.parametrize("use", USES)
def test_structures_without_end(run_python, use):
    """In a process of its own: what this is about ended it."""
    status, out, err = run_python(
        f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import test_hostile_values as cases
        for kind, make in cases.ENDLESS.items():
            try:
                cases.USES[{use!r}](make())
            except (RecursionError, ValueError, TypeError, cases.tf.errors.InvalidArgumentError):
                print(kind)
        """
    )
    assert (status, out.split()) == (0, list(ENDLESS)), err


def test_structures_that_are_deep_are_taken():
    value = nested(100)
    calls = []

    @tf.function
    def f(a):
        calls.append(1)
        return 1

    assert f(value).numpy() == f(nested(100)).numpy() == 1 and len(calls) == 1


# ---- Work for nothing


CASES = pathlib.Path(__file__).with_name("endless_cases.py")


@pytest.mark.parametrize("gpus", [0, 1])
def test_work_for_nothing(run_python, gpus):
    """In a process of its own, which has minutes: what forgets to leave such work out takes years."""
    status, out, err = run_python(
        f"import pytest, sys; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(CASES)!r}]))", gpus=gpus
    )
    assert status == 0, out + err


def tables():
    entries = tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1], tf.int64), tf.constant([1, 2], tf.int64))
    words = tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([0], tf.int64))
    return {
        "static": tf.lookup.StaticHashTable(entries, -1),
        "vocabulary": tf.lookup.StaticVocabularyTable(words, 1),
        "mutable": tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1),
        "dense": tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, -1, -2),
    }


@pytest.mark.parametrize("use", [iter, list, lambda table: 3 in table], ids=["iter", "list", "in"])
@pytest.mark.parametrize("name", ["static", "vocabulary", "mutable", "dense"])
def test_tables_are_no_sequences(name, use):
    with pytest.raises(TypeError, match="not iterable"):
        use(tables()[name])


def public_classes():
    """Classes under `tf`, but Keras's."""
    found, waiting, seen = {}, [("tf", tf)], set()
    while waiting:
        path, module = waiting.pop()
        if id(module) in seen or "keras" in path:
            continue
        seen.add(id(module))
        for name in dir(module):
            value = None if name.startswith("_") else getattr(module, name, None)
            if isinstance(value, type) and value.__module__.startswith("tandem"):
                found.setdefault(value, f"{path}.{name}")
            elif type(value) is type(tf) and value.__name__.startswith("tandem"):
                waiting.append((f"{path}.{name}", value))
    return found


def test_what_has_items_says_how_it_is_iterated():
    """Python asks an object with items and no __iter__ for one after the other, until an IndexError."""
    ends = {"tf.experimental.DynamicRaggedShape"}  # with an IndexError
    for kind, name in public_classes().items():
        if hasattr(kind, "__getitem__") and name not in ends:
            assert hasattr(kind, "__iter__"), name


# ---- Windows and seeds


def test_a_gradient_of_rows_of_nothing(run_python):
    """What is picked along an axis behind one without elements: nothing is written."""
    status, _, err = run_python(
        """
        import tandem as tf
        x = tf.zeros([1, 0, 11, 3])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.gather(x, tf.zeros([8], tf.int32), axis=2)
        assert tape.gradient(y, x).shape == (1, 0, 11, 3)
        """,
        env=GUARDED,
    )
    assert status == 0, err


@pytest.mark.parametrize("pool", ["avg_pool3d", "max_pool3d"])
def test_a_window_far_larger_than_the_image(pool):
    x = tf.ones([1, 4, 4, 4, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(tf.nn, pool)(x, 2**31 - 1, 1, "SAME")
    assert (y.numpy() == 1).all()
    assert tf.reduce_sum(tape.gradient(y, x)).numpy() == pytest.approx(128)


@pytest.mark.parametrize("seed", [10**30, 2**64 + 5])
def test_seeds_of_any_length(seed):
    """TensorFlow's numbers."""
    wanted = {10**30: [-0.94513637, 0.7461402], 2**64 + 5: [-0.5358444, -0.09979788]}[seed]
    assert tf.random.Generator.from_seed(seed).normal([2]).numpy() == pytest.approx(wanted, rel=1e-5)


def test_seeds_that_are_lists():
    assert tf.random.Generator.from_seed([7]).state.numpy().tolist() == [0, 0, 7]
    assert tf.random.Generator.from_seed(-1).state.numpy().tolist() == [-1, -1, -1]


def test_the_norm_of_infinite_complex_numbers():
    norm = tf.math.reduce_euclidean_norm(tf.constant([-0.9, 0.1, math.inf], tf.complex128)).numpy()
    assert norm.real == math.inf and math.isnan(norm.imag)


def test_decompositions_of_what_is_infinite():
    q, r = tf.linalg.qr(tf.constant([[1.0, math.inf, 1.0], [2.0, 3.0, 1.0], [4.0, 5.0, 2.0]]))
    assert np.isfinite(q.numpy()[:, 0]).all() and np.isnan(q.numpy()[:, 1:]).all()
    assert math.isinf(r.numpy()[1, 1]) and np.isnan(r.numpy()[[0, 1, 2], [1, 2, 2]]).all()


@pytest.mark.parametrize("ddof", range(5))
def test_variances_of_few_degrees_of_freedom(ddof):
    values = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])
    for axis in (None, 0):
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            wanted = np.var(values, axis=axis, ddof=ddof)
        assert tf.experimental.numpy.var(tf.constant(values), axis=axis, ddof=ddof).numpy() == pytest.approx(wanted)
    assert math.isnan(tf.experimental.numpy.var(tf.constant(1.0), ddof=1).numpy())


def test_norms_of_no_tensors():
    assert tf.linalg.global_norm([]).numpy() == tf.linalg.global_norm([None]).numpy() == 0.0
    clipped, norm = tf.clip_by_global_norm([None], 1.0)
    assert clipped == [None] and norm.numpy() == 0.0
    with pytest.raises(TypeError, match="sequence"):
        tf.linalg.global_norm(tf.ones([2]))


@pytest.mark.parametrize("shape, total", [([0, 3], [1]), ([3, 0], [4]), ([2, 0, 3], [2, 1]), ([2, 3, 0], [2, 4]), ([0, 2, 3], [0, 5])])
def test_frames_of_nothing_are_added(shape, total):
    added = tf.signal.overlap_and_add(tf.zeros(shape), 2)
    assert added.shape == total and not added.numpy().any()


def test_matrices_of_nothing_have_an_exponential():
    for shape in ([2, 0, 0], [0, 0], [0, 2, 2]):
        assert tf.linalg.expm(tf.zeros(shape)).shape == shape


@pytest.mark.parametrize("number", [1e30, 2.5, 2.0, float("inf"), float("nan")])
def test_lengths_that_are_no_integers(number):
    x = tf.range(13.0)
    calls = [
        lambda: tf.math.bincount([1, 2], minlength=number),
        lambda: tf.math.bincount([1, 2], maxlength=number),
        lambda: tf.signal.stft(x, 8, number),
        lambda: tf.signal.stft(x, number, 2),
        lambda: tf.signal.frame(x, 4, number),
        lambda: tf.signal.overlap_and_add(x[None], number),
        lambda: tf.signal.dct(x, n=number),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()
        with pytest.raises(TypeError):
            tf.function(call, autograph=False)()
    with pytest.raises(tf.errors.InvalidArgumentError, match="int64"):
        tf.signal.frame(x, 4, 2**70)


def test_what_is_said_of_values_that_differ():
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        tf.debugging.assert_none_equal([1.0, 2.0], [3.0, 2.0], message=["m"])
    assert error.value.message == (
        "['m']\nCondition x != y did not hold.\nIndices of first 1 different values:\n[[1]]\nCorresponding x values:\n"
        "[2.]\nCorresponding y values:\n[2.]\nFirst 2 elements of x:\n[1. 2.]\nFirst 2 elements of y:\n[3. 2.]"
    )
    for check in (tf.debugging.assert_none_equal, tf.debugging.assert_less):
        call = lambda: check([1.0, 3.0], [2.0, 4.0], summarize=[None])  # noqa: B023, E731
        for run in (call, tf.function(call, autograph=False)):
            with pytest.raises(TypeError):
                run()


def test_convolutions_that_step_beyond_their_input():
    """oneDNN has no primitive for them."""
    x, kernel = tf.random.uniform([1, 16, 18, 2]), tf.random.uniform([3, 3, 1, 4])
    padding = [[0, 0], [1, 2], [2, 1], [0, 0]]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, kernel])
        far, near = (tf.nn.conv2d(x, kernel, stride, padding) for stride in (2**31 - 1, 19))
    np.testing.assert_allclose(far, near, rtol=1e-5)
    for one, other in zip(tape.gradient(far, [x, kernel]), tape.gradient(near, [x, kernel])):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("expression", [
    "tf.gather(tf.ones([1, 0, 11, 2]), [0, 1, 3, 4, 6], axis=2)",
    "tf.gather(tf.ones([0, 300]), [0, 1, 3, 299], axis=1)",
    "tf.gather(tf.ones([0, 300]), tf.zeros([0, 4], tf.int64), axis=1, batch_dims=1)",
    "tf.nn.depthwise_conv2d(tf.ones([2, 3, 4, 0]), tf.ones([2, 2, 0, 3]), [1, 1, 1, 1], 'SAME')",
])  # fmt: skip
def test_gradients_of_no_groups_write_nothing(expression, run_python):
    """Of no groups the sums of gathered rows wrote one, beyond the memory they had; no channels were divided by."""
    status, out, err = run_python(
        f"""
        import tandem as tf

        def gradient(function):
            with tf.GradientTape() as tape:
                x = tf.constant(2.0)
                tape.watch(x)
                y = function(x)
            return tape.gradient(y, x)

        ones = tf.ones

        def scaled(x):
            tf.ones = lambda shape: ones(shape) * x
            try:
                return {expression}
            finally:
                tf.ones = ones

        for _ in range(3):
            print(float(gradient(scaled)), float(gradient(tf.function(scaled, autograph=False))))
        """,
        env=GUARDED,
    )
    assert status == 0 and out == "0.0 0.0\n" * 3, err
