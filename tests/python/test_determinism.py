"""What has the same bits in every run, and when: each claim of docs/determinism.md."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest

import tandem as tf
from conftest import environment

D = tf.data.Dataset

# ---- Ops, functions and training

PROGRAM = """
import hashlib, json, sys, threading
import numpy as np
import tandem as tf
from tandem import keras
from tandem.keras import layers

threads, deterministic, busy, models = map(int, sys.argv[1:])
tf.config.threading.set_intra_op_parallelism_threads(threads)
if deterministic:
    tf.config.experimental.enable_op_determinism()
keras.utils.set_random_seed(1)
r = np.random.default_rng(0)
made, values = {}, {}

def real(*shape):
    return tf.constant(r.normal(size=shape).astype("float32"))

def note(name, *tensors, keep=False):
    arrays = [np.ascontiguousarray(t) for t in tensors]
    made[name] = hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()
    if keep:
        values[name] = [float(x) for a in arrays for x in a.reshape(-1)[::97]]

# Another thread that computes: it has the team of threads as often as this one.
a, b = real(200, 500), real(500, 300)
over = threading.Event()
def compete():
    while not over.is_set():
        tf.matmul(a, b)
other = threading.Thread(target=compete)
if busy:
    other.start()

x = real(100, 3001)
ids = tf.constant(r.integers(0, 50, 20000))
rows = real(20000, 4)
note("elementwise", tf.exp(x), tf.sin(x), tf.tanh(x) * x + 1.0, tf.nn.gelu(x), tf.pow(tf.abs(x), 0.3))
note("float64", *(f(tf.cast(x, tf.float64)) for f in (tf.exp, tf.sin, tf.math.log1p, tf.math.erf)))
note("sums", tf.reduce_sum(x), tf.reduce_sum(x, 0), tf.reduce_sum(x, 1), tf.reduce_mean(x), tf.math.reduce_std(x, 0))
note("scans", tf.cumsum(x, 0), tf.cumsum(x, 1), tf.math.cumprod(x, 1))
note("softmax", tf.nn.softmax(x), tf.nn.log_softmax(x), tf.reduce_logsumexp(x, 1))
note("segments", tf.math.unsorted_segment_sum(rows, ids, 50), tf.scatter_nd(ids[:, None], rows, [50, 4]),
     tf.tensor_scatter_nd_add(tf.zeros([50, 4]), ids[:, None], rows))
note("order", tf.sort(x), tf.argsort(x), *tf.math.top_k(x, 7), tf.unique(ids)[0])
note("random", tf.random.normal([10000]), tf.random.uniform([10000]), tf.random.shuffle(tf.range(1000)),
     tf.random.stateless_truncated_normal([10000], [1, 2]), tf.nn.dropout(x, 0.3))

@tf.function
def chain(x):
    return tf.tanh(x * 2.0 + 1.0) * tf.exp(-x) - tf.sin(x)
note("chain", chain(x))
assert (chain(x).numpy() == (tf.tanh(x * 2.0 + 1.0) * tf.exp(-x) - tf.sin(x)).numpy()).all()

image, filters = real(4, 24, 24, 16), tf.Variable(real(3, 3, 16, 32))
note("products", tf.matmul(a, b), tf.matmul(real(32, 5000), real(5000, 32)), tf.einsum("ab,cb->ac", a, real(90, 500)),
     keep=True)
with tf.GradientTape() as tape:
    tape.watch(image)
    loss = tf.reduce_sum(tf.nn.conv2d(image, filters, 1, "SAME") ** 2)
note("convolution", loss, *tape.gradient(loss, [image, filters]))
note("function", tf.function(lambda a, b: tf.tanh(tf.matmul(a, b) * 0.01) * tf.reduce_sum(a))(a, b), keep=True)

if not models:
    over.set()
    print(json.dumps([made, values]))
    sys.exit()

def fit(name, model, x, y, **options):
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.fit(x, y, batch_size=32, epochs=1, verbose=0, **options)
    note(name, *model.get_weights(), keep=True)

pictures = r.normal(size=(64, 16, 16, 3)).astype("float32")
fit("convolutions", keras.Sequential([keras.Input((16, 16, 3)), layers.Conv2D(16, 3, activation="relu"),
    layers.BatchNormalization(), layers.Flatten(), layers.Dropout(0.3), layers.Dense(32, "gelu"), layers.Dense(1)]),
    pictures, r.normal(size=(64, 1)))
fit("recurrent", keras.Sequential([keras.Input((10, 8)), layers.LSTM(32), layers.Dense(1)]),
    r.normal(size=(64, 10, 8)), r.normal(size=(64, 1)))
fit("embedding", keras.Sequential([keras.Input((10,), dtype="int32"), layers.Embedding(300, 16), layers.Flatten(),
    layers.Dense(1)]), r.integers(0, 300, (64, 10)), r.normal(size=(64, 1)))
over.set()
print(json.dumps([made, values]))
"""

ANY_THREADS = ["elementwise", "float64", "sums", "scans", "softmax", "segments", "order", "random", "chain"]


def run(threads, deterministic, busy=0, models=1):
    # Kernels are chosen by the times of this process alone.
    made = {**environment(0), "TANDEM_COST_STORE": "off"}
    command = [sys.executable, "-c", PROGRAM, *map(str, (threads, deterministic, busy, models))]
    result = subprocess.run(command, env=made, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def one_thread():
    return run(threads=1, deterministic=1)[0]


# Numbers that divide work into equal and into unequal parts, and more threads than most machines of tests have cores.
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_bits_of_deterministic_runs(threads, one_thread):
    assert run(threads, deterministic=1, busy=1)[0] == one_thread


@pytest.mark.parametrize("threads", [3, 5])
def test_bits_of_other_runs(threads, one_thread):
    made, _ = run(threads, deterministic=0, busy=1, models=0)
    for name in ANY_THREADS:
        assert made[name] == one_thread[name], name


def test_bits_and_values_of_other_runs(one_thread):
    plain_one, values_one = run(threads=1, deterministic=0)
    plain_two, values_two = run(threads=2, deterministic=0, busy=1)
    for name in ANY_THREADS:
        assert plain_one[name] == plain_two[name] == one_thread[name], name
    for name, values in values_one.items():
        np.testing.assert_allclose(values_two[name], values, 1e-3, 1e-4, err_msg=name)


# ---- Datasets

FUNCTIONS = """
import tandem as tf
D = tf.data.Dataset
counter = tf.Variable(0.0)
drawn = tf.random.Generator.from_seed(4)
def count(x):
    return counter.assign_add(1.0) * tf.cast(x, tf.float32)
FUNCTIONS = {
    "uniform": lambda x: tf.random.uniform([3]),
    "two": lambda x: tf.random.normal([2]) + tf.random.uniform([2], seed=5),
    "shape": lambda x: tf.random.shuffle(tf.range(x % 3 + 2)),
    "by shape": lambda x: tf.random.uniform(tf.shape(x)),
    "branch": lambda x: tf.cond(x % 2 == 0, lambda: tf.random.uniform([]), lambda: tf.zeros([])),
    "loop": lambda x: tf.while_loop(
        lambda i, s: i < x % 3, lambda i, s: (i + 1, s + tf.random.uniform([])), (x * 0, 0.0))[1],
    "generator": lambda x: drawn.normal([2]),
    "variable": count,
    "python": lambda x: tf.numpy_function(lambda: __import__("numpy").float32(next(numbers)), [], tf.float32),
}
def reset():
    global numbers
    tf.random.set_seed(3)
    counter.assign(0.0)
    drawn.reset_from_seed(4)
    numbers = iter(range(10**6))
def values(dataset, passes=2):
    return [[x.numpy().tolist() for x in dataset] for _ in range(passes)]
def source(name):
    return D.range(40).batch(3) if name == "by shape" else D.range(40)
"""
# Those of which every call says beforehand how many numbers it draws.
LIFTED = ["uniform", "two", "by shape"]


@pytest.mark.parametrize("deterministic", [False, True], ids=["default", "determinism"])
def test_parallel_maps_draw_as_sequential_ones(run_python, deterministic):
    status, out, err = run_python(
        FUNCTIONS
        + f"""
if {deterministic}:
    tf.config.experimental.enable_op_determinism()
names = FUNCTIONS if {deterministic} else {LIFTED}
for name in names:
    for take in (None, 7):
        found = []
        for calls in (None, 1, 2, 3, 5, 8, tf.data.AUTOTUNE):
            reset()
            dataset = source(name).map(FUNCTIONS[name], num_parallel_calls=calls)
            found.append(values(dataset if take is None else dataset.take(take)))
            assert found[-1] == found[0], (name, take, calls)
            assert len(set(map(str, found[0][0]))) > 1, name
# Passes that are given up inside of a pass, and datasets that draw side by side, made inside and outside of the
# function that gives them.
def inner(x, calls):
    return D.range(5).map(lambda y: tf.random.uniform([2]), num_parallel_calls=calls)
outside = {{calls: inner(0, calls) for calls in (None, 2)}}
SHARED = {{
    "repeat": lambda calls: inner(0, calls).take(3).repeat(4),
    "flat_map": lambda calls: D.range(4).flat_map(lambda x: inner(x, calls).take(3)),
}}
if {deterministic}:
    SHARED |= {{
        "prefetch and repeat": lambda calls: inner(0, calls).prefetch(2 if calls else 0).take(3).repeat(4),
        "concatenate": lambda calls: (d := inner(0, calls).prefetch(2 if calls else 0).take(3)).concatenate(d),
        "zip": lambda calls: D.zip(d := inner(0, calls).prefetch(2 if calls else 0), d).map(lambda *xy: tf.stack(xy)),
        "choose": lambda calls: D.choose_from_datasets([d := inner(0, calls), d], D.range(10).map(lambda i: i % 2)),
        "interleave": lambda calls: D.range(6).interleave(lambda x: inner(x, calls), 3, num_parallel_calls=calls),
        "interleave of one": lambda calls: D.range(6).interleave(lambda x: outside[calls], 3, num_parallel_calls=calls),
    }}
for name, make in SHARED.items():
    found = []
    for calls in (None, 2, 2, 2):
        reset()
        found.append(values(make(calls)))
        assert found[-1] == found[0], name
print("all right")
"""
    )
    assert out == "all right\n", err


# tf.random.set_seed(3) in TensorFlow 2.21: a map with seed=11, and one without a seed of its own in repeat(2).
SEEDED = [
    [0.5616264343261719, 0.23479235172271729],
    [0.8227047920227051, 0.10067427158355713],
    [0.014528393745422363, 0.8143922090530396],
    [0.9761784076690674, 0.9996744394302368],
]
REPEATED = [0.12736404, 0.8580158, 0.88987064, 0.513566, 0.565608, 0.750381]


@pytest.mark.parametrize("calls", [None, 1, 4])
def test_numbers_of_a_map_are_tensorflows(calls):
    tf.random.set_seed(3)
    dataset = D.range(4).map(lambda x: tf.random.uniform([2], seed=11), num_parallel_calls=calls)
    for _ in range(2):  # each pass begins its sequences
        assert [x.numpy().tolist() for x in dataset] == SEEDED
    assert [x.numpy().tolist() for x in dataset.take(2)] == SEEDED[:2]
    iterators = [iter(dataset), iter(dataset)]
    assert [[next(i).numpy().tolist() for i in iterators] for _ in range(4)] == [[x, x] for x in SEEDED]
    repeated = D.range(3).map(lambda x: tf.random.uniform([]), num_parallel_calls=calls).repeat(2)
    for _ in range(2):
        np.testing.assert_array_equal([x.numpy() for x in repeated], np.float32(REPEATED))


def test_functions_that_draw_inside_of_functions():
    tf.random.set_seed(3)
    inner = lambda x: D.range(2).map(lambda y: tf.random.uniform([]))  # noqa: E731
    for dataset in (D.range(3).interleave(inner, cycle_length=2), D.range(3).flat_map(inner)):
        for _ in range(2):
            np.testing.assert_array_equal([x.numpy() for x in dataset], np.float32(REPEATED))

    @tf.function
    def total():
        s = tf.constant(0.0)
        for x in D.range(3).map(lambda y: tf.random.uniform([])):
            s = s * 10 + x
        return s

    for _ in range(2):
        np.testing.assert_allclose(total(), 22.206432, 1e-6)


def test_passes_without_a_seed_differ(run_python):
    _, out, err = run_python("""
    import tandem as tf
    for calls in (None, 2):
        dataset = tf.data.Dataset.range(8).map(lambda x: tf.random.uniform([]), num_parallel_calls=calls)
        passes = [float(x) for _ in range(4) for x in dataset]
        assert len(set(passes)) == 32
    print("all right")
    """)
    assert out == "all right\n", err


def test_calls_that_draw_run_side_by_side():
    meeting = threading.Barrier(2, timeout=60)

    def wait(x):
        meeting.wait()
        return x

    def draw(x):
        return tf.numpy_function(wait, [tf.random.uniform([2])], tf.float32)

    assert len(list(D.range(6).map(draw, num_parallel_calls=2))) == 6


def test_they_do_so_where_every_run_is_the_same(run_python):
    status, out, err = run_python(
        """
        import contextlib, pathlib, time
        import tandem as tf

        def name_of(task):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                return (task / "comm").read_text()

        def workers():
            return [name_of(task) for task in pathlib.Path("/proc/self/task").iterdir()].count("data-map\\n")

        tf.config.experimental.enable_op_determinism()
        tf.random.set_seed(1)
        numbers = iter(tf.data.Dataset.range(100).map(lambda x: tf.random.uniform([2]), num_parallel_calls=3))
        next(numbers)
        deadline = time.monotonic() + 60  # one worker is enough for the first element
        while workers() < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        print(workers())
        """
    )
    assert (status, out) == (0, "3\n"), err
