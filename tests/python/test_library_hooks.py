"""What libraries that build on TensorFlow hook into: dispatch of all functions, variables of their own, trackable
collections, sizes as Dimensions, and the test case with its combinations."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tandem as tf
from conftest import PATHS

tracking = tf.__internal__.tracking


def _run(code):
    """In a process of its own: global dispatchers stay."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False,
        env={"PYTHONPATH": PATHS, "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def test_a_global_dispatcher_gets_the_outermost_refused_call():
    """Functions that were looked up before and after it was registered; what the function calls inside is not asked."""
    said = _run("""
        import tandem as tf
        before = tf.nn.relu
        class Symbol:
            def __array__(self, *args, **kwargs): raise TypeError("a symbol has no value")
        class Dispatcher(tf.__internal__.dispatch.GlobalOpDispatcher):
            def handle(self, op, args, kwargs):
                flat = tf.nest.flatten([args, kwargs])
                return op.__name__ if any(isinstance(x, Symbol) for x in flat) else self.NOT_SUPPORTED
        Dispatcher().register()
        s = Symbol()
        print(before(s), tf.nn.relu(s), tf.image.rgb_to_grayscale(s), tf.concat([s, s], 0), tf.reduce_sum(input_tensor=s))
        print(tf.nn.relu([-1., 2.]).numpy()[1])
        try:
            tf.reshape([1, 2], [3])
        except (ValueError, tf.errors.InvalidArgumentError):
            print("refused")
        try:
            tf.constant(s)
        except TypeError:
            print("constant")
    """)
    assert said == ["relu", "relu", "rgb_to_grayscale", "concat", "reduce_sum", "2.0", "refused", "constant"]


def test_an_object_of_a_derived_class_stands_for_the_variable_whose_handle_it_names():
    class Doubled(tf.Variable):
        def __init__(self, inner):
            self._inner = inner

        handle = property(lambda self: self._inner.handle)

        def read_value(self):
            return 2.0 * self._inner.read_value()

    inner = tf.Variable([1.0, 2.0])
    doubled = Doubled(inner)
    assert doubled.dtype == tf.float32 and doubled.shape == [2]
    with tf.GradientTape() as tape:
        result = tf.reduce_sum(tf.square(doubled))
    np.testing.assert_allclose(result, 20.0)
    np.testing.assert_allclose(tape.gradient(result, doubled), [8.0, 16.0])

    class Nothing(tf.Variable):
        def __init__(self):
            pass

    with pytest.raises(RuntimeError, match="not initialised"):
        tf.identity(Nothing())


def test_variables_are_made_through_creators_the_innermost_first():
    asked = []

    def creator(name):
        def create(next_creator, **kwargs):
            asked.append((name, kwargs["initial_value"]))
            return next_creator(**{**kwargs, "initial_value": kwargs["initial_value"] + 1})

        return create

    with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
        made = tf.Variable(1, name="v", trainable=False)
    assert asked == [("inner", 1), ("outer", 2)]
    assert int(made) == 3 and made.name == "v:0" and not made.trainable
    assert int(tf.Variable(1)) == 1


def test_a_tape_that_is_entered_again_records_on():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    z = y * 5.0  # not recorded
    with tape:
        y = y * x
    assert float(tape.gradient(y, x)) == 27.0 and float(z) == 45.0


def test_the_graph_that_is_traced_may_be_made_the_default_again():
    """Tapes outside of the block go on to listen, and the graph knows its ops."""

    @tf.function
    def f(x):
        graph = tf.compat.v1.get_default_graph()
        with tf.GradientTape() as tape:
            tape.watch(x)
            with graph.as_default():
                y = tf.nn.softmax(x * x)
        assert y.op.type == "Softmax" and graph.get_operations()[-1].type == "Softmax"
        assert graph.get_operations()[-1] == y.op and len({y.op, graph.get_operations()[-1]}) == 1
        assert bool(tf.__internal__.FuncGraph("empty")) and tf.inside_function() and graph.building_function
        return tape.gradient(y, x)

    assert f(tf.constant([1.0, 2.0])).shape == [2]


def test_collections_know_what_is_tracked_in_them():
    v, w = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    module = tf.Module()
    module.v = v
    wrapped = tracking.wrap([module, {"w": w}, (1, 2)])
    assert isinstance(wrapped, list) and isinstance(wrapped, tracking.TrackableDataStructure)
    assert [x.handle._id for x in wrapped.variables] == [v.handle._id, w.handle._id]
    wrapped.append([tf.Variable(3.0)])
    assert len(wrapped.trainable_variables) == 2 and wrapped[2] == (1, 2)
    assert list(wrapped._trackable_children()) == ["0", "1", "3"]
    owner = tracking.AutoTrackable()
    owner.kept, owner.left_out = wrapped, owner._no_dependency(module)
    assert owner.left_out is module and list(owner._trackable_children()) == ["kept"]
    assert tracking.wrap((1, 2)) == (1, 2) and type(tracking.wrap((1, 2))) is tuple
    assert isinstance(tracking.wrap((v,)), tuple) and tracking.wrap((v,)).variables[0] is v
    found, paths = tracking.ObjectGraphView(owner).breadth_first_traversal()
    assert [reference.name for reference in paths[v]] == ["kept", "0", "v"] and any(x is w for x in found)


def test_sizes_are_dimensions_where_they_are_asked_for_as_such():
    shape = tf.TensorShape([2, None, 3])
    first, unknown, last = shape.dims
    assert (first.value, unknown.value, first * last, last // 2, 7 - first) == (2, None, 6, 1, 5)
    assert (first + unknown).value is None and (first == unknown) is None and first == 2 and first < last
    assert [first, last] == [2, 3] and list(range(5))[first] == 2 and shape[0] == 2 and type(shape[0]) is int
    assert repr(shape) == "TensorShape([2, None, 3])" and tf.TensorShape(shape.dims) == shape
    with pytest.raises(TypeError):
        first / 2
    with pytest.raises(ValueError, match="not compatible"):
        first.merge_with(3)


class _Case(tf.test.TestCase):
    __test__ = False

    def runTest(self):  # noqa: N802
        pass


@pytest.mark.parametrize("a, b, equal", [
    (tf.ragged.constant([[1, 2], [3]]), [[1, 2], [3]], True),
    (tf.ragged.constant([[1, 2], [3]]), [[1, 2], [4]], False),
    ([np.nan], tf.constant([np.nan]), True),
    ([1, 2], [[1, 2]], False),
    (tf.constant(["a"]), ["a"], True),
    (5, 6, False),
    (tf.sparse.from_dense([[1, 0]]), tf.sparse.from_dense([[1, 0]]), True),
    (tf.sparse.from_dense([[1, 0]]), tf.sparse.from_dense([[2, 0]]), False),
])  # fmt: skip
def test_all_equal(a, b, equal):
    case = _Case()
    if equal:
        case.assertAllEqual(a, b)
    else:
        with pytest.raises(AssertionError):
            case.assertAllEqual(a, b)
        case.assertNotAllEqual(a, b)


def test_all_close_takes_structures_and_arrays_of_tolerances():
    case = _Case()
    case.assertAllClose({"a": [1.0, (2.0, tf.constant([3.0]))]}, {"a": [1.0, (2.0, [3.0 + 1e-7])]})
    case.assertAllClose([1.0, 10.0], [1.05, 10.0], atol=np.array([0.1, 0.0]))
    for a, b in (({"a": 1.0}, {"b": 1.0}), ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.5]]), ([1.0], [1.1])):
        with pytest.raises(AssertionError):
            case.assertAllClose(a, b)
    case.assertAllCloseAccordingToType(tf.constant([1.0], tf.float16), [1.0005])
    assert case.evaluate({"a": tf.constant(1), "b": None}) == {"a": 1, "b": None}
    assert case.evaluate(tf.sparse.from_dense([[0, 4]])).values.tolist() == [4]
    with case.assertRaisesOpError("no such"):
        raise tf.errors.NotFoundError(None, None, "no such file")


def test_tests_are_made_of_combinations():
    pytest.importorskip("absl.testing.parameterized", reason="absl is not installed")
    combinations = tf.__internal__.test.combinations
    seen = []

    @combinations.generate(combinations.combine(mode=["eager"], a_b=[1, 2.5], f=combinations.NamedObject("named", len)))
    class Case(tf.test.TestCase):
        def test_x(self, a_b, f):
            seen.append((a_b, f([1]), tf.executing_eagerly()))

    names = [n for n in vars(Case) if n.startswith("test_x")]
    assert names == ["test_x_test_ab_1_f_named_mode_eager", "test_x_test_ab_25_f_named_mode_eager"]
    for name in names:
        Case(name).debug()
    assert seen == [(1, 1, True), (2.5, 1, True)]
    assert len(combinations.times(combinations.combine(a=[1, 2]), combinations.combine(b=[3, 4]))) == 4


def test_bincount_counts_what_ragged_and_sparse_tensors_have():
    ragged = tf.ragged.constant([[1, 1, 2], [], [0, 5]])
    expected = [[0, 2, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert tf.math.bincount(ragged, minlength=4, maxlength=4, axis=-1).numpy().tolist() == expected
    assert tf.math.bincount(ragged).numpy().tolist() == [1, 2, 1, 0, 0, 1]
    sparse = tf.SparseTensor([[0, 0], [0, 3], [2, 1]], [1, 1, 3], [3, 4])
    weights = tf.SparseTensor([[0, 0], [0, 3], [2, 1]], [0.5, 1.0, 2.0], [3, 4])
    assert tf.math.bincount(sparse, weights, axis=-1).numpy().tolist() == [[0, 1.5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 2]]
    assert tf.math.bincount(sparse, axis=-1, binary_output=True).numpy().tolist() == [[0, 1, 0, 0], [0] * 4, [0, 0, 0, 1]]
    counted = tf.function(lambda x: tf.math.bincount(x, minlength=6, maxlength=6, axis=-1))
    assert counted.get_concrete_function(tf.TensorSpec([None, None], tf.int64)).output_shapes == [None, 6]


def test_strings_of_ragged_tensors_are_cut_and_replaced():
    words = tf.ragged.constant([["a b", "c"], ["d-e f"]])
    assert tf.strings.split(words).to_list() == [[[b"a", b"b"], [b"c"]], [[b"d-e", b"f"]]]
    assert tf.strings.regex_replace(words, "-", "").to_list() == [[b"a b", b"c"], [b"de f"]]


def test_what_no_checkpoint_matches_is_named(tmp_path):
    v = tf.Variable(1.0)
    prefix = tf.train.Checkpoint(v=v).save(str(tmp_path / "c"))
    for root, words in ((tf.train.Checkpoint(), "Nothing to load"), (tf.train.Checkpoint(x=v), "Nothing except the root")):
        with pytest.raises(AssertionError, match=words):
            root.read(prefix).expect_partial().assert_nontrivial_match()
    other = tmp_path / "weights.h5"
    other.write_text("x")
    with pytest.raises(tf.errors.DataLossError, match="no checkpoint"):
        tf.compat.v1.train.NewCheckpointReader(str(other))
    assert tf.compat.v1.train.NewCheckpointReader(prefix).get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE") == 1.0
