"""Random trees of modules, layers, models, optimizers, datasets, their iterators, tables, generators, checkpoints, lists,
tuples and dicts, under attributes of every name: saved, changed, restored and compared, in the same objects and in others
made in the same way."""

import collections
import itertools
import os

import numpy as np
import pytest
import tandem as tf
from hypothesis import HealthCheck, given, settings, strategies as st

EXAMPLES = 150 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 12
Two = collections.namedtuple("Two", ["y", "x"])
Trackable = tf.__internal__.tracking.Trackable

NAMES = ["a", "b", "_layers", "_self_x", "_self_tracked", "layers", "variables", "name", "signatures", "_children", "_root",
         "root", "save_counter_", "_variables", "_modules", "losses", "weights", "_tracked", "w.1", "x/y", "_", "\u00e4",
         "children", "_flatten_", "step", "_networks", "_save", "_values", "model", "_trackables_", "_metrics_",
         "_self_setattr_tracking"]  # fmt: skip
KEYS = ["a", "b/c", ".ATTRIBUTES", "", "\u00e4", "0", ".S", "..", "VARIABLE_VALUE", "x.y", 7, ("t", 1)]


def _attributes(children):
    return st.lists(st.tuples(st.sampled_from(NAMES), children), max_size=4, unique_by=lambda pair: pair[0])


def _more(children):
    items = st.lists(children, max_size=3)
    pairs = st.lists(st.tuples(st.sampled_from(KEYS), children), max_size=3, unique_by=lambda pair: str(pair[0]))
    return st.one_of(
        st.tuples(st.just("module"), _attributes(children)),
        st.tuples(st.just("module"), _attributes(children)),
        st.tuples(st.just("tracked"), _attributes(children)),
        st.tuples(st.just("model"), _attributes(children)),
        st.tuples(st.just("list"), items),
        st.tuples(st.just("tuple"), items),
        st.tuples(st.just("dict"), pairs),
        st.tuples(st.just("ordered"), pairs),
        st.tuples(st.just("two"), st.tuples(children, children)),
    )


# Of Keras, layers and optimizers are trackable. Metrics, seed generators and losses are not, as with TensorFlow.
FOREIGN = ["metric", "seed", "loss"]
STORED = ["variable", "variable", "variable", "vector", "dense", "optimizer", "table", "dense_table", "static_table",
          "string_lookup", "integer_lookup", "normalization", "generator", "checkpoint", "dataset", "plain", "none", "shared",
          *FOREIGN]  # fmt: skip
LEAVES = st.sampled_from([*STORED, "state", "iterator"])
NO_ROOTS = ["plain", "none", "shared", *FOREIGN]
# What can be the root of a checkpoint, and of a saved model.
TREES = st.one_of(
    st.tuples(st.just("module"), _attributes(st.recursive(LEAVES, _more, max_leaves=10))),
    st.recursive(LEAVES, _more, max_leaves=10).filter(lambda spec: spec not in NO_ROOTS),
)
SAVED_TREES = st.one_of(
    st.tuples(st.just("module"), _attributes(st.recursive(st.sampled_from(STORED), _more, max_leaves=10))),
    st.sampled_from(["variable", "dense", "table", "generator", "checkpoint", "string_lookup"]),
)


class Tracked(tf.__internal__.tracking.AutoTrackable):
    pass


class Model(tf.keras.Model):
    def call(self, x):
        return x


class State(tf.train.experimental.PythonState):
    def __init__(self, number):
        self.number = number

    def serialize(self):
        return str(self.number)

    def deserialize(self, text):
        self.number = int(text)


OPTIMIZERS = [
    tf.keras.optimizers.Adam, tf.keras.optimizers.SGD, lambda: tf.keras.optimizers.SGD(momentum=0.9),
    tf.keras.optimizers.RMSprop, tf.keras.optimizers.Adafactor, tf.keras.optimizers.Ftrl, tf.keras.optimizers.Lion,
    lambda: tf.keras.optimizers.Adam(use_ema=True), lambda: tf.keras.optimizers.Adam(amsgrad=True),
    lambda: tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.Adam()),
]  # fmt: skip


class Builder:
    """Makes the objects of a tree, and knows what holds state in them."""

    def __init__(self, value):
        self.numbers, self.kinds = itertools.count(1), itertools.count()
        self.value = value
        self.variables, self.states, self.iterators, self.tables = [], [], [], []
        self.fixed = []  # what says the same before and after, in every tree
        self.refused = set()
        self.given = set()  # (id of an object, name of an attribute)

    def variable(self, shape):
        self.variables.append(tf.Variable(np.full(shape, next(self.numbers) * self.value, "float32")))
        return self.variables[-1]

    def make(self, spec):
        if isinstance(spec, str):
            return getattr(self, "_" + spec)()
        kind, inner = spec
        if kind in ("module", "tracked", "model"):
            made = {"module": tf.Module, "tracked": Tracked, "model": Model}[kind]()
            for name, part in inner:
                self._set(made, name, part)
            return made
        if kind in ("dict", "ordered"):
            return {"dict": dict, "ordered": collections.OrderedDict}[kind]((key, self.make(part)) for key, part in inner)
        parts = [self.make(part) for part in inner]
        return Two(*parts) if kind == "two" else {"list": list, "tuple": tuple}[kind](parts)

    def _set(self, owner, name, part):
        # What the class has for itself, and refuses, is no place for work.
        if isinstance(getattr(type(owner), name, None), property) or (
            isinstance(owner, Model) and (hasattr(owner, name) and name != "_layers")
        ):
            return
        held = self.variables, self.states, self.iterators, self.tables, self.fixed
        before = list(map(len, held))
        value = self.make(part)
        try:
            setattr(owner, name, value)
            self.given.add((id(owner), name))
        except (AttributeError, ValueError, TypeError):
            self.refused.add(name)
            for found, count in zip(held, before):
                del found[count:]

    def _variable(self):
        return self.variable([])

    def _vector(self):
        return self.variable([3])

    def _dense(self):
        layer = tf.keras.layers.Dense(2)
        layer.build((None, 2))
        for weight in layer.weights:
            weight.assign(np.full(weight.shape, next(self.numbers) * self.value, "float32"))
            self.variables.append(weight)
        return layer

    def _optimizer(self):
        optimizer = OPTIMIZERS[next(self.kinds) % len(OPTIMIZERS)]()
        held = tf.keras.Variable(np.ones([2], "float32"))
        optimizer.build([held])
        self._numbered(optimizer.variables)
        return optimizer

    def _numbered(self, variables):
        for variable in variables:
            variable.assign(np.full(variable.shape, next(self.numbers) * self.value, variable.dtype))
            self.variables.append(variable)

    def _normalization(self):
        layer = tf.keras.layers.Normalization()
        layer.adapt(np.arange(4.0, dtype="float32"))
        self._numbered(layer.variables)
        return layer

    def _string_lookup(self):
        return self._looks_up(tf.keras.layers.StringLookup(vocabulary=["a", "b"]), tf.constant(["b", "?", "a"]))

    def _integer_lookup(self):
        return self._looks_up(tf.keras.layers.IntegerLookup(vocabulary=[3, 9]), tf.constant([9, 1, 3]))

    def _static_table(self):
        initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        return self._looks_up(tf.lookup.StaticHashTable(initializer, -1), tf.constant(["b", "?"]))

    def _looks_up(self, table, keys):
        look = table.lookup if hasattr(table, "lookup") else table
        self.fixed.append(lambda: np.asarray(look(keys)).tolist())
        return table

    def _generator(self):
        generator = tf.random.Generator.from_seed(next(self.numbers) * int(self.value))
        generator.normal([int(self.value)])
        self.variables.append(generator.state)
        return generator

    def _checkpoint(self):
        return tf.train.Checkpoint(inner=self.variable([2]), parts=[self.variable([])])

    def _dataset(self):
        dataset = tf.data.Dataset.range(4).shuffle(4, seed=1)
        self.fixed.append(lambda: sorted(int(x) for x in dataset))
        return dataset

    def _metric(self):
        return tf.keras.metrics.Mean()

    def _seed(self):
        return tf.keras.random.SeedGenerator(int(self.value))

    def _loss(self):
        return tf.keras.losses.MeanSquaredError()

    def _state(self):
        self.states.append(State(int(next(self.numbers) * self.value)))
        return self.states[-1]

    def _iterator(self):
        iterator = iter(tf.data.Dataset.range(100))
        for _ in range(int(self.value) * 3):
            next(iterator)
        self.iterators.append(iterator)
        return iterator

    def _table(self):
        return self._filled(tf.lookup.experimental.MutableHashTable("string", "float32", -1.0), ["a", "b"])

    def _dense_table(self):
        return self._filled(tf.lookup.experimental.DenseHashTable("int64", "float32", -1.0, -1, -2), [3, 4])

    def _filled(self, table, keys):
        # Other values have other keys too: restoring takes out what was not there.
        table.insert(keys[: int(self.value)], [next(self.numbers) * self.value for _ in keys[: int(self.value)]])
        self.tables.append(table)
        return table

    def _shared(self):
        plain = [v for v in self.variables if isinstance(v, tf.Variable)]
        return plain[0] if plain else 1

    def _plain(self):
        return [1, "text", 2.5]

    def _none(self):
        return None

    def contents(self):
        variables, states = [np.asarray(v).tolist() for v in self.variables], [s.number for s in self.states]
        return variables + states + list(map(_entries, self.tables)) + [shown() for shown in self.fixed]


def built(spec, value):
    builder = Builder(value)
    return builder, builder.make(spec)


def _settings(test):
    return settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
                    suppress_health_check=list(HealthCheck))(test)  # fmt: skip


def test_checkpoints(tmp_path):
    numbers = itertools.count()

    @_settings
    @given(TREES, st.booleans())
    def run(spec, as_root):
        builder, tree = built(spec, 1)
        wanted = builder.contents()
        positions = [int(next(it)) + 1 for it in builder.iterators]
        checkpoint = tf.train.Checkpoint(tree) if as_root else tf.train.Checkpoint(tree=tree)
        path = checkpoint.save(str(tmp_path / str(next(numbers))))
        for variable in builder.variables:
            variable.assign(np.zeros(variable.shape, variable.dtype if isinstance(variable.dtype, str) else None)
                            if isinstance(variable.dtype, str) else tf.zeros_like(variable))  # fmt: skip
        for state in builder.states:
            state.number = -1
        for table in builder.tables:
            table.remove(table.export()[0])
            table.insert(["new"] if table.key_dtype == tf.string else [17], [-5.0])
        for iterator in builder.iterators:
            next(iterator)
        checkpoint.restore(path).assert_consumed()
        assert builder.contents() == wanted
        assert [int(next(it)) for it in builder.iterators] == positions
        other, again = built(spec, 2)
        assert len(wanted) == len(builder.fixed) or other.contents() != wanted
        status = (tf.train.Checkpoint(again) if as_root else tf.train.Checkpoint(tree=again)).restore(path)
        status.assert_consumed()
        status.assert_existing_objects_matched()
        assert other.contents() == wanted
        assert [int(next(it)) for it in other.iterators] == positions

    run()


def test_saved_models(tmp_path):
    numbers = itertools.count()

    def compare(spec, made, loaded, builder):
        if isinstance(spec, str):
            return compare_leaf(spec, made, loaded)
        kind, inner = spec
        if kind in ("module", "tracked", "model"):
            for name, part in inner:
                if (id(made), name) in builder.given and _holds(getattr(made, name)) and name != "_layers":
                    compare(part, getattr(made, name), getattr(loaded, name), builder)
        elif kind in ("dict", "ordered"):
            for key, part in inner:
                if _is_stored(made[key]):
                    compare(part, made[key], loaded[key if isinstance(key, (str, int)) else str(key)], builder)
        else:
            # As in TensorFlow: places are kept up to the last that is stored.
            stored = [_is_stored(item) for item in made]
            assert type(loaded) is (list if isinstance(made, list) else tuple)
            assert len(loaded) == max((i + 1 for i, is_stored in enumerate(stored) if is_stored), default=0)
            for part, item, is_stored, other in zip(inner, made, stored, loaded):
                if is_stored:
                    compare(part, item, other, builder)
                else:
                    assert other is None

    def compare_leaf(spec, made, loaded):
        if isinstance(made, tf.Variable):
            assert loaded.numpy().tolist() == made.numpy().tolist()
        elif spec == "dense":
            for one, other in zip((loaded._kernel, loaded.bias), made.weights, strict=True):
                assert one.numpy().tolist() == other.numpy().tolist()
        elif spec == "optimizer":
            assert [v.numpy().tolist() for v in loaded._variables] == [v.numpy().tolist() for v in made.variables]
        elif spec == "generator":
            assert loaded._state.numpy().tolist() == made.state.numpy().tolist()
        elif spec == "checkpoint":
            assert loaded.inner.numpy().tolist() == made.inner.numpy().tolist()
            assert loaded.parts[0].numpy().tolist() == made.parts[0].numpy().tolist()
        elif spec == "string_lookup":
            assert loaded.lookup_table.lookup(tf.constant(["b", "?"])).numpy().tolist() == [2, 0]
        elif spec == "integer_lookup":
            assert loaded.lookup_table.lookup(tf.constant([9, 1], tf.int64)).numpy().tolist() == [2, 0]
        elif spec == "normalization":
            assert loaded.adapt_mean.numpy().tolist() == np.asarray(made.adapt_mean).tolist()
        elif spec == "static_table":
            assert loaded.lookup(tf.constant(["b", "?"])).numpy().tolist() == [2, -1]
        elif spec in ("table", "dense_table"):
            assert _entries(loaded) == _entries(made) and loaded.key_dtype == made.key_dtype
            assert loaded.default_value.numpy() == made.default_value.numpy()

    @_settings
    @given(SAVED_TREES)
    def run(spec):
        builder, tree = built(spec, 1)
        folder = str(tmp_path / str(next(numbers)))
        if _holds(getattr(tree, "__dict__", {}).get("signatures")):
            with pytest.raises(ValueError, match="reserved attribute"):
                tf.saved_model.save(tree, folder)
            return
        tf.saved_model.save(tree, folder)
        compare(spec, tree, tf.saved_model.load(folder), builder)

    run()


def _is_stored(value):
    return isinstance(value, Trackable | list | tuple | dict)


def _holds(value):
    if not isinstance(value, list | tuple | dict):
        return isinstance(value, Trackable)
    return any(map(_holds, value.values() if isinstance(value, dict) else value))


def _entries(table):
    return sorted(zip(*(part.numpy().tolist() for part in table.export())))


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_not_trackable_is_no_checkpoint(name):
    value = Builder(1).make(name)
    with pytest.raises(ValueError, match="was expecting x to be a trackable object"):
        tf.train.Checkpoint(x=value)


@pytest.mark.parametrize("name", ["_layers", "_self_tracked", "_self_x", "layers", "signatures", "_children"])
def test_no_name_of_an_attribute_is_lost(name, tmp_path):
    """`_layers` of a module was left out of checkpoints, and assert_consumed() passed."""
    for value in (lambda: tf.Variable(3.0), lambda: [tf.Variable(3.0)], lambda: {"x": (tf.Variable(3.0),)}):
        module, other = tf.Module(), tf.Module()
        setattr(module, name, value())
        setattr(other, name, value())
        other.variables[0].assign(0.0)
        path = tf.train.Checkpoint(m=module).save(str(tmp_path / "ck"))
        tf.train.Checkpoint(m=other).restore(path).assert_consumed()
        assert other.variables[0].numpy() == 3.0


def test_layers_of_a_model_of_ones_own(tmp_path):
    """What a program puts into `_layers` of a Keras model is saved once; what Keras lists there has other names."""
    class Mine(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self._layers = [tf.keras.layers.Dense(2), tf.keras.layers.Dense(3)]
            self.last = tf.keras.layers.Dense(1)

        def call(self, x):
            for layer in self._layers:
                x = layer(x)
            return x

    one, other = Mine(), Mine()
    assert np.isfinite(one(tf.ones([1, 2])).numpy()).all() and other(tf.zeros([1, 2])).shape == (1, 3)
    path = tf.train.Checkpoint(m=one).save(str(tmp_path / "ck"))
    tf.train.Checkpoint(m=other).restore(path).assert_consumed()
    for a, b in zip(one.weights, other.weights, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(one.weights) >= 4


def test_keys_that_have_one_name_are_refused(tmp_path):
    module = tf.Module()
    module.d = {1: tf.Variable(1.0), "1": tf.Variable(2.0)}
    with pytest.raises(ValueError, match="Two keys of a dict are called '1'"):
        tf.train.Checkpoint(m=module).save(str(tmp_path / "ck"))


def test_deep_lists_and_lists_in_themselves(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(5.0)
    deep = [tf.Variable(7.0)]
    for _ in range(40):
        deep = [deep]
    module.deep = deep
    path = tf.train.Checkpoint(m=module).save(str(tmp_path / "ck"))
    leaf = deep
    while isinstance(leaf, list):
        leaf = leaf[0]
    leaf.assign(0.0)
    tf.train.Checkpoint(m=module).restore(path).assert_consumed()
    assert leaf.numpy() == 7.0
    round_and_round = [module.v]
    round_and_round.append(round_and_round)
    tracked = Tracked()
    tracked.ring = round_and_round
    path = tf.train.Checkpoint(m=tracked).save(str(tmp_path / "ring"))
    module.v.assign(0.0)
    tf.train.Checkpoint(m=tracked).restore(path).assert_consumed()
    assert module.v.numpy() == 5.0


@pytest.mark.parametrize("make", [lambda v: tf.Variable(v), lambda v: [tf.Variable(v)], lambda v: {"k": tf.Variable(v)}])
@pytest.mark.parametrize("value", [5.0, 0.0])
def test_a_variable_under_the_name_of_the_switch(make, value, tmp_path):
    """Nothing that was set after it was saved either where it was false, and itself never."""

    def module(value):
        made = tf.Module()
        made._self_setattr_tracking = make(value)
        made.later = tf.Variable(value)
        return made

    saved, other = module(value), module(7.0)
    path = tf.train.Checkpoint(m=saved).save(str(tmp_path / "c"))
    tf.train.Checkpoint(m=other).restore(path).assert_consumed()
    assert [float(v) for v in other.variables] == [value] * 2
    switched = tf.Module()
    switched._self_setattr_tracking = False
    switched.v = tf.Variable(1.0)
    assert "v" not in switched._trackable_children()
