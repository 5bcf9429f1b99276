"""Ops, functions and control flow with more inputs, outputs and variables than a machine word has bits."""

import functools
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tandem as tf
from conftest import environment

COUNTS = [31, 32, 33, 65, 1000]
LONG = os.environ.get("TANDEM_LONG_TESTS") == "1"


def arrays(n):
    return np.random.default_rng(n).uniform(0.5, 1.5, (n, 3)).astype(np.float32)


def _while(xs):
    step = lambda i, *all: (i + 1, *(x + 1 for x in all))  # noqa: E731
    return tf.stack(tf.while_loop(lambda i, *_: i < 2, step, (0, *xs))[1:])


def _switch(xs):
    return tf.switch_case(len(xs) - 2, [functools.partial(tf.identity, x) for x in xs])


def _partition(xs):
    n = len(xs)
    parts = tf.dynamic_partition(tf.stack(xs), tf.range(n)[::-1], n)
    return tf.concat(parts, 0)


def _stitch(xs):
    n = len(xs)
    return tf.dynamic_stitch([[n - 1 - i] for i in range(n)], [x[None] for x in xs])


def _call(xs):
    inner = tf.function(lambda *all: tf.add_n([2.0 * x for x in all]))
    return inner(*xs)


def _lists(xs):
    array = tf.TensorArray(tf.float32, len(xs), element_shape=[3])
    for i, x in enumerate(xs):
        array = array.write(i, x)
    return array.stack()


def _einsum(xs):
    return tf.einsum(",".join("a" for _ in xs) + "->a", *[x ** (1 / len(xs)) for x in xs])


# Name → (of n tensors of shape [3], the same of an array). All have gradients.
CASES = {
    "add_n": (tf.add_n, lambda a: a.sum(0)),
    "concat": (lambda xs: tf.concat(xs, 0), lambda a: a.reshape(-1)),
    "stack": (tf.stack, lambda a: a),
    "stack the last axis": (lambda xs: tf.stack(xs, 1), lambda a: a.T),
    "identity_n": (lambda xs: tf.identity_n(xs)[-2], lambda a: a[-2]),
    "tuple": (lambda xs: tf.tuple(xs)[-1], lambda a: a[-1]),
    "unstack": (lambda xs: tf.unstack(tf.stack(xs) * 2.0)[-2], lambda a: 2 * a[-2]),
    "split": (lambda xs: tf.split(tf.concat(xs, 0), len(xs))[-1], lambda a: a[-1]),
    "split sizes": (lambda xs: tf.split(tf.concat(xs, 0), [3] * len(xs))[-2], lambda a: a[-2]),
    "dynamic_partition": (_partition, lambda a: a[::-1]),
    "dynamic_stitch": (_stitch, lambda a: a[::-1]),
    "one chain": (lambda xs: functools.reduce(tf.add, [tf.tanh(x) for x in xs]), lambda a: np.tanh(a).sum(0)),
    "call": (_call, lambda a: 2 * a.sum(0)),
    "cond": (lambda xs: tf.cond(xs[0][0] > 0, lambda: tf.add_n(xs), lambda: xs[0]), lambda a: a.sum(0)),
    "while": (_while, lambda a: a + 2),
    "switch_case": (_switch, lambda a: a[-2]),
    "TensorArray": (_lists, lambda a: a),
    "einsum": (_einsum, lambda a: (a ** (1 / len(a))).prod(0)),
    "map_fn": (lambda xs: tf.stack(tf.map_fn(lambda t: t, tuple(x[None] for x in xs))), lambda a: a[:, None]),
}
SLOW = {} if LONG else {"map_fn": 65}  # the loop's gradient takes seconds from here on


def check(name, n, traced):
    function, reference = CASES[name]
    given = arrays(n)
    xs = [tf.constant(x) for x in given]
    wanted = reference(given.astype(np.float64))
    weights = np.random.default_rng(1).uniform(1, 2, wanted.shape).astype(np.float32)

    def run(*xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = function(list(xs))
            loss = tf.reduce_sum(y * weights)
        return [y, *tape.gradient(loss, xs, unconnected_gradients="zero")]

    got = [t.numpy() for t in (tf.function(run) if traced else run)(*xs)]
    np.testing.assert_allclose(got[0], wanted, 1e-5, 1e-5)
    # Along a random direction, against the difference of two values in float64.
    direction = np.random.default_rng(2).normal(size=given.shape)
    step = 1e-6
    up, down = (reference(given + s * step * direction) for s in (1.0, -1.0))
    slope = ((up - down) / (2 * step) * weights).sum()
    found = sum((g.astype(np.float64) * d).sum() for g, d in zip(got[1:], direction))
    np.testing.assert_allclose(found, slope, 1e-4, 1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", list(CASES))
def test_values_and_gradients(name, traced):
    for n in COUNTS:
        if n <= SLOW.get(name, n):
            check(name, n, traced)


# On GPUs, where a kernel of many inputs is several.
MANY_ON_GPUS = ["add_n", "concat", "stack", "split", "identity_n", "unstack", "dynamic_partition", "call"]


def run_on_emulated_gpus(code):
    made = {**environment(2), "TANDEM_EMULATED_MEMORY_MB": "512"}
    program = "import sys\nsys.path.insert(0, sys.argv[1])\nfrom test_many_inputs import *\n" + textwrap.dedent(code)
    command = [sys.executable, "-c", program + "\nprint('all right')", str(pathlib.Path(__file__).parent)]
    result = subprocess.run(command, env=made, capture_output=True, text=True, check=False)
    assert result.stdout.endswith("all right\n"), result.stdout + result.stderr
    return result.stdout


def test_on_emulated_gpus():
    run_on_emulated_gpus("""
    for traced in (False, True):
        for name in CASES:
            for n in COUNTS:
                if n < 100 or name in MANY_ON_GPUS or (LONG and name not in SLOW):
                    with tf.device("/GPU:%d" % (n % 2)):
                        check(name, n, traced)
    for n in COUNTS:
        with tf.device("/GPU:1"):
            check_updates(n)
    """)


def test_ops_without_gradients_on_emulated_gpus():
    run_on_emulated_gpus("""
    for n in (33, 1000):
        with tf.device("/GPU:1"):
            check_ops_without_gradients(n)
    """)


def check_updates(n):
    given = arrays(n)
    variables = [tf.Variable(x) for x in given]

    @tf.function
    def step():
        for i, v in enumerate(variables):
            v.assign_add(tf.fill([3], float(i)))
        return tf.add_n([v.read_value() for v in variables])

    total = step().numpy()
    wanted = given + np.arange(n)[:, None]
    np.testing.assert_allclose(total, wanted.sum(0), 1e-5)
    for v, w in zip(variables, wanted):
        np.testing.assert_allclose(v.numpy(), w, 1e-6)
    optimizer = tf.keras.optimizers.SGD(1.0)
    optimizer.apply_gradients([(tf.ones([3]) * float(i), v) for i, v in enumerate(variables)])
    for v, w in zip(variables, given):
        np.testing.assert_allclose(v.numpy(), w, 1e-4, 1e-4)


@pytest.mark.parametrize("n", COUNTS)
def test_variables_of_one_function(n):
    check_updates(n)


@pytest.mark.parametrize("n", COUNTS)
def test_ops_without_gradients(n):
    check_ops_without_gradients(n)


def check_ops_without_gradients(n):
    words = [f"w{i}" for i in range(n)]
    assert tf.strings.join([tf.constant(w) for w in words], ",").numpy().decode() == ",".join(words)
    assert tf.strings.format("{} " * n, [tf.constant(i) for i in range(n)]).numpy().split()[-1] == b"%d" % (n - 1)
    assert [s.numpy().tolist() for s in tf.shape_n([tf.zeros([i]) for i in range(n)])] == [[i] for i in range(n)]
    total = tf.py_function(lambda *all: sum(int(x) for x in all), list(range(n)), tf.int32)
    assert int(total) == n * (n - 1) // 2
    outputs = tf.numpy_function(lambda: tuple(np.int64(range(n))), [], [tf.int64] * n)
    assert [int(x) for x in outputs] == list(range(n))
    with pytest.raises(tf.errors.InvalidArgumentError, match=str(n - 1)):
        tf.debugging.Assert(False, [tf.constant(i) for i in range(n)], summarize=n)
    row = ",".join(map(str, range(n)))
    assert [int(x) for x in tf.io.decode_csv(row, [[0]] * n)] == list(range(n))
    feature = {w: tf.train.Feature(int64_list=tf.train.Int64List(value=[i])) for i, w in enumerate(words)}
    message = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    parsed = tf.io.parse_single_example(message, {w: tf.io.FixedLenFeature([], tf.int64) for w in words})
    assert [int(parsed[w]) for w in words] == list(range(n))


@pytest.mark.parametrize("n", COUNTS)
def test_elements_of_many_components(n):
    D = tf.data.Dataset
    rows = np.arange(4 * n).reshape(4, n)
    dataset = D.from_tensor_slices(tuple(rows[:, i] for i in range(n)))
    dataset = dataset.map(lambda *all: tuple(x + 1 for x in all), num_parallel_calls=2).shuffle(4).batch(2).unbatch()
    got = sorted([int(x) for x in element] for element in dataset)
    assert got == (rows + 1).tolist()
    zipped = D.zip(*(D.from_tensors(i) for i in range(n)))
    assert [int(x) for x in next(iter(zipped))] == list(range(n))
    chosen = D.choose_from_datasets([D.from_tensors(i) for i in range(n)], D.range(n).map(lambda i: n - 1 - i))
    assert [int(x) for x in chosen] == list(range(n))[::-1]


@pytest.mark.parametrize("n", COUNTS)
def test_what_a_function_of_a_dataset_holds(n):
    """Tensors and variables from outside of the function."""
    held = [tf.constant(i) for i in range(n)]
    variables = [tf.Variable(10 * i) for i in range(n)]

    def total(x):
        return x + tf.add_n(held) + tf.add_n([v.read_value() for v in variables])

    data = tf.data.Dataset.range(3, output_type=tf.int32).map(total, num_parallel_calls=2)
    wanted = 11 * n * (n - 1) // 2
    assert [int(x) for x in data] == [wanted + i for i in range(3)]
    variables[-1].assign_add(1)
    assert [int(x) for x in data] == [wanted + 1 + i for i in range(3)]


@pytest.mark.parametrize("n", COUNTS)
def test_prints_of_many(n, capfd):
    values = [tf.constant(i) for i in range(n)]
    wanted = " ".join(map(str, range(n)))
    tf.print(*values, output_stream=sys.stdout)
    tf.function(lambda *all: tf.print(*all, output_stream=sys.stdout))(*values)
    sys.stdout.flush()
    assert capfd.readouterr().out.split("\n") == [wanted, wanted, ""]


@pytest.mark.parametrize("n", COUNTS)
def test_results_of_a_function(n):
    @tf.function
    def many(x):
        return {f"r{i}": x + i for i in range(n)}, [x * i for i in range(n)]

    sums, products = many(tf.constant(2))
    assert [int(sums[f"r{i}"]) for i in range(n)] == [2 + i for i in range(n)]
    assert [int(p) for p in products] == [2 * i for i in range(n)]


def test_branches_of_a_case():
    for n in (33, 65):

        @tf.function
        def pick(k):
            cases = [(tf.equal(k, i), functools.partial(tf.constant, i * i)) for i in range(n)]
            return tf.case(cases, default=lambda: -1)

        assert [int(pick(tf.constant(k))) for k in (0, 31, 32, n - 1, n)] == [0, 961, 1024, (n - 1) ** 2, -1]


def test_a_tape_counts_inputs_and_outputs_beyond_16_bits():
    n = 70_000
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = tf.add_n([x.read_value() * 1.0] * n)
    assert float(tape.gradient(y, x)) == n
    v = tf.Variable(tf.ones([n]))
    with tf.GradientTape() as tape:
        parts = tf.unstack(v)
        y = parts[0] + 2.0 * parts[n - 1]
    gradient = tf.convert_to_tensor(tape.gradient(y, v)).numpy()
    assert gradient[0] == 1 and gradient[-1] == 2 and gradient.sum() == 3


@pytest.mark.parametrize("gpus", [0, 1])
def test_sums_that_lie_where_an_addend_does(run_python, gpus):
    """a + b + a was written over a before a was added again: 2a + 2b. So of any addend but the first two."""
    status, out, err = run_python(
        """
        import itertools
        import tandem as tf

        numbers = dict(a=1.0, b=10.0, c=100.0)
        for count in (2, 3, 4):
            for order in itertools.product(numbers, repeat=count):
                for made in (tf.identity, lambda x: tf.cumsum(x, 1)[:, :1] * tf.ones([1, 5000])):
                    total = tf.function(lambda *xs: tf.add_n([made(x) for x in xs]), autograph=False)
                    named = {k: tf.fill([2, 5000], v) for k, v in numbers.items()}
                    found = total(*[named[k] for k in order]).numpy()
                    assert (found == sum(numbers[k] for k in order)).all(), (order, found)
        """,
        gpus=gpus,
    )
    assert status == 0, err


def test_indices_of_too_many_entries():
    x = tf.zeros([2])
    for n in (33, 64, 65, 100):
        for entry in (None, 0, slice(None)):
            with pytest.raises(tf.errors.InvalidArgumentError):
                x[(entry,) * n]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.strided_slice(x, [0] * 65, [1] * 65)
