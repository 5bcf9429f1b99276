"""Programs that train for long, and whether memory grows while they do. Used by test_memory_growth.py, and a program:

    python tests/python/growth_cases.py [--seed 0] [--cases 20] [--steps 500] [--layers NAME...] [--new NAME...]

Each case is a model, a feed, an optimizer (any of keras.optimizers) and a way to call them, chosen at random; with several
devices of a kind (--cpus 2: the processor is two) also MirroredStrategy over them. Sizes of batches, lengths and numbers of
distinct ids change from step to step, and all of them have been seen after the first steps. growth_measure.py says what is
counted and what is growth. --layers: every layer of keras.layers, or those that are named.

--new: programs in which nothing repeats: shapes, functions, models or datasets that were not there before. What malloc
has given out must stay level once every cache is full.
"""

import argparse
import functools
import gc
import inspect
import random
import sys

import numpy as np

import growth_layers
import growth_measure
import tandem as tf

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


def sparse_rows(rng):
    rows = keras.Input((40,), sparse=True)
    model = keras.Model(rows, layers.Dense(1)(layers.Dense(4)(rows)))

    def batch(n, length):
        # So many in every row that batches have one of few sizes, whatever rows they are cut into.
        places = np.argsort(rng.random((n, 40)), axis=1)[:, : 4 * rng.integers(1, 4)]
        dense = np.zeros((n, 40), np.float32)
        np.put_along_axis(dense, places, rng.random(places.shape, dtype=np.float32) + 0.1, axis=1)
        return tf.sparse.from_dense(dense)

    return model, batch


class _RowSums(layers.Layer):
    """Of ragged rows: how many values a batch has varies."""

    def build(self, shape):
        self.table = self.add_weight(shape=TABLE)

    def call(self, rows):
        return tf.reduce_sum(tf.ragged.map_flat_values(lambda ids: tf.gather(self.table, ids), rows), axis=1)

    def compute_output_shape(self, shape):
        return (shape[0], TABLE[1])


def ragged_rows(rng):
    rows = keras.Input((None,), dtype="int32", ragged=True)
    model = keras.Model(rows, layers.Dense(1)(_RowSums()(rows)))

    def batch(n, length):
        # Few splits, which all are seen: what they decide is remembered for some thousand of them.
        lengths = np.arange(n) % rng.integers(2, 4)
        return tf.RaggedTensor.from_row_lengths(rng.permutation(IDS)[: lengths.sum()].astype("int32"), lengths)

    return model, batch


MODELS = [scalar_ids, sequences, tables, dense, two_inputs, images, recurrent, attention, distinct_ids, lengths,
          sparse_rows, ragged_rows]  # fmt: skip


# ---- Feeds: each runs one round


class _Batches:
    """The batches of rounds, made when they are wanted."""

    def __init__(self, make, rng):
        self.make, self.rng = make, rng

    def round(self):
        for n, length in BATCHES:
            yield self.make(n, length), _targets(self.rng, n)

    def for_ever(self):
        while True:
            yield from self.round()

    def dataset(self, model, made):
        leaves = [_kind(x) for x in model.inputs]
        x, y = next(self.round())
        packed = tf.nest.pack_sequence_as(x, leaves) if isinstance(x, (dict, tuple)) else leaves[0]
        signature = (packed, tf.TensorSpec((None, 1), y.dtype))
        return tf.data.Dataset.from_generator(made, output_signature=signature)

    def arrays(self):
        """What fit() takes. The last batch is smaller than the others."""
        n = sum(size for size, _ in BATCHES)
        return dict(x=_as_lists(self.make(n, BATCHES[0][1])), y=_targets(self.rng, n), batch_size=8)


def _kind(x):
    if x.sparse:
        return tf.SparseTensorSpec(x.shape, x.dtype)
    return tf.RaggedTensorSpec(x.shape, x.dtype) if x.ragged else tf.TensorSpec(x.shape, x.dtype)


def _as_lists(x):
    return list(x) if isinstance(x, tuple) else x


def arrays(model, batches, options):
    model.fit(**batches.arrays(), verbose=0, **options)


def dataset(model, batches, options):
    model.fit(batches.dataset(model, batches.round), verbose=0, **options)


def endless_dataset(model, batches, options):
    if not hasattr(model, "endless"):
        model.endless = batches.dataset(model, batches.for_ever).prefetch(1)
    model.fit(model.endless, steps_per_epoch=ROUND, verbose=0, **options)


def sliced_dataset(model, batches, options):
    given = batches.arrays()
    x = tuple(given["x"]) if isinstance(given["x"], list) else given["x"]
    rows = tf.data.Dataset.from_tensor_slices((x, given["y"])).shuffle(16).batch(8)
    model.fit(rows.map(lambda x, y: (x, y), num_parallel_calls=2).prefetch(2), verbose=0, **options)


def generator(model, batches, options):
    model.fit(batches.round(), verbose=0, **options)


def endless_generator(model, batches, options):
    model.fit(batches.for_ever(), steps_per_epoch=ROUND, verbose=0, **options)


class _PyDataset(keras.utils.PyDataset):
    def __init__(self, batches, **options):
        super().__init__(**options)
        self.given = list(batches.round())

    def __len__(self):
        return len(self.given)

    def __getitem__(self, i):
        return self.given[i]


def py_dataset(model, batches, options):
    model.fit(_PyDataset(batches), verbose=0, **options)


def py_dataset_of_threads(model, batches, options):
    model.fit(_PyDataset(batches, workers=2, max_queue_size=3), verbose=0, **options)


def on_batch(model, batches, options):
    for x, y in batches.round():
        model.train_on_batch(_as_lists(x), y)


def every_call_on_batch(model, batches, options):
    for x, y in batches.round():
        model.train_on_batch(_as_lists(x), y)
        model.test_on_batch(_as_lists(x), y)
        model.predict_on_batch(_as_lists(x))


def and_predict(model, batches, options):
    arrays(model, batches, options)
    given = batches.arrays()
    model.evaluate(**given, verbose=0)
    model.predict(given["x"], batch_size=8, verbose=0)


def epochs(model, batches, options):
    given = batches.arrays()
    x, y = given["x"], given["y"]
    model.fit(**given, epochs=2, validation_data=(x, y), validation_batch_size=8, verbose=0, **options)


def _step(model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        scaled = model.optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    model.optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def _tensors(x):
    return tf.nest.map_structure(lambda a: a if tf.is_tensor(a) else tf.constant(a), _as_lists(x))


def eager_loop(model, batches, options):
    for x, y in batches.round():
        _step(model, _tensors(x), tf.constant(y))


def compiled_loop(model, batches, options):
    if not hasattr(model, "compiled_step"):
        model.compiled_step = tf.function(functools.partial(_step, model))
    for x, y in batches.round():
        model.compiled_step(_tensors(x), tf.constant(y))


def compiled_loop_over_a_dataset(model, batches, options):
    compiled_loop(model, batches, options)
    for x, y in batches.dataset(model, batches.round).prefetch(1):
        model.compiled_step(_as_lists(x), y)


# With callbacks or under a strategy.
FITS = [arrays, dataset, endless_dataset, sliced_dataset, generator, endless_generator, py_dataset, py_dataset_of_threads,
        and_predict, epochs]  # fmt: skip
FEEDS = [*FITS, on_batch, every_call_on_batch, eager_loop, compiled_loop, compiled_loop_over_a_dataset]


# ---- Optimizers

# What parameters without a default are given.
_GIVEN = {
    "inner_optimizer": lambda: keras.optimizers.Adam(),
    "optimizer_map": lambda: keras.optimizers.OptimizerMap(keras.optimizers.Adam(), {".*l": keras.optimizers.SGD()}),
}
_OPTIONS = [
    {}, {}, {"clipnorm": 1.0}, {"clipvalue": 0.5}, {"global_clipnorm": 1.0},
    {"use_ema": True, "ema_overwrite_frequency": 7}, {"gradient_accumulation_steps": 3},
    {"weight_decay": 0.01}, {"momentum": 0.9}, {"amsgrad": True}, {"centered": True},
]  # fmt: skip


def optimizers():
    """Names of all; a new one is here by itself."""
    every = {n: getattr(keras.optimizers, n) for n in dir(keras.optimizers)}
    base = keras.optimizers.Optimizer
    return [n for n, c in every.items() if inspect.isclass(c) and issubclass(c, base) and c is not base]


def make_optimizer(name, options):
    made = getattr(keras.optimizers, name)
    parameters = inspect.signature(made).parameters
    given = {k: v for k, v in options.items() if k in parameters}
    needed = [k for k, p in parameters.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return made(**{k: _GIVEN[k]() for k in needed}, **given)


# ---- Callbacks


def _calls_back(rng, seen):
    def reduce(epoch, rate):
        return rate * 0.999

    return rng.choice(
        [
            lambda: [],
            lambda: [],
            lambda: [keras.callbacks.LambdaCallback(on_train_batch_end=lambda b, logs: seen.append(b))],
            lambda: [keras.callbacks.EarlyStopping("loss", patience=10**6, restore_best_weights=True)],
            lambda: [keras.callbacks.LearningRateScheduler(reduce), keras.callbacks.TerminateOnNaN()],
            lambda: [keras.callbacks.ReduceLROnPlateau("loss"), keras.callbacks.History()],
        ]
    )


# ---- Cases

# Steps until every size has been seen, where data decides sizes, and a plan been made for it.
_LONG_START = {distinct_ids: 300, lengths: 300, ragged_rows: 300}


def _strategy():
    """Over all devices of the kind there are several of, GPUs first; None: no such."""
    for kind in ("GPU", "CPU"):
        names = [d.name for d in tf.config.list_logical_devices(kind)]
        if len(names) > 1:
            return tf.distribute.MirroredStrategy(names)
    return None


class Case:
    def __init__(self, seed, model=None, feed=None, optimizer=None, steps_per_execution=None, options=None, mirrored=None):
        choose = random.Random(seed)
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        pick = lambda given, all: (choose.choice(all), given)[given is not None]  # noqa: E731
        self.model = pick(model, MODELS)
        # Every optimizer has its turn.
        self.optimizer = pick(optimizer, [optimizers()[seed % len(optimizers())]])
        self.options = pick(options, _OPTIONS)
        self.steps = pick(steps_per_execution, [1, 1, 3])
        self.mirrored = pick(mirrored, [False, True]) and _strategy() is not None
        self.feed = pick(feed, FITS if self.mirrored else FEEDS)
        self.seen = []
        self.calls_back = _calls_back(choose, self.seen)
        self.name = (
            f"{seed}: {self.model.__name__}, {self.feed.__name__}, {self.optimizer} {self.options}, "
            f"steps_per_execution={self.steps}{', mirrored' if self.mirrored else ''}"
        )

    def run(self, steps):
        """What is wrong, as text; empty: nothing."""
        keras.utils.set_random_seed(1)

        def make():
            model, batch = self.model(self.rng)
            model.compile(make_optimizer(self.optimizer, self.options), "mse", steps_per_execution=self.steps)
            return model, batch

        if self.mirrored:
            with _strategy().scope():
                model, batch = make()
        else:
            model, batch = make()
        batches = _Batches(batch, self.rng)

        def one_round():
            options = {"callbacks": self.calls_back()} if self.feed in FITS else {}
            self.feed(model, batches, options)
            self.seen.clear()

        return train(one_round, steps, batches, _LONG_START.get(self.model, 50))


def train(one_round, steps, batches, start=50):
    """What grows while rounds run, as text; empty: nothing."""
    for _ in range(start // ROUND + 1):
        one_round()

    def control():
        for x, y in batches.round():
            tensors = [t for t in tf.nest.flatten(_tensors(x)) + [tf.constant(y)] if t.dtype != tf.string]
            for t in tensors:
                float(tf.reduce_sum(tf.cast(tf.sparse.to_dense(t) if isinstance(t, tf.SparseTensor) else t, tf.float32)))

    return growth_measure.Watched(one_round, control).grows(max(1, (steps - 50) // ROUND))


# Cases that once grew.
FIXED = {
    "scalar ids": lambda: Case(0, scalar_ids, arrays, "Adam", 1, {}, False),
    "three tables": lambda: Case(0, tables, arrays, "Adam", 1, {}, False),
    "lengths": lambda: Case(0, lengths, arrays, "Adam", 1, {}, False),
    "distinct ids": lambda: Case(0, distinct_ids, dataset, "Adam", 1, {}, False),
    "compiled loop": lambda: Case(0, sequences, compiled_loop, "Adam", 1, {}, False),
}


def models_go():
    """Models that were trained and are gone have left nothing."""

    def once():
        rng = np.random.default_rng(0)
        model, make = scalar_ids(rng)
        model.compile("adam", "mse")
        arrays(model, _Batches(make, rng), {})

    once()
    return growth_measure.Watched(once).grows(1)


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


def run_new(program, long):
    """What grows while `program` is called with what it has not seen, as text; empty: nothing."""
    if NEW[program][long] is None:
        return ""
    start, calls = NEW[program][long]
    once = program(long)
    numbers = iter(range(10**9))
    for _ in range(start):
        once(next(numbers))
    held = np.ones(2**12, np.float32)

    def control():
        for _ in range(ROUND):
            float(tf.reduce_sum(tf.constant(held)))

    watched = growth_measure.Watched(lambda: once(next(numbers)), control, max(1, calls // _NEW_SAMPLES))
    return watched.grows(calls)


# ---- Every layer


def soak(steps, names):
    """(name, what is wrong) of layers, all where none are named."""
    for name in names or growth_layers.classes():
        keras.utils.set_random_seed(1)
        try:
            model, batch = growth_layers.model_of(name)
        except (KeyError, TypeError) as error:
            yield name, f"growth_layers.py cannot make one: {error}"
            continue
        model.compile("adam", "mse")
        rng = np.random.default_rng(0)
        batches = _Batches(lambda n, length: batch(rng, n), rng)  # noqa: B023
        # Some draw what they do with an image: it takes long until they have done everything.
        start = 300 if name in ("AugMix", "RandAugment") else 50
        try:
            yield name, train(lambda: arrays(model, batches, {}), steps, batches, start)  # noqa: B023
        except Exception as error:  # the others are looked at, too
            yield name, f"cannot be trained: {error!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--cpus", type=int, default=1, help="into so many devices the processor is divided")
    parser.add_argument("--mirrored", action="store_true", help="all cases under MirroredStrategy")
    parser.add_argument("--layers", nargs="*", metavar="NAME", help="all when none is named")
    parser.add_argument("--fixed", action="store_true", help="the cases that once grew")
    parser.add_argument("--new", nargs="*", metavar="NAME", help="all when none is named")
    parser.add_argument("--long", action="store_true", help="--new with many more calls")
    given = parser.parse_args()
    if given.cpus > 1:
        cpu = tf.config.list_physical_devices("CPU")[0]
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(given.cpus)]
        tf.config.set_logical_device_configuration(cpu, parts)
    # What is here now stays: to look through it takes longer than the rest.
    gc.collect()
    gc.freeze()
    found = 0

    def report(name, wrong):
        nonlocal found
        found += bool(wrong)
        print(f"{name}: {wrong or 'ok'}", flush=True)

    if given.fixed:
        for name, case in FIXED.items():
            report(name, case().run(given.steps))
        report("models that are gone", models_go())
    if given.layers is not None:
        for name, wrong in soak(given.steps, given.layers):
            report(name, wrong)
    for program in NEW:
        if given.new is not None and (not given.new or program.__name__ in given.new):
            report(program.__name__, run_new(program, given.long))
    for seed in range(given.seed, given.seed + given.cases):
        case = Case(seed, mirrored=given.mirrored or None)
        report(case.name, case.run(given.steps))
    print(f"growth_cases: {found} findings")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
