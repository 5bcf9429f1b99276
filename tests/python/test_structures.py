"""Structures that are taken apart on one side and put together on the other (nest_cases.py): in every mapping, named
tuple and class, a value stays under its key. The same with more nests: tests/fuzz/fuzz_structures.py."""

import collections
import json
import os
import subprocess
import sys

import nest_cases
import numpy as np
import pytest
import tandem as tf
from conftest import ROOT, environment
from hypothesis import HealthCheck, given, settings

EXAMPLES = 100 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 8


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in nest_cases.CHECKS if name != "strategy"])
def test_random_nests(name):
    function, nests = nest_cases.CHECKS[name]

    @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(nest_cases.nests(**nests))
    def run(nest):
        function(tf, nest)

    run()


@pytest.mark.parametrize("gpus", [0, 2], ids=["cpus", "gpus"])
def test_random_nests_on_replicas(gpus):
    """In a process of its own: strategies want two devices."""
    command = [sys.executable, str(ROOT / "tests/fuzz/fuzz_structures.py"), "--seconds=0", "--seed=7", "--only=strategy,fit",
               f"--examples={EXAMPLES // 2}"]  # fmt: skip
    result = subprocess.run(command, env=environment(gpus), capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


def ordered(**items):
    return collections.OrderedDict(items)


class Digits(tf.keras.Model):
    def call(self, x):
        return x["b"] * 10.0 + x["a"]


@pytest.mark.parametrize("eagerly", [False, True])
def test_ordered_batches_of_a_dataset(eagerly):
    """The step was given tensors in the order of keys and took them for the order of insertion: 12 instead of 21."""
    dataset = tf.data.Dataset.from_tensors((ordered(b=tf.fill([4, 1], 2.0), a=tf.fill([4, 1], 1.0)), tf.fill([4, 1], 21.0)))
    model = Digits()
    model.compile(loss="mse", run_eagerly=eagerly)
    assert model.predict(dataset, verbose=0).tolist() == [[21.0]] * 4
    assert model.evaluate(dataset, verbose=0) == 0.0
    assert model.fit(dataset, verbose=0).history["loss"] == [0.0]


def test_batches_of_a_csv_file(tmp_path):
    (tmp_path / "data.csv").write_text("b,a,y\n2,1,21\n" + "2,1,21\n" * 7)
    dataset = tf.data.experimental.make_csv_dataset(
        str(tmp_path / "data.csv"), batch_size=4, label_name="y", num_epochs=1, column_defaults=[0.0, 0.0, 0.0], shuffle=False
    )
    batch = next(iter(dataset))[0]
    assert list(batch) == ["b", "a"] and batch["b"].numpy().tolist() == [2.0] * 4

    model = Digits()
    model.compile(loss="mse")
    assert np.unique(model.predict(dataset, verbose=0)).tolist() == [21.0]
    assert model.evaluate(dataset, verbose=0) == 0.0


KINDS = ["plain", "ordered", "ordered the other way"]


def two_inputs(kind, a, b):
    return {"plain": {"a": a, "b": b}, "ordered": ordered(b=b, a=a), "ordered the other way": ordered(a=a, b=b)}[kind]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of_model", KINDS)
def test_inputs_of_a_functional_model(of_model, tmp_path):
    """Keras binds them by place: 12 instead of 21 for batches of make_csv_dataset."""
    inputs = {name: tf.keras.Input((1,), name=name) for name in "ab"}
    inner = tf.keras.Model(two_inputs(of_model, **inputs), inputs["b"] * 10.0 + inputs["a"])
    outer_inputs = {name: tf.keras.Input((1,), name=name) for name in "ab"}
    outer = tf.keras.Model(two_inputs(of_model, **outer_inputs), inner(two_inputs("ordered", **outer_inputs)))
    outer.save(tmp_path / "model.keras")
    ones, twos = np.ones([4, 1], "float32"), np.full([4, 1], 2.0, "float32")
    for model in (inner, outer, tf.keras.models.load_model(tmp_path / "model.keras")):
        model.compile(loss="mse")
        for kind in KINDS:
            x = two_inputs(kind, ones, twos)
            assert np.unique(model(x)).tolist() == [21.0]
            assert np.unique(model.predict(x, verbose=0)).tolist() == [21.0]
            dataset = tf.data.Dataset.from_tensors((x, ones * 21.0))
            assert model.evaluate(dataset, verbose=0) == 0.0 and model.fit(dataset, verbose=0).history["loss"] == [0.0]
            # Keys that the model does not know do not shift the others.
            more = {"aa": ones * 7.0, **x}
            assert np.unique(model(more)).tolist() == np.unique(model.predict(more, verbose=0)).tolist() == [21.0]
        with pytest.raises(ValueError, match='Missing data for input "a"'):
            model({"b": ones, "c": ones})


def test_shapes_and_masks_of_inputs_by_key():
    wide, narrow = tf.keras.Input((3,), name="wide"), tf.keras.Input((2,), name="narrow")
    model = tf.keras.Model({"wide": wide, "narrow": narrow}, tf.keras.layers.Concatenate()([narrow, wide]))
    given = ordered(wide=tf.keras.Input((3,)), narrow=tf.keras.Input((2,)))
    assert model(given).shape == (None, 5)
    assert model.compute_output_shape(ordered(wide=(5, 3), narrow=(5, 2))) == (5, 5)

    class Masks(tf.keras.layers.Layer):
        supports_masking = True

        def call(self, x, mask=None):
            return x if mask is None else x * tf.cast(mask, "float32")[..., None]

    embedding = tf.keras.layers.Embedding(5, 2, mask_zero=True, embeddings_initializer="ones")
    one, other = embedding(np.array([[1, 2, 0]])), embedding(np.array([[1, 0, 0]]))
    names = {name: tf.keras.Input((3, 2), name=name) for name in "ab"}
    masked = tf.keras.Model(names, Masks()(names["b"]) * 10.0 + Masks()(names["a"]))
    for x in ({"a": one, "b": other}, ordered(b=other, a=one)):
        assert masked(x).numpy()[0, :, 0].tolist() == [11.0, 1.0, 0.0]


def test_targets_of_some_outputs():
    """With outputs that have no loss Keras binds the targets by place."""
    x, ones = tf.keras.Input((1,)), np.ones([4, 1], "float32")
    model = tf.keras.Model(x, {"a": x * 1.0, "b": x * 2.0, "c": x * 3.0})
    model.compile(loss={"a": None, "b": "mse", "c": "mse"})
    for y in ({"b": ones * 2, "c": ones * 3}, ordered(c=ones * 3, b=ones * 2)):
        assert model.evaluate(ones, y, verbose=0) == [0.0, 0.0, 0.0]
    # It pairs them with the losses, here in another order than that of the keys.
    model.compile(loss=ordered(c="mse", a="mse", b=None))
    for y in ({"a": ones, "c": ones * 3}, ordered(a=ones, c=ones * 3), ordered(c=ones * 3, a=ones)):
        assert model.evaluate(ones, y, verbose=0) == [0.0, 0.0, 0.0]
    model.compile(loss=ordered(c="mse", a="mse", b="mse"))
    for y in ({"a": ones, "b": ones * 2, "c": ones * 3}, ordered(c=ones * 3, a=ones, b=ones * 2)):
        assert model.evaluate(ones, y, verbose=0) == [0.0, 0.0, 0.0, 0.0]


def test_arguments_of_functions_have_kerass_names():
    x = {name: tf.keras.Input((size,), name=name) for name, size in (("a", 2), ("b", 3))}
    function = tf.keras.Function(x, tf.keras.layers.concatenate([x["b"], x["a"]]))
    shapes = ordered(b=(None, 3), a=(None, 2))
    assert function.compute_output_shape(input_shape=shapes) == function.compute_output_shape(shapes) == (None, 5)
    given = ordered(b=np.zeros([1, 3]), a=np.ones([1, 2]))
    assert function.call(inputs=given).numpy().tolist() == [[0.0, 0.0, 0.0, 1.0, 1.0]]


@pytest.mark.parametrize("kind", [nest_cases.Labelled, nest_cases.Unshown, nest_cases.Reticent])
def test_steps_of_classes_are_told_apart_by_their_metadata(kind):
    """By a repr they were not: one with an address in it made a trace of every batch, one without the label none for
    another label."""

    class Model(tf.keras.Model):
        def train_step(self, data):
            batch = data[0] if isinstance(data, tuple) else data
            return {"value": tf.reduce_mean(batch.late) * float(batch.label)}

    model = Model()
    model.compile()
    for i in range(20):
        batch = kind(tf.ones([2]), tf.zeros([2]), str(i % 2 + 1))
        assert model.train_on_batch(batch, return_dict=True)["value"] == i % 2 + 1
    assert len(model.train_function._traces) == 2


def test_metadata_made_anew_counts_by_value():
    class Tag:
        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return isinstance(other, Tag) and self.name == other.name

        def __hash__(self):
            return hash(self.name)

    class Tagged(nest_cases.Labelled):
        def __tf_flatten__(self):
            return (Tag(self.label),), (self.late, self.early)

        @classmethod
        def __tf_unflatten__(cls, metadata, components):
            return cls(*components, metadata[0].name)

    from tandem.keras_backend.step import StepFunction

    step = StepFunction(lambda data: {"sum": tf.reduce_sum(data.late)})
    for i in range(10):
        step(iter([Tagged(tf.ones([2]), tf.ones([2]), "xy"[i % 2])]))
    assert len(step._traces) == 2
    for i in range(300):  # what never comes again does not stay
        step(iter([Tagged(tf.ones([]), tf.ones([]), str(i))]))
    assert len(step._traces) == 128


def test_branches_and_turns_of_other_metadata_are_refused():
    """The label of the first branch was that of all."""

    class Extension(tf.experimental.ExtensionType):
        value: tf.Tensor
        label: str

    def labelled(label):
        return nest_cases.Labelled(tf.constant(1.0), tf.constant(2.0), label)

    for one, other in ((labelled("x"), labelled("y")), (Extension(1.0, "x"), Extension(1.0, "y")),
                       (nest_cases.Attrs(1.0, 2.0), nest_cases.Labelled(1.0, 2.0, ""))):  # fmt: skip

        def branch(p, one=one, other=other):
            if p:
                result = one
            else:
                result = other
            return result

        def loop(n, one=one, other=other):
            result = one
            for _ in tf.range(n):
                result = other
            return result

        with pytest.raises(TypeError, match="true_fn and false_fn arguments to tf.cond must have the same number, type"):
            tf.function(lambda p, one=one, other=other: tf.cond(p, lambda: one, lambda: other))(tf.constant(True))
        with pytest.raises(TypeError, match="same nested structure"):
            tf.function(branch)(tf.constant(True))
        with pytest.raises(TypeError, match="same nested structure after one iteration"):
            tf.function(loop)(tf.constant(1))
        with pytest.raises(TypeError, match="same nested structure"):
            tf.function(lambda n, one=one, other=other: tf.while_loop(lambda x: n > 0, lambda x: [other], [one]))(
                tf.constant(1)
            )
    # Sizes of rows may differ, as shapes may.
    rows = tf.RaggedTensor.from_row_splits([1.0, 2.0, 3.0], [0, 1, 3])
    uniform = tf.RaggedTensor.from_uniform_row_length([1.0, 2.0, 3.0, 4.0], 2)
    choose = tf.function(lambda p: tf.cond(p, lambda: uniform, lambda: rows))
    assert choose(tf.constant(False)).to_list() == [[1.0], [2.0, 3.0]]


@pytest.mark.parametrize("kind", [nest_cases.Labelled, nest_cases.Unshown, nest_cases.Reticent])
def test_elements_of_classes_are_told_apart_by_their_metadata(kind):
    """Iterators and datasets as arguments, and states of reductions."""

    def dataset(label):
        return tf.data.Dataset.from_tensors(kind(tf.constant(1.0), tf.constant(2.0), label))

    of_iterator = tf.function(lambda it: tf.constant(next(it).label), autograph=False)
    of_dataset = tf.function(lambda ds: tf.constant(next(iter(ds)).label), autograph=False)
    of_optional = tf.function(lambda optional: tf.constant(optional.get_value().label), autograph=False)
    for label in ("x", "y", "x", "y"):
        assert of_iterator(iter(dataset(label))).numpy() == label.encode()
        assert of_dataset(dataset(label)).numpy() == label.encode()
        assert of_optional(iter(dataset(label)).get_next_as_optional()).numpy() == label.encode()
    assert {f.experimental_get_tracing_count() for f in (of_iterator, of_dataset, of_optional)} == {2}
    state = kind(tf.constant(1.0), tf.constant(2.0), "x")
    with pytest.raises(TypeError):
        tf.data.Dataset.range(3).reduce(state, lambda s, x: nest_cases.relabelled(s))
    with pytest.raises(TypeError):
        tf.data.Dataset.range(3).scan(state, lambda s, x: (nest_cases.relabelled(s), x))


class Sparse(tf.experimental.ExtensionType):
    values: tf.SparseTensor


@pytest.mark.parametrize("make", [
    tf.sparse.from_dense,
    lambda rows: Sparse(tf.sparse.from_dense(rows)),
    lambda rows: tf.data.Dataset.from_tensors(tf.sparse.from_dense(rows)),
    lambda rows: tf.RaggedTensor.from_tensor(rows),
], ids=["sparse", "extension", "dataset", "ragged"])  # fmt: skip
def test_datasets_are_told_apart_by_sizes_that_no_component_has(make):
    specs = []
    of_iterator = tf.function(lambda it: specs.append(it.element_spec), autograph=False)
    of_dataset = tf.function(lambda ds: specs.append(ds.element_spec), autograph=False)
    datasets = [tf.data.Dataset.from_tensors(make(tf.ones(shape))) for shape in ([3, 4], [5, 6], [3, 4])]
    for f, given in ((of_iterator, map(iter, datasets)), (of_dataset, datasets)):
        for one in given:
            f(one)
    assert specs == [dataset.element_spec for dataset in datasets[:2]] * 2


def test_datasets_that_are_chosen_have_one_structure():
    """Elements of all were put together as those of the first."""
    of = tf.data.Dataset.from_tensors
    for one, other in (({"a": 1, "b": 2}, {"x": 1, "y": 2}), (1, 1.0), ((1, 2), (1,)),
                       (nest_cases.Labelled(1, 2, "x"), nest_cases.Labelled(1, 2, "y"))):  # fmt: skip
        with pytest.raises(TypeError, match="must have compatible element specs"):
            tf.data.Dataset.sample_from_datasets([of(one), of(other)])
        with pytest.raises(TypeError, match="must have compatible element specs"):
            tf.data.Dataset.choose_from_datasets([of(one), of(other)], tf.data.Dataset.range(2))
    numbers = tf.data.Dataset.range(3)
    chosen = tf.data.Dataset.choose_from_datasets([of([1, 2]), of([3]), of([4, 5])], numbers)
    assert chosen.element_spec.shape == [None]
    assert [x.numpy().tolist() for x in chosen] == [[1, 2], [3], [4, 5]]


class Pair(tf.experimental.ExtensionType):
    values: tf.Tensor
    label: str = "x"


class Other(tf.experimental.ExtensionType):
    values: tf.Tensor
    label: str = "x"


UNLIKE = {
    "keys": ((1, 2), {"a": 1, "b": 2}),
    "fields": (collections.namedtuple("A", "a b")(1, 2), collections.namedtuple("A", "b a")(1, 2)),
    "metadata": (Pair(1), Pair(1, "y")),
    "classes": (Pair(1), Other(1)),
    "a tensor": (Pair(1), 1),
    "sparse": (tf.sparse.from_dense([1.0]), (np.zeros([1, 1], np.int64), [1.0], np.ones([1], np.int64))),
    "splits": (tf.ragged.constant([[1]]), tf.ragged.constant([[1]], row_splits_dtype=tf.int32)),
    "elements": (tf.data.Dataset.range(2), tf.data.Dataset.from_tensors(1.0)),
}


@pytest.mark.parametrize("one", [0, 1])
@pytest.mark.parametrize("case", UNLIKE)
def test_elements_unlike_those_before_are_refused(case, one):
    """Their components were those that were expected, and were put together as what they are not."""
    first, then = UNLIKE[case][one], UNLIKE[case][1 - one]
    of = tf.data.Dataset.from_tensors
    numbers = tf.data.Dataset.range(2)
    for make in (
        lambda: tf.data.Dataset.choose_from_datasets([of(first), of(then)], numbers),
        lambda: of(first).concatenate(of(then)),
        lambda: numbers.reduce(first, lambda state, x: then),
        lambda: numbers.scan(first, lambda state, x: (then, x)),
    ):
        with pytest.raises(TypeError):
            make()
    generated = tf.data.Dataset.from_generator(lambda: iter([then]), output_signature=of(first).element_spec)
    with pytest.raises(tf.errors.InvalidArgumentError, match="TypeError"):
        list(generated)


@pytest.mark.parametrize("make", [
    tf.sparse.from_dense,
    lambda rows: Pair(rows),
    lambda rows: Sparse(tf.sparse.from_dense(rows)),
    lambda rows: tf.RaggedTensor.from_tensor(rows),
    lambda rows: tf.data.Dataset.from_tensors(rows),
], ids=["sparse", "extension", "of sparse", "ragged", "dataset"])  # fmt: skip
def test_elements_of_other_sizes_have_a_spec_of_both(make):
    one, other = make(tf.ones([3, 4])), make(tf.ones([5, 4]))
    datasets = [tf.data.Dataset.from_tensors(value) for value in (one, other)]
    chosen = tf.data.Dataset.choose_from_datasets(datasets, tf.data.Dataset.range(2))
    assert chosen.element_spec == datasets[0].concatenate(datasets[1]).element_spec != datasets[0].element_spec
    assert all(chosen.element_spec.is_compatible_with(dataset.element_spec) for dataset in datasets)
    assert len(list(chosen)) == len(list(datasets[0].concatenate(datasets[1]))) == 2
    last = tf.data.Dataset.range(2).reduce(one, lambda state, x: other)
    assert chosen.element_spec.is_compatible_with(last)
    signature = chosen.element_spec
    assert len(list(tf.data.Dataset.from_generator(lambda: iter([one, other]), output_signature=signature))) == 2


def test_optionals_are_told_apart_by_the_class_of_their_value():
    """The specs of all extension types have one name."""
    specs = []
    f = tf.function(lambda optional: specs.append(optional.element_spec), autograph=False)
    given = [tf.experimental.Optional.from_value(value) for value in (Pair(1), Other(1), Pair(1, "y"))]
    for optional in given:
        f(optional)
    assert specs == [optional.element_spec for optional in given]


def test_rows_of_other_keys_are_refused():
    """As many values under other names took the places of those that were expected."""
    spec = {"a": tf.float32, "b": tf.float32}
    with pytest.raises(ValueError, match="same set of keys"):
        tf.map_fn(lambda x: {"p": x, "q": -x}, tf.ones([2]), fn_output_signature=spec)
    with pytest.raises(ValueError, match="same set of keys"):
        tf.scan(lambda s, x: {"p": x, "q": -x}, tf.ones([2]), initializer={"a": 0.0, "b": 0.0})


def test_branches_that_give_keys_in_another_order():
    choose = tf.function(
        lambda which: tf.cond(which, lambda: {"b": 1, "a": 2}, lambda: {"a": 20, "b": 10}), autograph=False
    )
    assert {k: int(v) for k, v in choose(tf.constant(False)).items()} == {"b": 10, "a": 20}
    assert {k: int(v) for k, v in choose(tf.constant(True)).items()} == {"b": 1, "a": 2}


def test_traces_check_keys():
    f = tf.function(lambda x: x["a"] - x["b"], autograph=False)
    concrete = f.get_concrete_function({"a": tf.constant(1), "b": tf.constant(2)})
    assert int(concrete(ordered(b=tf.constant(2), a=tf.constant(5)))) == 3
    with pytest.raises(TypeError, match="does not have the structure"):
        concrete({"a": tf.constant(1), "c": tf.constant(2)})


def test_classes_with_tensors_are_arguments():
    """Not objects whose tensors of the first call stay in the trace."""
    f = tf.function(lambda x: x.early * 10 + x.late, autograph=False)
    box = nest_cases.Labelled(tf.constant(1), tf.constant(2), "x")
    assert int(f(box)) == 21
    box.late, box.early = tf.constant(3), tf.constant(4)
    assert int(f(box)) == 43
    assert f.experimental_get_tracing_count() == 1
    labelled = tf.function(lambda x: tf.constant(x.label), autograph=False)
    assert [labelled(nest_cases.Labelled(1.0, 2.0, name)).numpy() for name in "xyx"] == [b"x", b"y", b"x"]
    attrs = tf.function(lambda x: x.y * 10 + x.z, autograph=False)
    pair = nest_cases.Attrs(tf.constant(1), tf.constant(2))
    assert int(attrs(pair)) == 21
    pair.z = tf.constant(5)
    assert int(attrs(pair)) == 25


def test_saved_models_of_earlier_builds(tmp_path):
    """Parts of mappings used to be numbered in the order of insertion; such models do not say `sorted_keys`."""
    module = tf.Module()
    module.f = tf.function(lambda x: ordered(b=x["b"] * 10, a=x["a"]), autograph=False)
    module.f(ordered(b=tf.constant(2), a=tf.constant(1)))
    tf.saved_model.save(module, str(tmp_path))
    path = tmp_path / "saved_model.json"
    model = json.loads(path.read_text())
    assert model.pop("sorted_keys") is True
    # The same model with the names exchanged: b is the first input and the first result, and stands first.
    for row in model["functions"]:
        row["args"], row["results"] = _exchanged(row["args"]), _exchanged(row["results"])
    path.write_text(json.dumps(model))
    loaded = tf.saved_model.load(str(tmp_path))
    for given in ({"a": tf.constant(2), "b": tf.constant(1)}, ordered(b=tf.constant(1), a=tf.constant(2))):
        assert {k: int(v) for k, v in loaded.f(given).items()} == {"a": 20, "b": 1}


def _exchanged(row):
    if isinstance(row, list):
        return [_exchanged(item) for item in row]
    if not isinstance(row, dict):
        return row
    if "dict" in row:
        pairs = sorted(row["dict"], key=lambda pair: pair[0]["value"])
        return {"dict": [[{"value": {"a": "b", "b": "a"}[key["value"]]}, part] for key, part in pairs]}
    return {name: _exchanged(item) for name, item in row.items()}


def test_nest_opens_what_tensorflow_opens():
    nest = tf.nest
    assert nest.flatten(ordered(b=1, a=2)) == [2, 1]
    assert nest.flatten({"b": 1, "a": [2, None]}) == [2, None, 1]
    assert nest.flatten(collections.deque([1, 2])) == [1, 2] and nest.flatten(range(2)) == [0, 1]
    assert nest.flatten({"b": 1, "a": 2}.values()) == [1, 2]
    assert nest.flatten("ab") == ["ab"] and nest.flatten({1, 2}) == [{1, 2}]
    assert nest.is_nested(nest_cases.Labelled(1, 2, "")) and not nest.is_nested(np.zeros(2))
    packed = nest.pack_sequence_as(collections.defaultdict(int, b=1, a=2), [5, 6])
    assert packed == {"b": 6, "a": 5} and packed.default_factory is int
    with pytest.raises(TypeError):
        nest.flatten({1: 1, "a": 2})
    with pytest.raises(TypeError, match="same nested structure"):
        nest.assert_same_structure([1], (1,))
    nest.assert_same_structure([1], (1,), check_types=False)
    with pytest.raises(ValueError, match="same set of keys"):
        nest.assert_same_structure({"a": 1}, {"b": 1})
    one, other = (collections.namedtuple("P", "b a") for _ in range(2))
    nest.assert_same_structure(one(1, 2), other(1, 2))
    with pytest.raises(TypeError):
        nest.assert_same_structure(one(1, 2), collections.namedtuple("P", "a b")(1, 2))


class NoPairs(dict):
    def __init__(self):
        super().__init__()


class ListsByKey(collections.defaultdict):
    def __init__(self):
        super().__init__(list)


class OnlyPairs(dict):
    def __init__(self, pairs):
        super().__init__(pairs)


def _filled(mapping):
    mapping["b"], mapping["a"] = 2, 5
    return mapping


@pytest.mark.parametrize(
    "value",
    [collections.Counter(b=2, a=5), _filled(NoPairs()), _filled(ListsByKey()), OnlyPairs([("b", 2), ("a", 5)]),
     collections.UserDict(b=2, a=5), _filled(collections.defaultdict(int))], ids=lambda value: type(value).__name__
)  # fmt: skip
def test_mappings_are_rebuilt_key_by_key(value):
    """A Counter counted the pairs that it was made of again, and others take no pairs."""

    def check(made, a, b):
        assert type(made) is type(value) and list(made) == list(value)
        assert [int(made[key]) for key in "ab"] == [a, b]
        assert getattr(made, "default_factory", None) is getattr(value, "default_factory", None)

    check(tf.nest.map_structure(lambda x: x * 2, value), 10, 4)
    assert tf.function(lambda c: c["a"])(value) == 5
    check(tf.function(lambda c: c)(value), 5, 2)
    check(tf.function(lambda c: tf.nest.map_structure(lambda x: x * 2, c))(value), 10, 4)
    check(next(iter(tf.data.Dataset.from_tensors(value).map(lambda c: c))), 5, 2)
    state = tf.nest.map_structure(tf.constant, value)
    turn = lambda i, c: (i + 1, tf.nest.map_structure(lambda x: x + 1, c))  # noqa: E731
    check(tf.while_loop(lambda i, c: i < 3, turn, (0, state))[1], 8, 5)
    check(tf.cond(tf.constant(True), lambda: state, lambda: state), 5, 2)


def test_states_with_none_ragged_and_sparse_parts():
    """reduce() took the number of leaves for that of components; a StopIteration ended loops early."""
    nest = {"b": "dense", "a": ("none", "ragged", "sparse")}
    state = nest_cases.filled(tf, nest)
    numbers = tf.data.Dataset.range(3)
    bump = lambda state, x: nest_cases.turned(nest_cases.plus_one(tf, state))  # noqa: E731
    nest_cases.check(tf, nest, numbers.reduce(state, bump), 3.0)
    scanned = list(numbers.scan(state, lambda state, x: (bump(state, x), state)))
    for i, element in enumerate(scanned):
        nest_cases.check(tf, nest, element, float(i))
    assert len(scanned) == 3
    for wrong in (lambda s, x: {"b": s["b"]}, lambda s, x: {"b": s["b"], "c": s["a"]}, lambda s, x: s["b"]):
        with pytest.raises(TypeError, match="new state must match"):
            numbers.reduce({"b": tf.constant(1.0), "a": tf.constant(1.0)}, wrong)
    with pytest.raises(TypeError, match="new state must match"):
        numbers.reduce(tf.constant(1.0), lambda s, x: x)
    with pytest.raises(TypeError, match="new state must match"):
        numbers.scan(tf.constant(1.0), lambda s, x: (x, x))


def test_windows_of_parts():
    windows = list(tf.data.Dataset.range(4).map(lambda x: (x, None)).window(2))
    assert [[int(x) for x in window] for window, none in windows] == [[0, 1], [2, 3]]
    ragged = tf.data.Dataset.from_tensors(nest_cases.filled(tf, ("ragged",)))
    with pytest.raises(NotImplementedError, match="window"):
        ragged.window(2)
    with pytest.raises(TypeError, match="padded_batch"):
        tf.data.Dataset.range(4).map(lambda x: (x, None)).padded_batch(2)


def test_datasets_that_are_never_chosen():
    """One of weight 0 was waited for when the others had ended."""
    some, more = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
    assert [int(x) for x in tf.data.Dataset.sample_from_datasets([some, more], [1.0, 0.0])] == [0, 1, 2]
    assert list(tf.data.Dataset.sample_from_datasets([some, more], [0.0, 0.0])) == []
    three = tf.data.Dataset.sample_from_datasets([some, more, some], [0.5, 0.0, 0.5])
    assert sorted(int(x) for x in three) == [0, 0, 1, 1, 2, 2]


def test_rows_of_ragged_tensors_in_another_structure_are_refused():
    """map_fn took what came in the order of keys for what was expected in that order."""
    rows = {"a": tf.ragged.constant([[1.0], [2.0, 3.0]]), "b": tf.constant([1.0, 2.0])}
    assert tf.map_fn(lambda x: {"b": x["b"], "a": x["a"]}, rows)["a"].to_list() == [[1.0], [2.0, 3.0]]
    for change in (lambda x: {"a": x["a"], "c": x["b"]}, lambda x: (x["a"], x["b"]), lambda x: {**x, "b": None}):
        with pytest.raises((TypeError, ValueError)):
            tf.map_fn(change, rows)


def test_sparse_arguments_have_the_shape_of_the_signature():
    step = tf.function(lambda x: tf.sparse.reduce_sum(x, 1), input_signature=[tf.SparseTensorSpec([None, 3])])
    assert step(tf.sparse.from_dense([[1.0, 0.0, 2.0]])).numpy() == [3.0]
    with pytest.raises(TypeError, match="does not have the structure of SparseTensorSpec"):
        step(tf.sparse.from_dense([[1.0, 0.0]]))
    traced = step.get_concrete_function().structured_input_signature[0][0]
    assert traced.shape.as_list() == [None, 3]


def test_sizes_that_a_sparse_tensor_is_known_to_have():
    """Layers ask for the last one."""
    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3]), tf.TensorSpec([], tf.int32)])
    def shapes(x, rows):
        made = tf.SparseTensor(x.indices, x.values, (rows, 3))
        named = tf.SparseTensor(x.indices, x.values, x.dense_shape)
        named.set_shape([None, 3])
        assert x.shape.as_list() == made.shape.as_list() == named.shape.as_list() == [None, 3]
        return made.dense_shape, tf.shape(x), tf.size(x), tf.rank(x)

    given = tf.sparse.from_dense([[1.0, 0.0, 2.0]])
    assert [part.numpy().tolist() for part in shapes(given, 4)] == [[4, 3], [1, 3], 3, 2]
    with pytest.raises(ValueError):
        given.set_shape([1, 4])
