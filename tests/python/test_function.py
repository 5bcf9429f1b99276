"""tf.function: signatures, traces, methods, variables, errors, threads."""

import gc
import logging
import threading
import weakref

import numpy as np
import pytest

import tandem as tf
from conftest import until


def test_decorator_forms():
    @tf.function
    def plain(x):
        """Doc."""
        return x + 1

    @tf.function(jit_compile=True, reduce_retracing=True, experimental_relax_shapes=True, autograph=False)
    def given(x):
        return x + 2

    called = tf.function(lambda x: x + 3)
    x = tf.constant(1)
    assert [int(f(x)) for f in (plain, given, called)] == [2, 3, 4]
    assert plain.__name__ == "plain" and plain.__doc__ == "Doc." and plain.python_function(x) == 2
    with pytest.raises(TypeError):
        tf.function(3)


def test_structures_go_in_and_out():
    @tf.function
    def f(pair, table, none=None, *rest, flag=True, **more):
        return {"sum": pair[0] + pair[1], "table": table, "none": none, "rest": list(rest), "more": more["k"] * 2}

    out = f((tf.constant(1), np.int32(2)), {"b": tf.constant(3), "a": [tf.constant(4)]}, None, tf.constant(5), k=6)
    assert int(out["sum"]) == 3 and out["none"] is None and [int(r) for r in out["rest"]] == [5]
    assert list(out["table"]) == ["a", "b"] and int(out["table"]["a"][0]) == 4 and int(out["more"]) == 12
    with pytest.raises(TypeError, match="missing a required argument: 'pair'"):
        f()


def test_the_order_of_keys_and_of_arguments_does_not_matter():
    f = tf.function(lambda a, b, d: a - b + d["x"] * d["y"])
    one, two = tf.constant(1), tf.constant(2)
    first = f(one, two, {"x": tf.constant(3), "y": tf.constant(5)})
    again = f(d={"y": tf.constant(7), "x": tf.constant(1)}, b=one, a=two)
    assert (int(first), int(again), f.experimental_get_tracing_count()) == (14, 8, 1)


def test_the_same_tensor_twice_is_two_arguments():
    f = tf.function(lambda a, b: a * 10 + b)
    one, two = tf.constant(1), tf.constant(2)
    assert [int(f(one, one)), int(f(one, two)), int(f(two, one))] == [11, 12, 21]


def test_python_values_specialise():
    seen = []
    f = tf.function(lambda x, how: seen.append(how) or x)
    marker = object()
    values = [1, 1.0, True, "a", b"a", None, (1, 2), marker, 2**70, float("nan")]
    for value in [*values, *values]:
        f(tf.constant(0), value)
    assert len(seen) == len(values) and f.experimental_get_tracing_count() == len(values)
    f(tf.constant(0), object())
    assert f.experimental_get_tracing_count() == len(values) + 1


def test_objects_are_not_kept_alive():
    class Thing:
        pass

    f = tf.function(lambda x, thing: x)
    thing = Thing()
    f(tf.constant(1), thing)
    weak = weakref.ref(thing)
    del thing
    gc.collect()
    assert weak() is None


def test_variables_count_by_identity():
    v, w = tf.Variable(1.0), tf.Variable(10.0)
    f = tf.function(lambda x: x.assign_add(1.0) * 2)
    assert [float(f(v)), float(f(v)), float(f(w)), float(f(v))] == [4, 6, 22, 8]
    assert f.experimental_get_tracing_count() == 2


def test_input_signature():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="points")])
    def f(x):
        return tf.shape(x)[0]

    v = tf.Variable([[1.0, 2.0]])
    total = tf.function(lambda x: tf.reduce_sum(x), input_signature=[tf.TensorSpec([1, 2])])
    assert float(total(v)) == 3
    v.assign([[5.0, 5.0]])
    assert float(total(v)) == 10  # read at every call
    assert [int(f(tf.ones((n, 2)))) for n in (1, 4)] == [1, 4] and int(f([[1, 2]])) == 1
    assert f.experimental_get_tracing_count() == 1
    for bad in (tf.ones((2, 3)), tf.ones((2, 2), tf.int32), "text"):
        with pytest.raises(TypeError, match="Binding inputs to tf.function failed"):
            f(bad)
    with pytest.raises(TypeError):
        f()
    with pytest.raises(ValueError):
        tf.function(lambda x: x, input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])(1.0)


def test_nested_input_signature():
    spec = {"a": tf.TensorSpec([None]), "b": (tf.TensorSpec([], tf.int32),)}

    @tf.function(input_signature=[spec])
    def f(d):
        return tf.reduce_sum(d["a"]) + tf.cast(d["b"][0], tf.float32)

    assert float(f({"b": (3,), "a": [1.0, 2.0]})) == 6
    assert float(f.get_concrete_function()({"a": tf.ones(4), "b": (tf.constant(1),)})) == 5


def test_concrete_functions():
    v = tf.Variable(3.0, name="v")

    @tf.function
    def f(x, scale=2.0, *, bias=None):
        return {"y": x * scale * v}

    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32, name="x"))
    assert concrete.structured_outputs["y"].shape.as_list() == [None]
    assert concrete.structured_input_signature[0][0] == tf.TensorSpec([None], tf.float32, name="x")
    assert [t.shape.as_list() for t in concrete.inputs] == [[None]] and len(concrete.outputs) == 1
    assert concrete.variables == (v,) and concrete.trainable_variables == (v,)
    assert concrete.name.startswith("__inference_f_") and "Mul" in concrete.function_def
    np.testing.assert_allclose(concrete(tf.constant([1.0, 2.0]))["y"], [6, 12])
    np.testing.assert_allclose(concrete(x=tf.constant([1.0]))["y"], [6])
    assert "TensorSpec(shape=(None,), dtype=tf.float32, name='x')" in repr(concrete) and "Literal[2.0]" in str(concrete)
    assert "y" in f.pretty_printed_concrete_signatures()
    with pytest.raises(TypeError):
        concrete(tf.constant([1, 2]))
    outer = tf.function(lambda x: concrete(x)["y"] + 1)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    np.testing.assert_allclose(y, [7, 13])
    np.testing.assert_allclose(tape.gradient(y, x), [6, 6])
    assert f.experimental_get_tracing_count() == 1


def test_a_concrete_function_with_control_flow_inside_another():
    v = tf.Variable(0)

    @tf.function
    def count(n):
        for i in tf.range(n):
            if i % 2 == 0:
                v.assign_add(i)
        return v.read_value()

    concrete = count.get_concrete_function(tf.TensorSpec([], tf.int32))
    twice = tf.function(lambda n: (concrete(n), concrete(n)))
    assert [int(t) for t in twice(tf.constant(5))] == [6, 12] and int(v) == 12


def test_methods_have_traces_of_their_own():
    class Model(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        @tf.function
        def call(self, x):
            return x * self.factor

    one, two = Model(2), Model(3)
    assert int(one.call(tf.constant(1))) == 2 and int(two.call(tf.constant(1))) == 3
    assert one.call is one.call and one.call is not two.call
    assert one.call.experimental_get_tracing_count() == 1
    assert int(Model.call(one, tf.constant(5))) == 10
    weak = weakref.ref(one)
    del one
    gc.collect()
    assert weak() is None


def test_functions_can_be_collected():
    def make():
        cell = []
        f = tf.function(lambda x: x + len(cell))
        cell.append(f)
        f(tf.constant(1))
        return weakref.ref(f)

    weak = make()
    gc.collect()
    assert weak() is None


def test_variables_are_created_once():
    holder = {}

    @tf.function
    def f(x):
        if "v" not in holder:
            holder["v"] = tf.Variable(tf.random.normal((3,)) * 0 + 2)
        return holder["v"] * x

    assert f(tf.constant(2.0)).numpy().tolist() == [4, 4, 4] and f.experimental_get_tracing_count() == 2
    leaky = tf.function(lambda: tf.Variable(1.0) + 1)
    with pytest.raises(ValueError, match="singleton tf.Variables created on the first call"):
        leaky()

    @tf.function
    def depends(x):
        if "w" not in holder:
            holder["w"] = tf.Variable(x)
        return holder["w"] + 0

    with pytest.raises(ValueError, match="depends on 'x'"):
        depends.get_concrete_function(tf.TensorSpec([]))
    assert depends(tf.constant(1.5)).numpy() == 1.5


def test_results_must_be_tensors():
    with pytest.raises(TypeError, match="must return zero or more Tensors"):
        tf.function(lambda: object())()
    assert tf.function(lambda: None)() is None
    assert tf.function(lambda: (1, "a"))()[1].numpy() == b"a"


def test_tensors_that_leave_the_function_say_so():
    leaked = []

    @tf.function
    def f(x):
        tf.cond(x > 0, lambda: leaked.append(x * 2) or 1, lambda: 2)
        leaked.append(x + 1)
        return x

    f(tf.constant(1))
    assert "shape=()" in repr(leaked[0]) and "shape=()" in repr(leaked[1])
    for tensor in leaked:
        with pytest.raises(TypeError, match="out of scope"):
            tensor + 1
        with pytest.raises(TypeError, match="out of scope"):
            tf.function(lambda: tensor + 1)()  # noqa: B023


def test_a_failed_trace_leaves_nothing_behind():
    fail = [True]

    @tf.function
    def f(x):
        if fail[0]:
            raise KeyError("mine")
        return x + 1

    with pytest.raises(KeyError, match="mine"):
        f(tf.constant(1))
    assert tf.executing_eagerly()
    fail[0] = False
    assert int(f(tf.constant(1))) == 2


def test_errors_when_it_runs():
    @tf.function
    def f(x, i):
        tf.debugging.assert_less(i, 3, message="index too large")
        return tf.gather(x, i)

    x = tf.constant([1.0, 2.0, 3.0])
    assert float(f(x, tf.constant(1))) == 2
    # A GPU may meet the lookup first: it is given both at once.
    with pytest.raises(tf.errors.InvalidArgumentError, match="index too large|is not in"):
        f(x, tf.constant(7)).numpy()
    assert float(f(x, tf.constant(2))) == 3


def test_python_errors_in_py_function():
    def bad(x):
        raise ValueError("from Python")

    f = tf.function(lambda x: tf.py_function(bad, [x], tf.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="from Python"):
        f(tf.constant(1.0))
    g = tf.function(lambda x: tf.numpy_function(lambda a: a.astype(np.float64), [x], tf.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="float64"):
        g(tf.constant(1.0))


def test_py_function_sees_eager_tensors():
    seen = []

    @tf.function
    def f(x):
        tf.py_function(lambda a: seen.append(a.numpy()), [x], [])
        return x

    for value in (1.0, 2.0):
        f(tf.constant(value))
    assert seen == [1.0, 2.0]


def test_run_functions_eagerly():
    calls = []
    f = tf.function(lambda x: calls.append(1) or x + 1)
    f(tf.constant(1))
    f(tf.constant(1))
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        f(tf.constant(1))
        f(tf.constant(1))
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(calls) == 3


def test_device_scopes_are_part_of_the_trace():
    f = tf.function(lambda x: x + 1)
    f(tf.constant(1))
    with tf.device("/CPU:0"):
        f(tf.constant(1))
        f(tf.constant(2))
    f(tf.constant(1))
    assert f.experimental_get_tracing_count() == 2


def test_how_many_values_a_composite_tensor_has_is_no_reason_to_trace():
    @tf.function
    def total(x):
        return tf.reduce_sum(tf.sparse.to_dense(x) if isinstance(x, tf.SparseTensor) else x)

    for n in range(1, 6):
        values = np.arange(n * 4.0)
        assert total(tf.sparse.from_dense(np.pad(values + 1, (0, 20 - 4 * n)))) == (values + 1).sum()
        rows = tf.RaggedTensor.from_row_lengths(values, [n, 2 * n, n])
        assert total(rows) == values.sum()
        assert total(tf.RaggedTensor.from_row_lengths(rows, [1, 2])) == values.sum()
    assert total.experimental_get_tracing_count() == 3
    # How many rows there are is part of a shape.
    total(tf.RaggedTensor.from_row_lengths([1.0, 2.0], [1, 1]))
    assert total.experimental_get_tracing_count() == 4


def test_frequent_tracing_is_said(caplog):
    f = tf.function(lambda x: x)
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        for n in range(8):
            f(tf.zeros(n))
    assert sum("triggered tf.function retracing" in m for m in caplog.messages) == 2


def test_random_numbers_differ_from_call_to_call():
    f = tf.function(lambda: tf.random.uniform((4,)))
    assert not np.array_equal(f(), f())
    tf.random.set_seed(1)
    first = f().numpy()
    tf.random.set_seed(1)
    np.testing.assert_array_equal(f().numpy(), first)


def test_threads_share_a_function():
    v = tf.Variable(0)

    @tf.function
    def f(x):
        v.assign_add(1)
        return x * 2

    results = []

    def work():
        for i in range(50):
            results.append(int(f(tf.constant(i))) == 2 * i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(results) and len(results) == 200 and int(v) == 200 and f.experimental_get_tracing_count() == 1


def test_a_training_step_compiled_and_eager():
    x = tf.constant(np.random.RandomState(0).randn(32, 8), tf.float32)

    def train(wrap):
        w = tf.Variable(tf.ones((8, 1)))

        def step(a):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(a @ w - 1.0))
            w.assign_sub(0.02 * tape.gradient(loss, w))
            return loss

        step = wrap(step)
        return [float(step(x)) for _ in range(20)], w.numpy()

    (eager, a), (compiled, b) = train(lambda f: f), train(tf.function)
    np.testing.assert_allclose(compiled, eager, rtol=1e-4)
    np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-6)


def test_sparse_gradients_through_a_function():
    table = tf.Variable(tf.ones((10, 2)))
    f = tf.function(lambda i: tf.reduce_sum(tf.gather(table, i) ** 2))
    with tf.GradientTape() as tape:
        y = f(tf.constant([1, 1, 3]))
    gradient = tape.gradient(y, table)
    dense = tf.convert_to_tensor(gradient).numpy()
    expected = np.zeros((10, 2), np.float32)
    expected[1], expected[3] = 4, 2
    np.testing.assert_allclose(dense, expected)


def test_mistakes_while_tracing_are_pythons_errors():
    """TensorFlow raises ValueError (shapes) and TypeError (dtypes) there; outside it is an InvalidArgumentError."""

    @tf.function
    def product(a, b):
        try:
            return tf.matmul(a, b)
        except ValueError:
            return tf.matmul(a, b, transpose_b=True)

    assert product(tf.ones((2, 3)), tf.ones((2, 3))).shape == (2, 2)
    with pytest.raises(TypeError):
        tf.function(lambda a, b: a + b)(tf.constant(1), tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(tf.ones((2, 3)), tf.ones((2, 3)))
    assert not isinstance(caught.value, ValueError)


def test_nodes_know_their_lines():
    @tf.function(autograph=False)
    def plain(x):
        y = x * 2.0
        return tf.exp(y)

    lines = plain.experimental_get_compiler_ir(tf.constant(1.0))("hlo").splitlines()
    first = plain.python_function.__code__.co_firstlineno
    for op, line in (("Mul(", first + 2), ("Exp(", first + 3)):
        assert any(op in text and text.endswith(f" at {__file__}:{line}") for text in lines), lines


@pytest.mark.parametrize(
    "options",
    [{}, {"minlength": 12}, {"maxlength": 4}, {"weights": np.arange(5, dtype="float32")}, {"binary_output": True}],
    ids=str,
)
def test_counts_whose_size_is_data(options):
    spec = tf.TensorSpec([None], tf.int32)
    count = tf.function(lambda x: tf.math.bincount(x, **options), input_signature=[spec])
    x = np.array([3, 1, 1, 0, 7], np.int32)
    assert count(x).numpy().tolist() == tf.math.bincount(x, **options).numpy().tolist()
    if "weights" not in options:
        assert count(x[:0]).numpy().tolist() == tf.math.bincount(x[:0], **options).numpy().tolist()
    matrix = tf.function(tf.math.confusion_matrix, input_signature=[spec] * 2)
    assert matrix(x, x[::-1]).numpy().tolist() == tf.math.confusion_matrix(x, x[::-1]).numpy().tolist()


class Factor:
    """What a function closes over."""

    value = 2.0


def _by(factor):
    return lambda x: tf.ensure_shape(tf.py_function(lambda y: y * factor.value, [x], tf.float32), [2])


def _called(function):
    function(tf.ones([2]))
    return function


def _of_arrays(factor):
    def by(x):
        return tf.numpy_function(lambda y: y * np.float32(factor.value), [x], tf.float32)

    return _called(tf.function(by))


def _nested(factor):
    inner = tf.function(_by(factor))
    return _called(tf.function(lambda x: inner(x))).get_concrete_function(tf.ones([2])).compiled


def _in_control_flow(factor):
    def twice(x):
        return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, _by(factor)(x) / 2), (0, x))[1]

    return _called(tf.function(lambda x: tf.cond(x[0] > 0, lambda: _by(factor)(twice(x)), lambda: x)))


def _taped(factor):
    x = tf.ones([2])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.function(_by(factor))(x)
    return lambda given: tape.gradient(y, x)


def _mapped(factor):
    data = tf.data.Dataset.from_tensors([1.0, 1.0]).repeat()
    elements = iter(data.map(_by(factor), num_parallel_calls=2))
    return lambda given: next(elements)


@pytest.mark.parametrize(
    "make",
    [
        lambda factor: _called(tf.function(_by(factor))), _of_arrays, _nested, _in_control_flow, _taped, _mapped,
    ],
    ids=["py_function", "numpy_function", "nested", "control_flow", "taped", "mapped"],
)  # fmt: skip
def test_a_python_function_lives_as_long_as_the_graph_that_calls_it(make):
    """It was kept for the life of the process, with all that it closes over."""
    factor = Factor()
    kept, watched = make(factor), weakref.ref(factor)
    del factor
    gc.collect()
    for _ in range(2):
        given = kept([tf.ones([2])]) if make is _nested else kept(tf.ones([2]))
        np.testing.assert_array_equal(given[0] if make is _nested else given, [2.0, 2.0])
    assert watched() is not None
    del kept
    gc.collect()
    assert until(lambda: watched() is None)


def test_ops_have_the_names_that_calls_give_them():
    """Those of TensorFlow 2.21, which names the ops inside of a call too."""
    names = []

    @tf.function
    def named(x):
        made = [
            tf.identity(x, name="out"), tf.identity(x, name="out"), tf.add(x, 1.0, name="plus"), tf.matmul(x, x),
            tf.matmul(x, x, name="mm"), tf.matmul(x, x), tf.split(x, 2, name="sp")[1], tf.cast(x, tf.int32, name="ca"),
            tf.concat([x, x], 0, name="cat"), tf.gather(x, [0], name="g"), tf.where(x > 0, x, x, name="wh"),
            tf.one_hot([1], 3, name="oh"), tf.transpose(x, name="tr"), tf.math.l2_normalize(x, name="l2"),
            tf.nn.conv2d(x[None, ..., None], tf.ones([1, 1, 1, 1]), 1, "SAME", name="cc"), tf.identity(x, name="s/"),
        ]  # fmt: skip
        with tf.name_scope("scope"):
            made += [tf.matmul(x, x, name="mm"), tf.matmul(x, x, name="mm"), tf.matmul(x, x)]
        assert tf.reshape(x, x.shape, name="again") is not None
        names.extend(tensor.name for tensor in made)
        return made[0]

    named(tf.ones([2, 2]))
    assert names == [
        "out:0", "out_1:0", "plus:0", "MatMul:0", "mm:0", "MatMul_1:0", "sp:1", "ca:0", "cat:0", "g:0", "wh:0", "oh:0", "tr:0",
        "l2:0", "cc:0", "s:0", "scope/mm:0", "scope/mm_1:0", "scope/MatMul:0",
    ]  # fmt: skip
