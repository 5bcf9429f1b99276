"""tf.cond and its relatives, TensorArray, and gradients of one's own: refusals, and what runs without a trace."""

import numpy as np
import pytest

import tandem as tf


def test_cond_refuses_branches_that_differ():
    @tf.function
    def f(x, other):
        return tf.cond(x > 0, lambda: (x, x), other)

    for other in (lambda: tf.constant(1.0), lambda: (1.0, "a"), lambda: (1.0, 2.0, 3.0)):
        with pytest.raises(TypeError, match="true_fn and false_fn arguments to tf.cond must have the same"):
            f(tf.constant(1.0), other)
    with pytest.raises(TypeError, match="true_fn"):
        tf.cond(True, 1, lambda: 2)
    assert tf.cond(tf.constant(2) > 1, lambda: "yes", lambda: "no") == "yes"


def test_case():
    def chosen(x, **options):
        return tf.case([(x < 1, lambda: 1), (x < 3, lambda: 2)], **options)

    f = tf.function(lambda x: chosen(x, default=lambda: 9))
    assert [int(f(tf.constant(v))) for v in (0, 2, 5)] == [1, 2, 9]
    assert [int(chosen(tf.constant(v), default=lambda: 9)) for v in (0, 2, 5)] == [1, 2, 9]
    strict = tf.function(lambda x: chosen(x, exclusive=True, default=lambda: 9))
    assert int(strict(tf.constant(2))) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="exclusive"):
        strict(tf.constant(0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"):
        tf.function(lambda x: chosen(x))(tf.constant(7))


def test_switch_case_with_named_branches():
    table = {3: lambda: 30, 7: lambda: 70}
    f = tf.function(lambda i: (tf.switch_case(i, table), tf.switch_case(i, table, default=lambda: -1)))
    for index, expected in ((3, (30, 30)), (7, (70, 70)), (5, (70, -1)), (-1, (70, -1))):
        assert tuple(map(int, f(tf.constant(index)))) == expected
        assert int(tf.switch_case(tf.constant(index), table, default=lambda: -1)) == expected[1]
    with pytest.raises(TypeError, match="int32"):
        tf.function(lambda i: tf.switch_case(i, table))(tf.constant(1.0))


def test_while_loop_refusals():
    with pytest.raises(ValueError, match="loop_vars"):
        tf.while_loop(lambda: True, lambda: (), [])
    with pytest.raises(TypeError, match="callable"):
        tf.while_loop(1, 2, [0])

    def loop(body, start, **options):
        return tf.function(lambda x: tf.while_loop(lambda *v: v[0] < 3, body, (x, start), **options))(tf.constant(0))

    with pytest.raises(ValueError, match="shape_invariants"):
        loop(lambda i, a: (i + 1, tf.concat([a, a], 0)), tf.zeros((1,)))
    with pytest.raises(TypeError, match="type should remain constant"):
        loop(lambda i, a: (i + 1, tf.cast(a, tf.int32)), tf.zeros((1,)))
    with pytest.raises(ValueError):
        loop(lambda i, a: (i + 1,), tf.zeros((1,)))
    with pytest.raises(ValueError, match="shape invariant"):
        loop(lambda i, a: (i + 1, a), tf.zeros((2,)), shape_invariants=(tf.TensorShape([]), tf.TensorShape([3])))


def test_while_loop_structures_and_limits():
    def run(n):
        return tf.while_loop(
            lambda i, d, ta: i < 10,
            lambda i, d, ta: (i + 1, {"a": d["a"] + 1.0, "b": [d["b"][0] * 2]}, ta.write(i, d["a"])),
            (tf.constant(0), {"a": tf.constant(0.0), "b": [tf.constant(1)]}, tf.TensorArray(tf.float32, 10)),
            maximum_iterations=n,
        )

    for call in (run, tf.function(run)):
        i, d, ta = call(tf.constant(4))
        assert (int(i), float(d["a"]), int(d["b"][0])) == (4, 4.0, 16)
        assert ta.gather([1, 3]).numpy().tolist() == [1, 3]


def test_tensor_array_eagerly():
    ta = tf.TensorArray(tf.float32, size=2, clear_after_read=True)
    ta = ta.write(0, 1.0).write(1, 2.0)
    assert float(ta.read(0)) == 1 and ta.element_shape == []
    with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
        ta.read(0)
    with pytest.raises(tf.errors.OutOfRangeError, match="not resizeable and size is: 2"):
        ta.write(2, 1.0)
    with pytest.raises(tf.errors.OutOfRangeError, match="array size is: 2"):
        ta.read(5)
    with pytest.raises(ValueError, match="Incompatible shape"):
        ta.write(0, [1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="dtype"):
        ta.write(0, tf.constant(1))
    grown = tf.TensorArray(tf.int32, 0, dynamic_size=True).write(2, 7)
    assert int(grown.size()) == 3 and grown.stack().numpy().tolist() == [0, 0, 7]


def test_tensor_arrays_as_arguments_and_results():
    @tf.function
    def add(ta, x):
        return ta.write(ta.size(), x)

    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=())
    for i in range(3):
        ta = add(ta, tf.constant(float(i)))
    assert ta.stack().numpy().tolist() == [0, 1, 2] and add.experimental_get_tracing_count() == 1


def test_map_fn_refusals():
    with pytest.raises(TypeError, match="fn_output_signature"):
        tf.map_fn(lambda x: tf.cast(x, tf.int32), tf.ones(3))
    with pytest.raises(ValueError, match="scalar"):
        tf.map_fn(lambda x: x, tf.constant(1.0))
    with pytest.raises(ValueError, match="first dimension"):
        tf.map_fn(lambda p: p[0], (tf.ones(2), tf.ones(3)), fn_output_signature=tf.float32)
    spec = tf.TensorSpec([2], tf.int32)
    empty = tf.map_fn(lambda x: tf.cast(x, tf.int32) * 2, tf.ones((0, 2)), fn_output_signature=spec)
    assert empty.shape == [0, 2] and empty.dtype == tf.int32


def test_map_fn_over_an_unknown_number_of_rows():
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def f(x):
        mapped = tf.map_fn(lambda r: tf.reduce_sum(r), x)
        assert mapped.shape.as_list() == [None]
        return mapped, tf.scan(lambda a, r: a + r, x)

    for n in (1, 4):
        mapped, scanned = f(tf.ones((n, 2)))
        assert mapped.numpy().tolist() == [2.0] * n
        np.testing.assert_allclose(scanned, np.cumsum(np.ones((n, 2)), axis=0))


def test_own_gradients_inside_and_outside():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(upstream):
            return upstream * (1 - 1 / (1 + e))

        return tf.math.log(1 + e), grad

    def gradient(function, x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            first = tape.gradient(y, x)
        return y, first, outer.gradient(first, x)

    x = tf.constant([0.5, 2.0])
    compiled = tf.function(lambda v: log1pexp(v) * 3.0)
    inside = tf.function(lambda v: gradient(lambda u: log1pexp(u) * 3.0, v))
    expected = [t.numpy() for t in gradient(lambda v: log1pexp(v) * 3.0, x)]
    for got in (gradient(compiled, x), inside(x)):
        for a, b in zip(got, expected):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_own_gradients_of_functions_with_variables():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def without(x):
        return x * v, lambda upstream: upstream

    with tf.GradientTape(), pytest.raises(TypeError, match="'variables' keyword argument"):
        without(tf.constant(1.0))


def test_recomputed_gradients():
    v = tf.Variable(3.0)
    runs = []

    @tf.recompute_grad
    def f(x):
        runs.append(1)
        return tf.sin(x) * v

    x = tf.constant(0.5)
    for call in (f, tf.function(f)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        dx, dv = tape.gradient(y, [x, v])
        np.testing.assert_allclose([float(dx), float(dv)], [3 * np.cos(0.5), np.sin(0.5)], rtol=1e-5)
    assert len(runs) >= 3


def test_forward_mode():
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as accumulator:
        y = x**3
        z = tf.function(lambda v: tf.reduce_sum(v * v))(x)
    np.testing.assert_allclose(accumulator.jvp(y), [3, 0])
    assert float(accumulator.jvp(z)) == 2
    assert accumulator.jvp(tf.constant(1.0)) is None
    zero = accumulator.jvp(tf.constant(1.0), unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert float(zero) == 0


# ---- Branches that do not fit

WIDE = 1000


def misfits(claimed):
    """Programs whose second branch works on what set_shape says of x, with NumPy's answer to each."""
    row = np.arange(float(claimed), dtype=np.float32)
    k = tf.constant(row)

    def lying(x):
        y = x * 2.0
        y.set_shape([claimed])
        return y

    def nested(p, x):
        y = lying(x)
        inner = tf.function(lambda: y * k)
        return tf.cond(p, lambda: tf.reduce_sum(inner()), lambda: 0.0)

    def turning(p, x):
        y = lying(x)

        def body(i, total):
            return i + 1, total + tf.cond(p, lambda: tf.reduce_sum(y * k), lambda: 1.0)

        return tf.while_loop(lambda i, _: i < 3, body, (0, 0.0))[1]

    def assigning(p, x):
        y = lying(x)
        v.assign(0.0)
        tf.cond(p, lambda: v.assign(tf.reduce_sum(y * k)), lambda: v.assign(1.0))
        return v.read_value()

    def own(p, x):
        y = lying(x)

        @tf.custom_gradient
        def times(z):
            return z * k, lambda up: up * k

        return tf.cond(p, lambda: tf.reduce_sum(times(y)), lambda: 0.0)

    v = tf.Variable(0.0)
    return {
        "cond": (lambda p, x: tf.reduce_sum(tf.cond(p, lambda: lying(x) * k + 1.0, lambda: tf.zeros([claimed]))), 0.0),
        "switch_case": (
            lambda p, x: tf.switch_case(tf.cast(p, tf.int32), [lambda: 0.0, lambda: tf.reduce_sum(lying(x) * k)]),
            0.0,
        ),
        "captured": (lambda p, x: (lambda y: tf.cond(p, lambda: tf.reduce_sum(y * k), lambda: 0.0))(lying(x)), 0.0),
        "function": (nested, 0.0),
        "while": (turning, 3.0),
        "assign": (assigning, 1.0),
        "custom gradient": (own, 0.0),
    }


@pytest.mark.parametrize("name", misfits(WIDE))
def test_a_branch_that_does_not_fit_fails_when_it_is_taken(name):
    program, untaken = misfits(WIDE)[name]
    signature = [tf.TensorSpec([], tf.bool), tf.TensorSpec([None], tf.float32)]
    f = tf.function(program, input_signature=signature)
    small = tf.ones([2])
    for _ in range(2):
        assert float(f(tf.constant(False), small)) == untaken
        with pytest.raises(tf.errors.InvalidArgumentError, match="[Ii]ncompatible shapes|not fit"):
            f(tf.constant(True), small)
    assert np.isfinite(float(f(tf.constant(True), tf.ones([WIDE]))))


def test_a_branch_that_does_not_fit_on_a_device(run_python):
    code = """
        import tandem as tf
        k = tf.range(1000.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32), tf.TensorSpec([None], tf.float32)])
        def f(p, x):
            y = x * 2.0
            y.set_shape([1000])
            return tf.cond(tf.tanh(p) > 0.0, lambda: y * k + 1.0, lambda: tf.zeros([1000]))

        with tf.device("GPU:0"):
            for _ in range(3):
                assert float(tf.reduce_sum(f(-1.0, tf.ones([2])))) == 0
                try:
                    f(1.0, tf.ones([2])).numpy()
                except tf.errors.InvalidArgumentError as e:
                    assert "[2] vs. [1000]" in str(e), e
                else:
                    raise AssertionError("no error")
            assert float(f(1.0, tf.ones([1000]))[3]) == 7
    """
    for conditional in "01":
        status, _, errors = run_python(code, gpus=2, env={"TANDEM_CONDITIONAL_NODES": conditional})
        assert status == 0, errors


def random_program(rng, depth=0):
    """A function of (tensors, flags): the same in Tandem, traced with shapes that are claimed, and in NumPy."""
    kind = rng.choice(["leaf", "add", "times", "cond", "while", "function"] if depth < 4 else ["leaf"])
    if kind == "leaf":
        i = rng.integers(3)
        return lambda t, flags, lie: lie(t[i])
    a, b = random_program(rng, depth + 1), random_program(rng, depth + 1)
    if kind == "add":
        return lambda t, flags, lie: a(t, flags, lie) + b(t, flags, lie)
    if kind == "times":
        return lambda t, flags, lie: lie(a(t, flags, lie) * 0.5)
    if kind == "cond":
        i = rng.integers(2)

        def chosen(t, flags, lie):
            if isinstance(flags[i], bool):
                return (a if flags[i] else b)(t, flags, lie)
            return tf.cond(flags[i], lambda: a(t, flags, lie), lambda: b(t, flags, lie))

        return chosen
    if kind == "function":
        return lambda t, flags, lie: (
            a(t, flags, lie) if isinstance(flags[0], bool) else tf.function(lambda: a(t, flags, lie))()
        )
    turns = int(rng.integers(3))

    def loop(t, flags, lie):
        if isinstance(flags[0], bool):
            total = a(t, flags, lie)
            for _ in range(turns):
                total = total + b(t, flags, lie)
            return total
        start = a(t, flags, lie)
        limit = tf.cast(tf.reduce_sum(t[3]), tf.int32) + turns
        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        return tf.while_loop(lambda i, _: i < limit, lambda i, c: (i + 1, c + b(t, flags, lie)), (0, start), shapes)[1]

    return loop


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_with_shapes_that_are_not_so(seed):
    """What comes out is what NumPy computes from the shapes that the tensors have, or TensorFlow's error."""
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    claimed = int(rng.choice([4, 5000]))

    def lie(x):
        if rng.random() < 0.4:
            x = x + 0.0
            try:
                x.set_shape([claimed])
            except ValueError:  # it is known better
                pass
        return x

    signature = [tf.TensorSpec([None], tf.float32)] * 3 + [tf.TensorSpec([], tf.bool)] * 2 + [tf.TensorSpec([0])]
    traced = tf.function(lambda a, b, c, p, q, z: program([a, b, c, z], [p, q], lie), input_signature=signature)
    for _ in range(6):
        sizes = rng.choice([1, 2, claimed], 3)
        tensors = [rng.random(n, np.float32) for n in sizes]
        flags = [bool(f) for f in rng.integers(0, 2, 2)]
        try:
            want = program([*tensors, None], flags, lambda x: x)
        except ValueError:
            want = None
        try:
            got = traced(*map(tf.constant, tensors), *map(tf.constant, flags), tf.zeros([0])).numpy()
        except (tf.errors.InvalidArgumentError, ValueError):
            continue  # a claim that was wrong, or shapes that do not go together
        assert want is not None
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("index", [[], [0], [1, 0, 1], [[]]])
def test_an_index_or_predicate_that_is_no_scalar(index):
    def choose(i, s):
        return tf.switch_case(tf.reshape(i, s), [lambda: 1.0, lambda: 2.0])

    index = tf.constant(index, tf.int32)
    sizes = tf.shape(index)
    anything = [tf.TensorSpec(None, tf.int32), tf.TensorSpec([None], tf.int32)]
    found = tf.function(lambda i, s: choose(i, tf.boolean_mask(s, s >= 0)), input_signature=anything)
    for f in (tf.function(choose, input_signature=anything), found):
        with pytest.raises(tf.errors.InvalidArgumentError, match="branch_index must be a scalar"):
            f(index, sizes)
        assert float(f(tf.constant([1]), tf.constant([], tf.int32))) == 2
    rank = tf.TensorSpec([None] * index.shape.rank, tf.int32)
    with pytest.raises(ValueError, match="branch_index must be a scalar"):
        tf.function(lambda i: tf.switch_case(i, [lambda: 1.0]), input_signature=[rank])(index)


def test_lists_of_sizes_that_are_none():
    raw = tf.raw_ops
    empty = raw.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.float32)
    rows = tf.zeros([2, 3])

    def reserve(n):
        return raw.TensorListReserve(element_shape=-1, num_elements=n, element_dtype=tf.float32)

    def resize(n):
        return raw.TensorListResize(input_handle=empty, size=n)

    def split(n):
        return raw.TensorListSplit(tensor=rows, element_shape=[3], lengths=n)

    calls = [
        (reserve, "[Rr]ank|scalar", tf.zeros([0], tf.int32)),
        (reserve, "[Rr]ank|scalar", tf.zeros([2, 2], tf.int32)),
        (resize, "[Rr]ank|scalar", tf.zeros([0], tf.int32)),
        (split, "add up", tf.constant([2**62] * 4 + [2], tf.int64)),
        (split, "add up", tf.constant([1], tf.int64)),
    ]
    for call, words, n in calls:
        for f in (call, tf.function(call), tf.function(call, input_signature=[tf.TensorSpec(None, n.dtype)])):
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=words):
                f(n)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="list of 1099511627776 elements"):
        raw.TensorListFromTensor(tensor=tf.zeros([1 << 40, 0]), element_shape=[0])
