"""Programs that train for long, and whether memory grows while they do. Used by test_memory_growth.py, and a program:

    python tests/python/growth_cases.py [--seed 0] [--cases 20] [--steps 500] [--soak] [--new NAME...]

Each case is a model, a feed, an optimizer and a way to call them, chosen at random. Sizes of batches, lengths and
numbers of distinct ids change from step to step, and all of them have been seen after the first steps. What is counted
after 50 steps must be the same after the last one: objects of the package, bytes of the allocators of the host and of
devices. The slope of resident memory must not be above the noise of the same run. --soak: every layer with variables.

--new: programs in which nothing repeats: shapes, functions, models or datasets that were not there before. What malloc
has given out must stay level once every cache is full.
"""

import argparse
import ctypes
import functools
import gc
import random
import sys

import numpy as np

import tandem as tf
from tandem import _core

keras = tf.keras
layers = keras.layers

# Batches of one round, by size and length; a round has them all.
BATCHES = [(8, 6), (8, 9), (5, 6), (8, 6), (7, 3), (8, 9)]
ROUND = len(BATCHES)
IDS = 3000
TABLE = (IDS, 8)


# ---- Models: (model, function from a generator of random numbers, a size and a length to a batch)


def _targets(rng, n):
    return rng.random((n, 1), dtype=np.float32)


def scalar_ids(rng):
    """An embedding of one id for each row; how many of a batch are distinct varies."""
    ids = keras.Input((), dtype="int32")
    model = keras.Model(ids, layers.Dense(1)(layers.Embedding(*TABLE)(ids)))
    return model, lambda n, length: rng.integers(0, rng.integers(2, IDS), n).astype("int32")


def sequences(rng):
    ids = keras.Input((None,), dtype="int32")
    h = layers.GlobalAveragePooling1D()(layers.Embedding(*TABLE)(ids))
    return keras.Model(ids, layers.Dense(1)(h)), lambda n, length: rng.integers(0, IDS, (n, length)).astype("int32")


def tables(rng):
    """Several tables, whose inputs are a dict."""
    inputs = {f"id{i}": keras.Input((), dtype="int32", name=f"id{i}") for i in range(3)}
    h = layers.Concatenate()([layers.Embedding(*TABLE)(x) for x in inputs.values()])
    model = keras.Model(inputs, layers.Dense(1)(layers.Dense(8, activation="relu")(h)))
    return model, lambda n, length: {k: rng.integers(0, IDS, n).astype("int32") for k in inputs}


def dense(rng):
    hidden = [layers.Dense(32, activation="relu"), layers.Dropout(0.2)]
    model = keras.Sequential([keras.Input((16,)), *hidden, layers.Dense(1)])
    return model, lambda n, length: rng.random((n, 16), dtype=np.float32)


def two_inputs(rng):
    a, b = keras.Input((4,)), keras.Input((4,))
    model = keras.Model([a, b], layers.Dense(1)(layers.Add()([layers.Dense(8)(a), layers.Dense(8)(b)])))
    return model, lambda n, length: (rng.random((n, 4), dtype=np.float32), rng.random((n, 4), dtype=np.float32))


def images(rng):
    model = keras.Sequential(
        [keras.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.ReLU(),
         layers.GlobalMaxPooling2D(), layers.Dense(1)]
    )  # fmt: skip
    return model, lambda n, length: rng.random((n, 8, 8, 3), dtype=np.float32)


def recurrent(rng):
    model = keras.Sequential([keras.Input((None, 5)), layers.Bidirectional(layers.LSTM(4)), layers.Dense(1)])
    return model, lambda n, length: rng.random((n, length, 5), dtype=np.float32)


def attention(rng):
    x = keras.Input((None, 8))
    h = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    model = keras.Model(x, layers.Dense(1)(layers.GlobalAveragePooling1D()(h)))
    return model, lambda n, length: rng.random((n, length, 8), dtype=np.float32)


class _Distinct(layers.Layer):
    """Looks every distinct id up once: sizes that depend on data."""

    def build(self, shape):
        self.table = self.add_weight(shape=TABLE)

    def call(self, ids):
        rows, places = tf.unique(ids)
        return tf.gather(tf.gather(self.table, rows) * 2.0, places)

    def compute_output_shape(self, shape):
        return (*shape, TABLE[1])


def distinct_ids(rng):
    ids = keras.Input((), dtype="int32")
    model = keras.Model(ids, layers.Dense(1)(_Distinct()(ids)))
    # Of each size of a batch there are one or two distinct ones soon.
    return model, lambda n, length: (rng.integers(0, IDS - 2) + rng.permutation(n) % rng.integers(1, 3)).astype("int32")


class _Masked(layers.Layer):
    """The longest of the given lengths decides a size; their other digits do not."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(1, 4))

    def call(self, lengths):
        mask = tf.sequence_mask(lengths % 10, dtype=tf.float32)
        return tf.reduce_sum(mask, axis=1, keepdims=True) @ self.kernel

    def compute_output_shape(self, shape):
        return (*shape, 4)


def lengths(rng):
    given = keras.Input((), dtype="int32")
    model = keras.Model(given, layers.Dense(1)(_Masked()(given)))
    return model, lambda n, length: (rng.integers(5, 7) + 10 * rng.integers(0, 9, n)).astype("int32")


MODELS = [scalar_ids, sequences, tables, dense, two_inputs, images, recurrent, attention, distinct_ids, lengths]


# ---- Feeds: each runs one round


class _Batches:
    """The batches of rounds, made when they are wanted."""

    def __init__(self, make, rng):
        self.make, self.rng = make, rng

    def round(self):
        for n, length in BATCHES:
            yield self.make(n, length), _targets(self.rng, n)


def _fit_arrays(model, batches, options):
    # The last batch is smaller than the others.
    n = sum(size for size, _ in BATCHES)
    return dict(x=_as_lists(batches.make(n, BATCHES[0][1])), y=_targets(batches.rng, n), batch_size=8)


def _as_lists(x):
    return list(x) if isinstance(x, tuple) else x


def arrays(model, batches, options):
    model.fit(**_fit_arrays(model, batches, options), verbose=0, **options)


def dataset(model, batches, options):
    x, y = next(batches.round())
    leaves = zip(tf.nest.flatten(x), model.inputs)
    specs = [tf.TensorSpec(given.shape, a.dtype) for a, given in leaves]
    signature = (tf.nest.pack_sequence_as(x, specs), tf.TensorSpec((None, 1), y.dtype))
    model.fit(tf.data.Dataset.from_generator(batches.round, output_signature=signature), verbose=0, **options)


def sliced_dataset(model, batches, options):
    given = _fit_arrays(model, batches, options)
    x = tuple(given["x"]) if isinstance(given["x"], list) else given["x"]
    model.fit(tf.data.Dataset.from_tensor_slices((x, given["y"])).batch(8).prefetch(2), verbose=0, **options)


def generator(model, batches, options):
    model.fit(batches.round(), verbose=0, **options)


def on_batch(model, batches, options):
    for x, y in batches.round():
        model.train_on_batch(_as_lists(x), y)


def and_predict(model, batches, options):
    arrays(model, batches, options)
    given = _fit_arrays(model, batches, options)
    model.evaluate(**given, verbose=0)
    model.predict(given["x"], batch_size=8, verbose=0)


def epochs(model, batches, options):
    given = _fit_arrays(model, batches, options)
    x, y = given["x"], given["y"]
    model.fit(**given, epochs=2, validation_data=(x, y), validation_batch_size=8, verbose=0, **options)


def _step(model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    model.optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def eager_loop(model, batches, options):
    for x, y in batches.round():
        _step(model, tf.nest.map_structure(tf.constant, _as_lists(x)), tf.constant(y))


def compiled_loop(model, batches, options):
    if not hasattr(model, "compiled_step"):
        model.compiled_step = tf.function(functools.partial(_step, model))
    for x, y in batches.round():
        model.compiled_step(tf.nest.map_structure(tf.constant, _as_lists(x)), tf.constant(y))


FEEDS = [arrays, dataset, sliced_dataset, generator, on_batch, and_predict, epochs, eager_loop, compiled_loop]
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.01),
    "momentum": lambda: keras.optimizers.SGD(0.01, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(),
    "adagrad": lambda: keras.optimizers.Adagrad(),
    "rmsprop": lambda: keras.optimizers.RMSprop(),
    "adam, clipped": lambda: keras.optimizers.Adam(clipnorm=1.0),
    "adamw, averaged": lambda: keras.optimizers.AdamW(use_ema=True),
}


# ---- What is counted


def _resident():
    """KiB."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4


def _devices():
    return [d.name for d in tf.config.list_logical_devices()]


def counts():
    _core.synchronize()
    gc.collect()
    made = {n: tf.config.experimental.get_memory_info(n.replace("/device:", ""))["current"] for n in _devices()}
    made["objects"] = sum(1 for o in gc.get_objects() if str(type(o).__module__).startswith("tandem"))
    return made


def grows(samples, at_once):
    """Whether memory (KiB, at equal distances) rises by more than its noise: what it moves up and down, and what is given
    out at once."""
    samples = np.asarray(samples, dtype=float)
    quarter = max(1, len(samples) // 4)
    rise = np.median(samples[-quarter:]) - np.median(samples[:quarter])
    straight = np.polyval(np.polyfit(np.arange(len(samples)), samples, 1), np.arange(len(samples)))
    noise = 3 * np.abs(samples - straight).max() + at_once
    return rise > noise, rise, noise


class Memory:
    """What malloc has given out, and what is resident, while a program runs."""

    AT_ONCE = {"malloc's memory": 512, "resident memory": 2048}

    def __init__(self):
        self.samples = {what: [] for what in self.AT_ONCE}

    def look(self):
        for values, now in zip(self.samples.values(), (given_out(), _resident())):
            values.append(now)

    def wrong(self, period):
        found = []
        for what, values in self.samples.items():
            up, rise, noise = grows(values, self.AT_ONCE[what])
            if up:
                found.append(f"{what} rose by {rise:.0f} KiB in {period}, noise {noise:.0f}")
        return found


# Steps until every size has been seen, where data decides sizes, and a plan been made for it.
_LONG_START = {distinct_ids: 300, lengths: 300}


class Case:
    def __init__(self, seed, model=None, feed=None, optimizer=None, steps_per_execution=None):
        choose = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        pick = lambda given, all: (choose.choice(all), given)[given is not None]  # noqa: E731
        self.model = pick(model, MODELS)
        self.feed = pick(feed, FEEDS)
        self.optimizer = pick(optimizer, list(OPTIMIZERS))
        self.steps = pick(steps_per_execution, [1, 1, 3])
        self.callback = choose.random() < 0.5
        self.name = (
            f"{seed}: {self.model.__name__}, {self.feed.__name__}, {self.optimizer}, steps_per_execution={self.steps}"
            f"{', callback' if self.callback else ''}"
        )

    def run(self, steps):
        """What is wrong, as text; empty: nothing."""
        keras.utils.set_random_seed(1)
        model, make = self.model(self.rng)
        model.compile(OPTIMIZERS[self.optimizer](), "mse", steps_per_execution=self.steps)
        seen = []
        options = {}
        if self.callback and self.feed not in (on_batch, eager_loop, compiled_loop):
            options["callbacks"] = [keras.callbacks.LambdaCallback(on_train_batch_end=lambda b, logs: seen.append(b))]
        start = _LONG_START.get(self.model, 50)
        return train(lambda: self.feed(model, _Batches(make, self.rng), options), steps, start, seen)


# Rounds whose counts are taken together: what a device is not done with may be a tensor more or less.
_COUNTED = 4


def train(one_round, steps, start=50, seen=None):
    """What grows while rounds run, as text; empty: nothing."""
    for _ in range(start // ROUND + 1):
        one_round()

    def counted():
        taken = []
        for _ in range(_COUNTED):
            one_round()
            taken.append(counts())
        return taken

    before, memory = counted(), Memory()
    rounds = max(1, (steps - 50) // ROUND - 2 * _COUNTED)
    for _ in range(rounds):
        one_round()
        if seen is not None:
            seen.clear()
        memory.look()
    wrong = compare(before, counted())
    if rounds >= 60:
        wrong += memory.wrong(f"{rounds * ROUND} steps")
    return "; ".join(wrong)


# Bytes by which counts differ that a device's pace decides: some small tensors. One that every step left would be more
# after the fewest steps that are run.
_PACE = 2048


def compare(before, after):
    most = {k: max(c[k] for c in before) for k in before[0]}
    least = {k: min(c[k] for c in after) for k in before[0]}
    return [f"{k}: {most[k]} then {least[k]}" for k in most if least[k] > most[k] + (0 if k == "objects" else _PACE)]


# Cases that once grew.
FIXED = {
    "scalar ids": lambda: Case(0, scalar_ids, arrays, "adam", 1),
    "three tables": lambda: Case(0, tables, arrays, "adam", 1),
    "lengths": lambda: Case(0, lengths, arrays, "adam", 1),
    "distinct ids": lambda: Case(0, distinct_ids, dataset, "adam", 1),
    "compiled loop": lambda: Case(0, sequences, compiled_loop, "adam", 1),
}


def models_go():
    """Models that were trained and are gone have left nothing."""

    def once():
        rng = np.random.default_rng(0)
        model, make = scalar_ids(rng)
        model.compile("adam", "mse")
        arrays(model, _Batches(make, rng), {})

    def counted():
        taken = []
        for _ in range(3):
            once()
            taken.append(counts())
        return taken

    once()
    return "; ".join(compare(counted(), counted()))


# ---- Programs in which every call is new: functions of the call's number


def _sizes(least):
    sizes = list(range(least, least + 10000))
    random.Random(1).shuffle(sizes)
    return sizes


def new_shapes(long):
    """Traces of one function, with gradients and products, for shapes of about one size in random order."""
    weights = tf.Variable(tf.ones([16, 16]))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(x @ weights))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    sizes = _sizes(500)
    return lambda i: step(tf.zeros([sizes[i], 16]))


def new_eager_shapes(long):
    sizes = _sizes(8)
    kernel = tf.ones([3, 3, 3, 4])
    return lambda i: tf.nn.conv2d(tf.zeros([1, 4, sizes[i], 3]), kernel, 1, "SAME")


def new_sizes_in_one_trace(long):
    """Sizes that data decides: plans of one trace."""
    total = tf.function(lambda x: tf.reduce_sum(tf.unique(x)[0]), input_signature=[tf.TensorSpec([None], tf.int32)])
    sizes = _sizes(500)
    return lambda i: total(tf.range(sizes[i]))


def new_functions(long):
    def once(i):
        tf.function(lambda x: tf.reduce_sum(x * 2.0 + i))(tf.zeros([4]))

        def converted(x):
            for _ in tf.range(2):
                x = x + 1.0
            return x * i

        tf.function(converted)(tf.zeros([2]))

    return once


def new_modules(long):
    class Module(tf.Module):
        @tf.function
        def __call__(self, x):
            return x + 1.0

    def once(i):
        class Own(Module):
            @tf.function
            def own(self, x):
                return x * 2.0

        Own()(tf.zeros([3]))
        Own().own(tf.zeros([3]))

    return once


def new_models(long, clear=False):
    def once(i):
        model = keras.Sequential([keras.Input((8,)), layers.Dense(4, activation="relu"), layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(np.zeros((8, 8), "float32"), np.zeros((8, 1), "float32"), batch_size=4, verbose=0)
        if clear:
            keras.backend.clear_session()

    return once


def new_models_and_clear_session(long):
    return new_models(long, clear=True)


def new_datasets(long):
    def once(i):
        numbers = tf.data.Dataset.range(4).map(lambda x: x + i)
        for _ in numbers.filter(lambda x: x > 0).batch(2).prefetch(1):
            pass

    return once


def new_strategies(long):
    def once(i):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            v = tf.Variable(1.0)
        strategy.run(tf.function(lambda: v.assign_add(1.0)))

    return once


def new_tapes(long):
    def once(i):
        x = tf.Variable(tf.ones([3]), name=f"v{i}")
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(x * x)
            gradient = inner.gradient(y, x)
        outer.gradient(gradient, x)

    return once


# (calls until every cache is full, calls that are looked at), in short runs and in long ones. Caches of calls take
# thousands until they are full; None: long runs alone.
NEW = {
    new_shapes: (None, (3000, 1500)),
    new_eager_shapes: (None, (6000, 3000)),
    new_sizes_in_one_trace: (None, (5000, 5000)),
    new_functions: ((40, 160), (100, 2000)),
    new_modules: ((40, 80), (100, 1000)),
    new_models: ((8, 12), (20, 200)),
    new_models_and_clear_session: ((4, 8), (20, 200)),
    new_datasets: ((20, 100), (100, 2000)),
    new_strategies: ((20, 60), (50, 500)),
    new_tapes: ((100, 400), (200, 5000)),
}
_NEW_SAMPLES = 40


class _MallInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def given_out():
    """KiB that malloc has given out and that were not returned."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _MallInfo
    _core.synchronize()
    gc.collect()
    info = mallinfo2()
    return (info.uordblks + info.hblkhd) >> 10


def run_new(program, long):
    """What grows while `program` is called with what it has not seen, as text; empty: nothing."""
    if NEW[program][long] is None:
        return ""
    start, calls = NEW[program][long]
    once = program(long)
    for i in range(start):
        once(i)
    before, memory = counts(), Memory()
    for i in range(calls):
        once(start + i)
        if i % max(1, calls // _NEW_SAMPLES) == 0:
            memory.look()
    return "; ".join(compare([before], [counts()]) + memory.wrong(f"{calls} calls"))


# ---- Every layer with variables


def all_layers():
    """(name, layer, shape of its input without the batch; a list: of several inputs; int: of ids)"""
    L = layers
    yield "Dense", lambda: L.Dense(4), (5,)
    yield "EinsumDense", lambda: L.EinsumDense("abc,cd->abd", output_shape=(None, 4)), (3, 5)
    yield "Embedding", lambda: L.Embedding(50, 4), 3
    for n, shape in ((1, (9, 2)), (2, (7, 7, 2)), (3, (5, 5, 5, 2))):
        yield f"Conv{n}D", lambda n=n: getattr(L, f"Conv{n}D")(3, 3), shape
        yield f"Conv{n}DTranspose", lambda n=n: getattr(L, f"Conv{n}DTranspose")(3, 3), shape
    for n, shape in ((1, (9, 2)), (2, (7, 7, 2))):
        yield f"DepthwiseConv{n}D", lambda n=n: getattr(L, f"DepthwiseConv{n}D")(3), shape
        yield f"SeparableConv{n}D", lambda n=n: getattr(L, f"SeparableConv{n}D")(3, 3), shape
    for cell in ("SimpleRNN", "GRU", "LSTM"):
        yield cell, lambda cell=cell: getattr(L, cell)(4), (6, 3)
        yield f"RNN of {cell}Cell", lambda cell=cell: L.RNN([getattr(L, f"{cell}Cell")(4) for _ in range(2)]), (6, 3)
    yield "Bidirectional", lambda: L.Bidirectional(L.GRU(3)), (6, 3)
    yield "TimeDistributed", lambda: L.TimeDistributed(L.Dense(3)), (6, 3)
    yield "ConvLSTM1D", lambda: L.ConvLSTM1D(2, 3), (4, 6, 2)
    yield "ConvLSTM2D", lambda: L.ConvLSTM2D(2, 3), (3, 6, 6, 2)
    yield "BatchNormalization", lambda: L.BatchNormalization(), (5,)
    yield "LayerNormalization", lambda: L.LayerNormalization(), (5,)
    yield "GroupNormalization", lambda: L.GroupNormalization(2), (4, 4)
    yield "RMSNormalization", lambda: L.RMSNormalization(), (5,)
    yield "SpectralNormalization", lambda: L.SpectralNormalization(L.Dense(4)), (5,)
    yield "PReLU", lambda: L.PReLU(), (5,)
    yield "MultiHeadAttention", lambda: _SelfAttention(L.MultiHeadAttention(2, 3)), (6, 4)
    yield "GroupQueryAttention", lambda: _SelfAttention(L.GroupQueryAttention(3, 4, 2)), (6, 4)
    yield "Attention", lambda: _OnItself(L.Attention(use_scale=True)), (6, 4)
    yield "AdditiveAttention", lambda: _OnItself(L.AdditiveAttention()), (6, 4)
    for name in ("Dropout", "GaussianDropout", "GaussianNoise", "AlphaDropout", "SpatialDropout1D"):
        yield name, lambda name=name: getattr(L, name)(0.3), (6, 4)
    yield "Normalization", lambda: L.Normalization(mean=0.1, variance=2.0), (5,)


class _SelfAttention(layers.Layer):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, x):
        return self.inner(x, x)


class _OnItself(_SelfAttention):
    def call(self, x):
        return self.inner([x, x])


def soak(steps):
    """(name, what is wrong) of every layer."""
    for name, make, shape in all_layers():
        ids = isinstance(shape, int)
        x = keras.Input((shape,) if ids else shape, dtype="int32" if ids else "float32")
        h = layers.Dense(3)(make()(x))
        if len(h.shape) > 2:
            h = keras.ops.mean(h, axis=tuple(range(1, len(h.shape) - 1)))
        model = keras.Model(x, layers.Dense(1)(h))
        model.compile("adam", "mse")
        rng = np.random.default_rng(0)

        def batch(n, length, shape=shape, ids=ids, rng=rng):
            if ids:
                return rng.integers(0, 50, (n, shape)).astype("int32")
            return rng.random((n, *shape), dtype=np.float32)

        yield name, train(lambda: arrays(model, _Batches(batch, rng), {}), steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--soak", action="store_true")
    parser.add_argument("--fixed", action="store_true", help="the cases that once grew")
    parser.add_argument("--new", nargs="*", metavar="NAME", help="all when none is named")
    parser.add_argument("--long", action="store_true", help="--new with many more calls")
    given = parser.parse_args()
    found = 0

    def report(name, wrong):
        nonlocal found
        found += bool(wrong)
        print(f"{name}: {wrong or 'ok'}", flush=True)

    if given.fixed:
        for name, case in FIXED.items():
            report(name, case().run(given.steps))
        report("models that are gone", models_go())
    if given.soak:
        for name, wrong in soak(given.steps):
            report(name, wrong)
    for program in NEW:
        if given.new is not None and (not given.new or program.__name__ in given.new):
            report(program.__name__, run_new(program, given.long))
    for seed in range(given.seed, given.seed + given.cases):
        case = Case(seed)
        report(case.name, case.run(given.steps))
    print(f"growth_cases: {found} findings")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
