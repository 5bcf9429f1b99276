"""Calls that have nothing to do, or little, however large their numbers are. Run by test_hostile_values.py in a process
of its own: what forgets to leave the work out goes on for minutes or years, where no signal is heard."""

import math

import numpy as np
import pytest
from test_hostile_values import nested

import tandem as tf
from tandem._core import execute


def test_a_deep_collection_in_a_checkpoint(tmp_path):
    with pytest.raises(RecursionError, match="nested deeper"):
        tf.train.Checkpoint(x=nested(100_000)).write(tmp_path / "ck")
    inner = [tf.Variable(3.0)]
    path = tf.train.Checkpoint(x=nested(100, lambda item: [inner if item == 1 else item])).write(tmp_path / "ck")
    assert any("x/0/0" in name for name, _ in tf.train.list_variables(path))


def wav(channels=1):
    sizes = (16, 1, channels, 8000, 16000 * channels, 2 * channels, 16)
    head = b"".join(n.to_bytes(4 if i in (0, 3, 4) else 2, "little") for i, n in enumerate(sizes))
    return b"RIFF" + bytes(4) + b"WAVEfmt " + head + b"data" + (4).to_bytes(4, "little") + b"\1\0\2\0"


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

    @pytest.mark.parametrize("splits", [tf.int32, tf.int64])
    def test_ngrams_of_rows(self, splits):
        words = tf.ragged.constant([["a", "b", "c"], [], ["d"]], row_splits_dtype=splits)
        pairs = tf.strings.ngrams(words, [2, 3])
        assert pairs.to_list() == [[b"a b", b"b c", b"a b c"], [], []] and pairs.row_splits.dtype == splits
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


def test_zeta_far_below_zero():
    with tf.device("GPU:0" if tf.config.list_physical_devices("GPU") else "CPU:0"):
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
