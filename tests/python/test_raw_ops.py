"""Ops called by name, as a loaded graph calls them: each checks what it is given, because its kernel does not."""

import numpy as np
import pytest

import tandem as tf
from tandem import _core
from tandem._core import execute

F, I = np.float32, np.int32


def f(*shape):
    return np.arange(int(np.prod(shape)), dtype=F).reshape(shape) / 7


def i(*values, dtype=I):
    return np.array(values, dtype)


# op, inputs, attributes: every one of them crashed, hung, or returned memory that nobody had written.
CALLS = [
    # Gradients whose sizes come from elsewhere.
    ("SplitLike", [f(2), [f(4), f(4)]], {"axis": 0}),
    ("SplitLike", [f(2, 3), [f(2, 3), f(2, 3)]], {"axis": 1}),
    ("SplitLike", [f(2, 3), [f(2, 3)]], {"axis": 2}),
    ("SplitLike", [f(), [f()]], {"axis": 0}),
    ("GatherV2Grad", [f(2, 6), i(7, 1, 5), f(10, 2)], {"axis": 0}),
    ("GatherV2Grad", [f(3, 6, 2), i(2, 3, 3, 1, 2, 0), f(3, 4, 2)], {"axis": 1, "batch_dims": 1 << 31}),
    ("TakeAlongAxisGrad", [f(7, 5), i(0, 1), f(4, 5)], {"axis": 0}),
    ("TakeAlongAxisGrad", [f(6), np.zeros(6, I), f(6)], {"axis": (1 << 32) + 3}),
    ("RepeatGrad", [f(2), i(1, 2, 4), f(2, 3)], {"axis": -1}),
    ("RepeatGrad", [f(2, 7), i(2, 2), f(2, 3)], {"axis": -1}),
    ("SumLike", [f(1, 2, 1), f(1500)], {}),
    ("SegmentRunMean", [f(2, 5), np.ones((1, 5), I)], {}),
    ("ResizeBicubicGrad", [f(2, 3, 4, 1), f(2, 6, 8, 2)], {}),
    ("ResizeBicubicGrad", [f(1, 2), f(1, 2)], {}),
    ("ResizeBilinearGrad", [f(2, 4, 4, 0), f(2, 1, 1, 3)], {}),
    ("ScaleAndTranslateGrad", [f(3), f(2, 6, 7, 2), f(2), f(2)], {}),
    ("ScaleAndTranslateGrad", [f(2, 4, 9, 2), f(2, 6, 7, 2), f(2), f(0)], {}),
    ("ScaleAndTranslateGrad", [f(2, 4, 9, 2), f(2, 6, 7, 2), f(2), f(2)], {"kernel_type": "none"}),
    ("CropAndResizeGradImage", [f(2, 3, 4, 2), f(2, 4), np.zeros(0, I), i(2, 5, 6, 2)], {}),
    ("CropAndResizeGradImage", [f(2, 3, 4, 2), f(2, 4), i(0, 1), i(2, 5, 6, 65536)], {}),
    ("CropAndResizeGradBoxes", [f(2, 3, 4, 2), f(2, 5, 6, 2), f(4, 4), i(0, 1)], {}),
    ("RGBToHSVGrad", [f(4, 3), f(3)], {}),
    # Ranks and sizes beside one another.
    ("NthElement", [f(2, 9), np.zeros((3, 5), I)], {}),
    ("NthElement", [f(2, 9), np.zeros(0, I)], {}),
    ("OneHot", [i(1, 2), np.zeros(0, I), F(1), F(0)], {}),
    ("ScaleAndTranslate", [f(2, 6, 7, 2), i(4, 9), f(0), f(2)], {"kernel_type": "box"}),
    ("CropAndResize", [f(2, 3, 3, 2), f(1, 4), i(0), np.zeros(0, I)], {}),
    ("DrawBoundingBoxesV2", [f(1, 5, 5, 3), f(1, 1, 4), f(1, 0)], {}),
    ("DrawBoundingBoxesV2", [f(1, 5, 5, 3), f(1, 1, 3), f(1, 3)], {}),
    ("NonMaxSuppressionWithOverlaps", [f(4, 1), f(4), I(3), F(0.5), F(0.25), F(0)], {}),
    (
        "EditDistance",
        [
            np.zeros((5, 3), np.int64),
            f(5),
            i(2, 2, 3, dtype=np.int64),
            np.zeros((4, 0), np.int64),
            f(4),
            i(2, 2, 2, dtype=np.int64),
        ],
        {},
    ),
    ("StatelessRandomPoissonV2", [i(4), i(1, dtype=np.uint64), np.zeros(0, np.uint64), f(4)], {}),
    ("StatelessRandomBinomialV2", [i(4), np.zeros((2, 0), np.uint64), i(1, 2, dtype=np.uint64), f(4), f(4)], {}),
    # Attributes that no program gives.
    ("ScatterNd", [np.zeros((4, 7, 2), I), f(4, 7), i(5, 33)], {"batch_dims": -(1 << 31)}),
    ("GatherNd", [f(4, 7), np.zeros((4, 1), I)], {"batch_dims": 1 << 32}),
    ("DynamicPartition", [f(6), np.zeros(6, I)], {"num_partitions": (1 << 63) - 1}),
    ("Split", [f(0)], {"num": 1 << 62}),
    ("Unpack", [f(0, 2)], {"num": 1 << 40}),
    ("SummaryHistogram", [f(3)], {"buckets": 1 << 40}),
    ("PyFunc", [[f(2)]], {"token": 1, "output_dtypes": [-1]}),
    ("PyFunc", [[f(2)]], {"token": 1, "output_dtypes": [17, 300]}),
    ("Size", [f(2)], {"out_type": tf.bfloat16}),
    ("OnesLike", [f(2)], {"dtype": tf.string}),
    ("AsString", [f(2)], {"width": (1 << 31) - 1}),
    ("CTCBeamDecode", [f(4, 3, 3), i(4, 3, 2)], {"beam_width": 1 << 62, "top_paths": 3}),
    ("Cast", [f(2)], {"dtype": tf.variant}),
    # The least integer, which stands for what is not known.
    ("RepeatGrad", [f(2, 7), i(2, -(1 << 63), 4, dtype=np.int64), f(2, 3)], {"axis": -1}),
    ("UniqueV2", [f(2, 3), i(-(1 << 63), dtype=np.int64)], {}),
    ("InTopKV2", [f(2, 3), i(0, 1, dtype=np.int64), np.int64(-(1 << 63))], {}),
    # Values of other kinds.
    ("TensorListLength", [tf.constant([1.0])], {}),
    ("IteratorNext", [tf.constant([1.0])], {"components": [12]}),
]


@pytest.mark.parametrize(("op", "inputs", "attributes"), CALLS, ids=[f"{n}-{c[0]}" for n, c in enumerate(CALLS)])
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_a_wrong_call(op, inputs, attributes, traced):
    def call():
        return execute(op, *inputs, **attributes)

    with pytest.raises(tf.errors.InvalidArgumentError, match=op):
        (tf.function(call, autograph=False) if traced else call)()


def test_a_colour_that_is_not_finite():
    colour = execute("AdjustHue", np.array([[np.inf, -np.inf, 0.5]], F), F(0.3))
    assert colour.shape == (1, 3)


def test_a_list_that_cannot_be():
    for index in ((1 << 31) - 1, 1 << 28):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="elements"):
            execute("TensorListScatter", f(1, 2), i(index))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="elements"):
        execute("TensorListReserve", I((1 << 31) - 1))


def test_kinds_of_variants():
    """Lists, datasets and iterators have one dtype, and are told apart all the same."""
    windows = next(iter(tf.data.Dataset.range(4).window(2)))
    dataset = _core.data.dataset_tensor(windows._core)
    array = execute("TensorListReserve", I(3))
    for op, value in (("TensorListLength", dataset), ("MakeIterator", array), ("IteratorNext", array)):
        rest = [[]] if op == "MakeIterator" else []
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected"):
            execute(op, value, *rest)


def test_a_stored_graph_calls_no_python_function(tmp_path):
    called = []

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([2])])
        def call(self, x):
            y = tf.numpy_function(lambda v: called.append(1) or v, [x], tf.float32)
            return tf.ensure_shape(y, [2])

    model = Model()
    assert (model.call(tf.constant([1.0, 2.0])).numpy() == [1, 2]).all()
    tf.saved_model.save(model, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    before = len(called)
    with pytest.raises(tf.errors.FailedPreconditionError, match="callback is not found"):
        loaded.call(tf.constant([1.0, 2.0]))
    assert len(called) == before


def test_a_tail_of_the_normal_distribution_far_out():
    """Rejection would go on for ever: all numbers lie at the bound that is nearer."""
    state = [i(1, dtype=np.uint64), i(1, 2, dtype=np.uint64)]
    for low in (1e9, 1e100, 1e200, 1e300):
        parameters = [np.array([v]) for v in (0.0, 1.0, low, 2 * low)]
        drawn = execute("StatelessParameterizedTruncatedNormalV2", i(1), *state, *parameters).numpy()
        assert low <= drawn[0] <= low * (1 + 1e-6)


def test_rows_without_elements(capfd):
    empty = tf.zeros([1 << 40, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        execute("Assert", False, [empty])
    tf.print(empty, summarize=-1)
    assert "..." in capfd.readouterr().err
