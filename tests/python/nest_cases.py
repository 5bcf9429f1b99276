"""Random nests, and what must hold of every one of them: wherever a structure is taken apart on one side and put
together on the other, a value stays under its key. Tests and the fuzzer share this; `tf` is Tandem or TensorFlow.

A nest holds a different value in every leaf. What is expected is found by walking through it by key and place,
never by tf.nest.
"""

import collections
import os
import tempfile

import numpy as np
from hypothesis import strategies as st

Pair = collections.namedtuple("Pair", ["second", "first"])
Triple = collections.namedtuple("Triple", ["c", "a", "b"])


class Labelled:
    """Dataclass-like: TensorFlow opens it by its own protocol. The label is no component."""

    def __init__(self, late, early, label):
        self.late, self.early, self.label = late, early, label

    def __tf_flatten__(self):
        return (self.label,), (self.late, self.early)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(*components, *metadata)

    def __eq__(self, other):
        return isinstance(other, Labelled) and vars(self) == vars(other)

    def __repr__(self):
        return f"Labelled({self.late!r}, {self.early!r}, {self.label!r})"


class Unshown(Labelled):
    """With Python's own repr, another one for each object, and equal to none but itself."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__
    __repr__ = object.__repr__


class Reticent(Labelled):
    """Its repr does not tell the label."""

    def __repr__(self):
        return "Reticent()"


class _Field:
    def __init__(self, name):
        self.name = name


class Attrs:
    """What attr.s would make of a class."""

    __attrs_attrs__ = (_Field("z"), _Field("y"))

    def __init__(self, z, y):
        self.z, self.y = z, y

    def __repr__(self):
        return f"Attrs({self.z!r}, {self.y!r})"


class SpecialDict(dict):
    """A dict of a class of one's own."""


_KEYS = ["a", "b", "c", "aa", "B", "_x", "z9", "10", "9", "\u00e4"]


@st.composite
def _mappings(draw, children, special=True):
    keys = draw(st.lists(st.sampled_from(_KEYS), min_size=1, max_size=4, unique=True))
    items = [(key, draw(children)) for key in keys]
    kind = draw(st.sampled_from(["dict", "ordered", "default"] + ["special"] * special))
    if kind == "default":
        return collections.defaultdict(list, items)
    return {"dict": dict, "ordered": collections.OrderedDict, "special": SpecialDict}[kind](items)


def nests(leaves=("dense",), lists=True, classes=True, top=None, most=8, special=True):
    """Nests whose leaves are the names of kinds of leaves. `special`: with mappings of classes of one's own."""

    def more(children):
        pairs = st.tuples(children, children)
        kinds = [
            _mappings(children, special),
            _mappings(children, special),
            st.lists(children, min_size=1, max_size=3).map(tuple),
            pairs.map(lambda p: Pair(*p)),
            st.tuples(children, children, children).map(lambda p: Triple(*p)),
        ]
        if classes:
            labels = st.sampled_from(["label", "other"])
            kinds += [st.builds(made, children, children, labels) for made in (Labelled, Unshown, Reticent)]
            kinds.append(pairs.map(lambda p: Attrs(*p)))
        if lists:
            kinds.append(st.lists(children, min_size=1, max_size=3))
        return st.one_of(kinds)

    made = st.recursive(st.sampled_from(list(leaves)), more, max_leaves=most)
    if top == "mapping":
        return _mappings(made, special).filter(lambda n: any(kind == "dense" for kind in paths(n).values()))
    return made.filter(lambda n: any(kind == "dense" for kind in paths(n).values()))


# ---- Walking by key and place


def parts_of(nest):
    """[(key, part)], or None for a leaf."""
    if isinstance(nest, collections.abc.Mapping):
        return list(nest.items())
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return [(name, getattr(nest, name)) for name in nest._fields]
    if isinstance(nest, (list, tuple)):
        return list(enumerate(nest))
    if isinstance(nest, Labelled):
        return [("late", nest.late), ("early", nest.early)]
    if isinstance(nest, Attrs):
        return [("z", nest.z), ("y", nest.y)]
    return None


def paths(nest, path=()):
    """{path: leaf}"""
    parts = parts_of(nest)
    if parts is None:
        return {path: nest}
    found = {}
    for key, part in parts:
        found.update(paths(part, (*path, key)))
    return found


def inner_parts(nest):
    """All structures in a nest, itself among them."""
    parts = parts_of(nest)
    return [] if parts is None else [nest, *(inner for _, part in parts for inner in inner_parts(part))]


def labels(nest):
    """What classes in a nest say of themselves besides their parts, in order of their places."""
    return [part.label for part in inner_parts(nest) if isinstance(part, Labelled)]


def rebuilt(nest, change, path=(), turned=False, label=lambda label: label):
    """The nest with change(leaf, path) in place of leaves; `turned`: mappings in the opposite order of insertion;
    `label`: gives classes other labels."""
    parts = parts_of(nest)
    if parts is None:
        return change(nest, path)
    made = [(key, rebuilt(part, change, (*path, key), turned, label)) for key, part in parts]
    if isinstance(nest, collections.abc.Mapping):
        made = made[::-1] if turned else made
        if isinstance(nest, collections.defaultdict):
            return collections.defaultdict(nest.default_factory, made)
        return type(nest)(made)
    values = [part for key, part in made]
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*values)
    if isinstance(nest, Labelled):
        return type(nest)(*values, label(nest.label))
    return Attrs(*values) if isinstance(nest, Attrs) else type(nest)(values)


def turned(nest):
    return rebuilt(nest, lambda leaf, path: leaf, turned=True)


def relabelled(nest):
    """The nest with other labels in all its classes."""
    return rebuilt(nest, lambda leaf, path: leaf, label=lambda label: label + "'")


def refused(function, error=TypeError):
    """TensorFlow's error: for structures that differ a TypeError."""
    try:
        function()
    except error:
        return
    raise AssertionError("what TensorFlow refuses was accepted")


def numbered(nest):
    """{path: number}, a different one for each leaf that is not none; the order of mappings does not matter."""
    kinds = paths(nest)
    return {path: 10.0 * (i + 1) for i, path in enumerate(sorted(kinds, key=repr)) if kinds[path] != "none"}


def filled(tf, nest, rows=None, add=0.0):
    """The nest with values in it: scalars, or vectors of `rows` equal numbers."""
    numbers = numbered(nest)

    def value(kind, path):
        if kind == "none":
            return None
        number = numbers[path] + add
        if kind == "ragged":
            lengths = [1, 3] if rows is None else [1 + i % 3 for i in range(rows)]
            return tf.RaggedTensor.from_row_lengths(np.full(sum(lengths), number, "float32"), lengths)
        if kind == "sparse":
            places = [[0, 1], [1, 0]] if rows is None else [[i, i % 3] for i in range(rows)]
            return tf.SparseTensor(places, np.full(len(places), number, "float32"), [len(places), 3])
        return tf.constant(number if rows is None else [number] * rows)

    return rebuilt(nest, value)


def with_leaves(nest, kinds, other="dense"):
    """The nest with another kind of leaf where it has one that is not among these."""
    return rebuilt(nest, lambda kind, path: kind if kind in kinds else other)


def plus_one(tf, nest):
    """Each value one more."""
    return rebuilt(nest, lambda leaf, path: added(tf, leaf))


def added(tf, leaf):
    if leaf is None:
        return None
    if isinstance(leaf, tf.RaggedTensor):
        return leaf.with_flat_values(leaf.flat_values + 1.0)
    if isinstance(leaf, tf.SparseTensor):
        return tf.SparseTensor(leaf.indices, leaf.values + 1.0, leaf.dense_shape)
    return leaf + 1.0


def number_of(tf, leaf):
    """The one number that a leaf consists of."""
    if leaf is None:
        return None
    if isinstance(leaf, (tf.RaggedTensor, tf.compat.v1.ragged.RaggedTensorValue) if hasattr(
            tf.compat.v1, "ragged") else tf.RaggedTensor):  # fmt: skip
        leaf = leaf.flat_values
    if hasattr(leaf, "dense_shape"):
        leaf = leaf.values
    array = np.asarray(leaf)
    assert array.size and (array == array.flat[0]).all(), array
    return float(array.flat[0])


def kind_of(leaf):
    """The name of its kind; arrays are dense."""
    if leaf is None:
        return "none"
    if hasattr(leaf, "dense_shape"):
        return "sparse"
    return "ragged" if hasattr(leaf, "flat_values") else "dense"


def check(tf, nest, result, add=0.0, kinds=True):
    """The result has the nest's structure, and under every path the number that belongs there."""
    wanted = {path: None for path in paths(nest)}
    wanted.update({path: number + add for path, number in numbered(nest).items()})
    got = {path: number_of(tf, leaf) for path, leaf in paths(result).items()}
    assert got == wanted, f"{nest!r}: wanted {wanted}, got {got}"
    assert {path: kind_of(leaf) for path, leaf in paths(result).items()} == paths(nest)
    if kinds:
        same_containers(nest, result)


def same_containers(nest, result):
    parts = parts_of(nest)
    if parts is None:
        return
    assert type(result) is type(nest) or (isinstance(nest, dict) and isinstance(result, dict)), (nest, result)
    if isinstance(nest, Labelled):
        assert result.label == nest.label, (nest, nest.label, result.label)
    for (_, a), (_, b) in zip(parts, [(key, dict(parts_of(result))[key]) for key, _ in parts]):
        same_containers(a, b)


# ---- What holds of every nest


def check_nest(tf, nest):
    """tf.nest: values of mappings in the order of sorted keys, packed in the order of the structure."""
    values = filled(tf, nest)

    def in_order(value):
        parts = parts_of(value)
        if parts is None:
            return [value]
        if isinstance(value, collections.abc.Mapping):
            parts = sorted(parts, key=lambda pair: pair[0])
        return [leaf for _, part in parts for leaf in in_order(part)]

    flat = tf.nest.flatten(values)
    assert [number_of(tf, v) for v in flat] == [number_of(tf, v) for v in in_order(values)]
    packed = tf.nest.pack_sequence_as(turned(values), flat)
    check(tf, nest, packed)
    assert list(paths(packed)) == list(paths(turned(values)))
    mapped = tf.nest.map_structure(lambda a, b: (number_of(tf, a), number_of(tf, b)), values, turned(values))
    pairs = {path[:-1]: [] for path in paths(mapped)}
    for path, number in paths(mapped).items():
        pairs[path[:-1]].append(number)
    assert all(a == b for a, b in pairs.values()), pairs
    tf.nest.assert_same_structure(values, turned(values))
    expanded = tf.nest.flatten(values, expand_composites=True)
    check(tf, nest, tf.nest.pack_sequence_as(turned(values), expanded, expand_composites=True))


def check_function(tf, nest):
    """Arguments and results of tf.function, of its traces, and of functions with an input signature."""

    @tf.function(autograph=False)
    def step(x, *, named=None):
        return plus_one(tf, x), named if named is None else plus_one(tf, named)

    for order in (nest, turned(nest), nest, relabelled(nest), nest):
        given = filled(tf, order)
        result, none = step(given)
        check(tf, order, result, 1.0)
        assert none is None
        result, named = step(given, named=turned(given))
        check(tf, order, result, 1.0)
        check(tf, order, named, 1.0)
    concrete = step.get_concrete_function(filled(tf, nest))
    check(tf, nest, concrete(turned(filled(tf, nest)))[0], 1.0)


def specs_of(tf, nest):
    """A spec in place of each leaf, as tf.function and from_generator take it."""
    made = {
        "dense": tf.TensorSpec([], "float32"), "ragged": tf.RaggedTensorSpec([None, None], "float32"),
        "sparse": tf.SparseTensorSpec([None, 3], "float32"), "none": None,
    }  # fmt: skip
    return rebuilt(nest, lambda kind, path: made[kind])


def check_signature(tf, nest):
    """A function with an input signature takes mappings of any order. None has no spec."""
    def step(x):
        return plus_one(tf, x)

    if "none" in paths(nest).values():
        try:
            tf.function(step, input_signature=[specs_of(tf, nest)], autograph=False)
        except TypeError as error:
            assert "input_signature must be a possibly nested sequence of TensorSpec objects" in str(error), error
        else:
            raise AssertionError("a signature with None in it was accepted")
    nest = with_leaves(nest, ("dense", "ragged", "sparse"))
    step = tf.function(step, input_signature=[specs_of(tf, nest)], autograph=False)
    check(tf, nest, step(filled(tf, nest)), 1.0)
    check(tf, nest, step(filled(tf, turned(nest))), 1.0)


def check_branches(tf, nest):
    """Branches and loop bodies may give mappings in another order than they got them."""
    @tf.function(autograph=False)
    def choose(which):
        return tf.cond(
            which, lambda: filled(tf, nest), lambda: turned(filled(tf, nest, add=1.0)))  # fmt: skip

    check(tf, nest, choose(tf.constant(True)), 0.0)
    check(tf, nest, choose(tf.constant(False)), 1.0)

    @tf.function(autograph=False)
    def switch(which):
        branches = [lambda add=add: (turned if add else lambda n: n)(filled(tf, nest, add=add)) for add in (0.0, 1.0, 2.0)]
        return tf.switch_case(which, branches)

    for i in range(3):
        check(tf, nest, switch(tf.constant(i)), float(i))
    if labels(nest):
        values, other = filled(tf, nest), filled(tf, relabelled(nest))
        on = tf.function(lambda function, which: function(which), autograph=False)
        for which in (lambda p: tf.cond(p, lambda: values, lambda: other),
                      lambda p: tf.case([(p, lambda: values)], lambda: other),
                      lambda p: tf.switch_case(tf.cast(p, tf.int32), [lambda: values, lambda: other])):  # fmt: skip
            refused(lambda which=which: on(which, tf.constant(True)))


def check_loops(tf, nest):
    """Loops carry what consists of tensors, and refuse None."""
    def body(i, x):
        return i + 1, turned(plus_one(tf, x))

    def loop():
        return tf.while_loop(lambda i, x: i < 3, body, [tf.constant(0), filled(tf, nest)])[1]

    if "none" in paths(nest).values():
        for run in (loop, tf.function(loop, autograph=False)):
            refused(run, ValueError)
    nest = with_leaves(nest, ("dense", "ragged", "sparse"))
    check(tf, nest, loop(), 3.0)
    check(tf, nest, tf.function(loop, autograph=False)(), 3.0)
    if labels(nest):
        loop_vars = [tf.constant(0), filled(tf, nest)]
        other = tf.function(lambda: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, relabelled(x)), loop_vars))
        refused(other)


def check_rows(tf, nest):
    """map_fn, foldl, and scan, whose states are dense."""
    rows = filled(tf, nest, rows=3)

    def each(rows):
        return tf.map_fn(lambda x: turned(plus_one(tf, x)), rows)

    check(tf, nest, each(rows), 1.0)
    check(tf, nest, tf.function(each, autograph=False)(rows), 1.0)
    nest = with_leaves(nest, ("dense", "ragged", "sparse"))
    last = tf.foldl(lambda state, x: turned(plus_one(tf, state)), tf.zeros([4]), initializer=filled(tf, nest))
    check(tf, nest, last, 4.0)
    nest = with_leaves(nest, ("dense",))
    states = tf.scan(lambda state, x: turned(plus_one(tf, state)), tf.zeros([2]), initializer=filled(tf, nest))
    check(tf, nest, rebuilt(states, lambda leaf, path: None if leaf is None else leaf[-1]), 2.0)
    if labels(nest):
        refused(lambda: tf.map_fn(relabelled, rows))
        refused(lambda: tf.scan(lambda state, x: relabelled(state), tf.zeros([2]), initializer=filled(tf, nest)))


def check_gradients(tf, nest):
    """With respect to variables and ragged tensors, and to what the result does not depend on (a leaf that is None)."""
    numbers = numbered(nest)

    def source(kind, path):
        if kind == "ragged":
            return tf.RaggedTensor.from_row_splits(tf.fill([4], numbers[path]), [0, 1, 4])
        return tf.Variable(numbers.get(path, 1.0))

    sources = rebuilt(nest, source)
    kinds = paths(nest)

    def gradients(sources):
        with tf.GradientTape() as tape:
            for leaf in paths(sources).values():
                tape.watch(leaf)
            used = [leaf for path, leaf in paths(sources).items() if kinds[path] != "none"]
            total = sum(tf.reduce_sum(leaf * leaf) / 2.0 for leaf in used)
        return tape.gradient(total, sources)

    check(tf, nest, gradients(sources))
    check(tf, nest, tf.function(gradients, autograph=False)(sources))


def _transformed(tf, dataset):
    return dataset.map(lambda *x: plus_one(tf, x[0] if len(x) == 1 else x)).shuffle(2).prefetch(1)


def check_dataset(tf, nest):
    """A dataset's elements: through map, batch, shuffle, prefetch, cache, zip, reduce and generators."""
    values = filled(tf, nest)
    dataset = tf.data.Dataset.from_tensors(values).repeat(3)
    for element in dataset:
        check(tf, nest, element)

    @tf.autograph.experimental.do_not_convert
    def bump(*x):
        # A tuple is spread over the arguments, as dataset.map does it.
        whole = x if type(nest) is tuple else x[0]
        return turned(plus_one(tf, whole))

    mapped = dataset.map(bump, num_parallel_calls=2)
    for element in mapped.shuffle(3).prefetch(2).cache():
        check(tf, nest, element, 1.0)
    for one, other in tf.data.Dataset.zip((dataset, mapped)):
        check(tf, nest, one)
        check(tf, nest, other, 1.0)
    for element in mapped.batch(2):
        check(tf, nest, element, 1.0)
    for element in tf.data.Dataset.from_tensor_slices(filled(tf, nest, rows=4)).batch(2, drop_remainder=True):
        check(tf, nest, element)
    if "none" not in paths(nest).values():  # TensorFlow has no states and no specs with None
        state = dataset.reduce(values, lambda state, *x: turned(plus_one(tf, state)))
        check(tf, nest, state, 3.0)
        generated = tf.data.Dataset.from_generator(
            lambda: iter([filled(tf, nest), filled(tf, turned(nest))]), output_signature=specs_of(tf, nest))  # fmt: skip
        for element in generated:
            check(tf, nest, element)
    options = iter(dataset).get_next_as_optional()
    check(tf, nest, options.get_value())

    @tf.function(autograph=False)
    def of_iterator(iterator):
        return plus_one(tf, next(iterator))

    check(tf, nest, of_iterator(iter(dataset)), 1.0)


def _weights(nest):
    return {path: float(3 * i + 1) for i, path in enumerate(sorted(numbered(nest), key=repr))}


def _weight_of_labels(nest):
    return float(sum(map(len, labels(nest))))


def make_model(tf, nest):
    """A model whose steps read a batch by key: the loss tells which value came under which."""
    weights = _weights(nest)

    def digest(data):
        data = tf.keras.utils.unpack_x_y_sample_weight(data)[0]
        leaves = {path: leaf for path, leaf in paths(data).items() if leaf is not None}
        assert set(leaves) == set(weights), (sorted(map(repr, leaves)), nest)
        means = {path: mean(leaf) for path, leaf in leaves.items()}
        return sum(means[path] * weights[path] for path in means) + _weight_of_labels(data)

    def mean(leaf):
        leaf = leaf.flat_values if isinstance(leaf, tf.RaggedTensor) else leaf
        return tf.reduce_mean(leaf.values if isinstance(leaf, tf.SparseTensor) else leaf)

    class Model(tf.keras.Model):
        def train_step(self, data):
            return {"digest": digest(data), "loss": digest(data)}

        def test_step(self, data):
            return {"digest": digest(data), "loss": digest(data)}

        def predict_step(self, data):
            # Keras has no results that are None.
            given = tf.keras.utils.unpack_x_y_sample_weight(data)[0]
            return turned(rebuilt(given, lambda leaf, path: tf.zeros([2]) if leaf is None else added(tf, leaf)))

    model = Model()
    model.compile(optimizer="sgd")
    return model


def check_fit(tf, nest):
    """fit, evaluate, predict, train_on_batch and the like, on datasets, arrays and batches."""
    weights, numbers = _weights(nest), numbered(nest)
    total = sum(numbers[path] * weights[path] for path in weights)
    wanted = total + _weight_of_labels(nest)
    model = make_model(tf, nest)
    # Keras itself does not open other classes: it reads them in steps alone.
    plain = not any(isinstance(part, (Labelled, Attrs, SpecialDict)) for part in inner_parts(nest))

    def close(value, wanted=wanted):
        np.testing.assert_allclose(np.asarray(value, "float64"), wanted, rtol=1e-5, err_msg=repr(nest))

    def predicted(result):
        kinds = paths(nest)
        result = rebuilt(result, lambda leaf, path: None if kinds[path] == "none" else leaf)
        check(tf, nest, result, 1.0, kinds=False)

    for order in (nest, turned(nest)):
        dataset = tf.data.Dataset.from_tensors(filled(tf, order, rows=2)).repeat(3)
        close(model.fit(dataset, verbose=0).history["digest"][-1])
        close(model.evaluate(dataset, verbose=0, return_dict=True)["digest"])
        if plain:
            predicted(model.predict(dataset, verbose=0))
    if plain:
        arrays = rebuilt(filled(tf, nest, rows=2), lambda leaf, path: np.asarray(leaf) if tf.is_tensor(leaf) and not
                         isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor)) else leaf)  # fmt: skip
        close(model.fit(arrays, batch_size=1, shuffle=False, verbose=0).history["digest"][-1])
        close(model.fit(turned(arrays), batch_size=1, verbose=0).history["digest"][-1])
        predicted(model.predict(turned(arrays), batch_size=1, verbose=0))
    for attempt in range(2):  # the second time compiled steps are there
        batch = filled(tf, nest if attempt else turned(nest), rows=2)
        close(model.train_on_batch(batch, return_dict=True)["digest"])
        close(model.test_on_batch(batch, return_dict=True)["digest"])
        if plain:
            predicted(model.predict_on_batch(batch))
    for order in (relabelled(nest), nest) if labels(nest) else ():
        batch = filled(tf, order, rows=2)
        close(model.train_on_batch(batch, return_dict=True)["digest"], total + _weight_of_labels(order))
        dataset = tf.data.Dataset.from_tensors(batch)
        close(model.evaluate(dataset, verbose=0, return_dict=True)["digest"], total + _weight_of_labels(order))


def check_inputs(tf, nest):
    """A functional model binds its inputs by key. (Keras itself binds them by place, on TensorFlow too.)"""
    weights, numbers = _weights(nest), numbered(nest)

    class Column(tf.keras.layers.Layer):
        """The numbers of an input as a column: zeros of None."""

        def call(self, x, like):
            if isinstance(x, tf.SparseTensor):
                return tf.reduce_sum(tf.sparse.to_dense(x), 1, keepdims=True)
            if isinstance(x, tf.RaggedTensor):
                return tf.reduce_max(x, 1)[:, None]
            return tf.zeros_like(like) if x is None else x

        def compute_output_shape(self, x_shape, like_shape):
            return (x_shape or like_shape)[0], 1

    made = {
        "dense": lambda: tf.keras.Input((1,)), "none": lambda: tf.keras.Input((1,), optional=True),
        "sparse": lambda: tf.keras.Input((3,), sparse=True), "ragged": lambda: tf.keras.Input((None,), ragged=True),
    }  # fmt: skip
    inputs = rebuilt(nest, lambda kind, path: made[kind]())
    dense = next(leaf for path, leaf in paths(inputs).items() if paths(nest)[path] == "dense")
    columns = {path: Column()(leaf, dense) * weights.get(path, 1.0) for path, leaf in paths(inputs).items()}
    model = tf.keras.Model(inputs, sum(columns.values()))
    wanted = np.full([2, 1], sum(numbers[path] * weights[path] for path in weights))
    for order in (nest, turned(nest)):
        batch = filled(tf, order, rows=2)
        for result in (model(batch), model.predict(batch, verbose=0), model.predict_on_batch(batch),
                       model.predict(tf.data.Dataset.from_tensors((batch,)), verbose=0)):  # fmt: skip
            np.testing.assert_allclose(result, wanted, rtol=1e-5, err_msg=repr(order))


def check_checkpoint(tf, nest):
    """Variables under a nest, saved and restored into one whose mappings have another order."""
    numbers = numbered(nest)

    def module(order, zero):
        made = tf.Module()
        made.nest = rebuilt(order, lambda kind, path: tf.Variable(0.0 if zero else numbers[path]))
        return made

    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(module=module(nest, False)).save(os.path.join(folder, "ck"))
        restored = module(turned(nest), True)
        tf.train.Checkpoint(module=restored).restore(path).assert_consumed()
        check(tf, nest, restored.nest, kinds=False)


def check_saved_model(tf, nest):
    """A function with a trace for these arguments, and one with a signature for those of them that have specs."""
    module, plain = tf.Module(), with_leaves(nest, ("dense", "ragged", "sparse"))
    module.step = tf.function(lambda x: plus_one(tf, x), autograph=False)
    module.by_spec = tf.function(lambda x: plus_one(tf, x), input_signature=[specs_of(tf, plain)], autograph=False)
    check(tf, nest, module.step(filled(tf, nest)), 1.0)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        loaded = tf.saved_model.load(folder)
    for function, given in ((loaded.step, nest), (loaded.by_spec, plain)):
        check(tf, given, function(filled(tf, given)), 1.0, kinds=False)
        check(tf, given, function(turned(filled(tf, given))), 1.0, kinds=False)


def check_strategy(tf, nest):
    """strategy.run, and what a distributed dataset gives it; needs two devices."""
    kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    strategy = tf.distribute.MirroredStrategy([f"/{kind}:0", f"/{kind}:1"])
    dataset = tf.data.Dataset.from_tensors(filled(tf, nest, rows=4)).repeat(2)

    def on_replica(x):
        return turned(plus_one(tf, x))

    @tf.function(autograph=False)
    def step(batch):
        return strategy.run(on_replica, (batch,))

    def one_replica(value, number):
        return strategy.experimental_local_results(value)[number]

    for batch in strategy.experimental_distribute_dataset(dataset):
        for result in (step(batch), strategy.run(on_replica, (batch,))):
            for replica in range(2):
                check(tf, nest, rebuilt(result, lambda v, path: None if v is None else one_replica(v, replica)), 1.0)


ALL = ("dense", "dense", "ragged", "sparse", "none")

# name → (the check, what nests it takes)
CHECKS = {
    "nest": (check_nest, {"leaves": ALL}),
    "function": (check_function, {"leaves": ALL}),
    "signature": (check_signature, {"leaves": ALL}),
    "branches": (check_branches, {"leaves": ("dense", "dense", "ragged", "sparse")}),
    "loops": (check_loops, {"leaves": ALL}),
    "rows": (check_rows, {"leaves": ALL}),
    "gradients": (check_gradients, {"leaves": ("dense", "dense", "ragged", "none")}),
    "dataset": (check_dataset, {"leaves": ALL, "lists": False}),
    "fit": (check_fit, {"leaves": ALL, "lists": False, "top": "mapping"}),
    "inputs": (check_inputs, {"leaves": ALL, "lists": False, "top": "mapping", "classes": False, "special": False}),
    "checkpoint": (check_checkpoint, {"classes": False}),
    "saved_model": (check_saved_model, {"leaves": ALL, "classes": False}),
    "strategy": (check_strategy, {"leaves": ALL, "lists": False, "top": "mapping"}),
}
