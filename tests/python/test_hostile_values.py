"""Values that are right in kind and far out in size: numbers with no double for their distance, images with more rows
than a float counts, structures without end, shapes whose outer sizes are huge and whose inner size is zero."""

import collections
import math
import os
import time

import numpy as np
import pytest

import tandem as tf
from tandem._core import execute

GUARDED = {"TANDEM_GUARD_PAGES": "1"}  # what reads past an end faults


@pytest.fixture
def at_once():
    """The test does no endless work: what it forgot to leave out would take minutes or years."""
    before = time.monotonic()
    yield
    assert time.monotonic() - before < 8


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


def test_a_deep_collection_in_a_checkpoint(tmp_path, at_once):
    with pytest.raises(RecursionError, match="nested deeper"):
        tf.train.Checkpoint(x=nested(100_000)).write(tmp_path / "ck")
    inner = [tf.Variable(3.0)]
    path = tf.train.Checkpoint(x=nested(100, lambda item: [inner if item == 1 else item])).write(tmp_path / "ck")
    assert any("x/0/0" in name for name, _ in tf.train.list_variables(path))


# ---- Work for nothing


def wav(channels=1):
    sizes = (16, 1, channels, 8000, 16000 * channels, 2 * channels, 16)
    head = b"".join(n.to_bytes(4 if i in (0, 3, 4) else 2, "little") for i, n in enumerate(sizes))
    return b"RIFF" + bytes(4) + b"WAVEfmt " + head + b"data" + (4).to_bytes(4, "little") + b"\1\0\2\0"


@pytest.mark.usefixtures("at_once")
class TestEmpty:
    def test_sound_without_channels(self):
        sound = tf.audio.decode_wav(wav(), desired_channels=0, desired_samples=1 << 40).audio
        assert sound.shape == (1 << 40, 0)

    @pytest.mark.parametrize(
        ("shape", "axis", "wanted"),
        [
            ([1 << 33, 0], None, ()),
            ([1 << 33, 0], 0, (0,)),
            ([0, 1 << 33], [1, 0], ()),
            ([3, 1 << 40, 0, 2], [1, 2], (3, 2)),
        ],
    )
    def test_joined_strings(self, shape, axis, wanted):
        joined = tf.strings.reduce_join(tf.zeros(shape, tf.string), axis)
        assert joined.shape == wanted and (np.asarray(joined.numpy()) == b"").all()

    @pytest.mark.parametrize(
        ("shape", "summarize"),
        [([1 << 20, 1 << 20, 0], 1 << 20), ([1 << 40, 1 << 20, 0], -1), ([1 << 40, 0], 1 << 62), ([9] * 11 + [0], 3)],
    )
    def test_texts(self, shape, summarize):
        text = tf.strings.format("{}", [tf.zeros(shape)], summarize=summarize).numpy()
        assert text.startswith(b"[") and len(text) < 10_000

    def test_texts_of_few_rows(self):
        assert tf.strings.format("{}", [tf.zeros([3, 0])]).numpy() == b"[[]\n []\n []]"
        assert tf.strings.format("{}", [tf.zeros([9, 0])], summarize=1).numpy() == b"[[]\n ...\n []]"

    @pytest.mark.parametrize("op", ["UniqueV2", "UniqueWithCountsV2"])
    @pytest.mark.parametrize(("shape", "axis"), [([1 << 36, 3, 0], 1), ([1 << 20, 0, 1 << 40], 1), ([1 << 40, 0], 1)])
    def test_distinct_slices(self, op, shape, axis):
        found = execute(op, tf.zeros(shape), np.array([axis], np.int64))
        assert found[0].shape[axis] == min(shape[axis], 1) and found[1].shape == (shape[axis],)

    @pytest.mark.parametrize("side", [1 << 40, 1 << 60, 1 << 62])
    def test_more_slices_than_memory(self, side):
        with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)):
            execute("UniqueV2", tf.zeros([side, 0]), np.array([0], np.int64))

    @pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
    def test_ngrams_wider_than_the_words(self, traced):
        signature = [tf.TensorSpec([None], tf.string)]
        for width in (1 << 22, 1 << 62):
            f = tf.function(lambda x, w=width: tf.strings.ngrams(x, w), input_signature=signature)
            assert (f if traced else f.python_function)(tf.constant(["a", "b"])).shape == (0,)

    def test_ngrams_of_rows(self):
        words = tf.ragged.constant([["a", "b", "c"], [], ["d"]])
        assert tf.strings.ngrams(words, [2, 3]).to_list() == [[b"a b", b"b c", b"a b c"], [], []]
        padded = tf.strings.ngrams(words, 2, separator="|", pad_values=("L", "R"))
        assert padded.to_list() == [[b"L|a", b"a|b", b"b|c", b"c|R"], [b"L|R"], [b"L|d", b"d|R"]]

    def test_a_sound_that_no_file_holds(self, tmp_path):
        with tf.summary.create_file_writer(str(tmp_path)).as_default(step=1):
            for shape in ([1 << 40, 0, 2], [1 << 40, 2, 0]):
                with pytest.raises(tf.errors.InvalidArgumentError, match="must be"):
                    tf.summary.audio("a", tf.zeros(shape), 8000, max_outputs=1 << 40)

    def test_passes_over_nothing(self):
        nothing = tf.data.Dataset.range(3).skip(1 << 62)
        assert list(nothing.repeat(1 << 62).take(2)) == []
        assert list(tf.data.Dataset.range(0).repeat(1 << 40)) == []


def hurwitz(x, q):
    """The terms up to 1000 one by one, then an Euler-Maclaurin sum."""
    first = np.arange(np.floor(q), 1000.0) + (q - np.floor(q))
    last = first[-1] + 1
    return math.fsum([*first**-x, last ** (1 - x) / (x - 1), last**-x / 2, x * last ** (-x - 1) / 12])


@pytest.mark.parametrize("gpus", [0, 1])
def test_zeta_far_below_zero(gpus, at_once):
    with tf.device("GPU:0" if gpus and tf.config.list_physical_devices("GPU") else "CPU:0"):
        for x in (2.0, 3.0, 4.0, 7.0):
            for q in (-4998.5, -5001.25, -9000.5, -20000.125):
                found = tf.math.zeta(np.float64(x), np.float64(q)).numpy()
                np.testing.assert_allclose(found, hurwitz(x, q), rtol=1e-9, atol=1e-14)
        assert tf.math.zeta(np.float64(2), np.float64(-1e12 - 0.5)).numpy() == pytest.approx(np.pi**2, rel=1e-9)
        # psi' repeats but for what is left of its sum: pi^2 / sin^2(pi x) - psi'(1 - x).
        assert tf.math.polygamma(np.float64(1), np.float64(-1e15 - 0.5)).numpy() == pytest.approx(np.pi**2, rel=1e-9)
        assert np.isinf(tf.math.polygamma(np.float64(171), np.float64(-1e15 - 0.5)).numpy())
        assert np.isnan(tf.math.zeta(np.float64(2.5), np.float64(-1e12 - 0.5)).numpy())
        assert np.isinf(tf.math.zeta(np.float64(2), np.float64(-1e12)).numpy())


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
