"""Helpers of tensorflow.python that libraries import: nests with paths, decorators, sets by identity, exports."""

import collections

import pytest

import tandem as tf

nest = tf.python.util.nest
Point = collections.namedtuple("Point", "y x")


def test_paths():
    structure = {"b": [1, (2, 3)], "a": Point(4, {"k": 5})}
    pairs = nest.flatten_with_tuple_paths(structure)
    assert [value for _, value in pairs] == tf.nest.flatten(structure) == [4, 5, 1, 2, 3]
    assert [path for path, _ in pairs] == [("a", "y"), ("a", "x", "k"), ("b", 0), ("b", 1, 0), ("b", 1, 1)]
    joined = dict(nest.flatten_with_joined_string_paths(structure))
    assert joined["a/x/k"] == 5 and joined["b/1/1"] == 3
    named = nest.map_structure_with_paths(lambda path, value: f"{path}={value}", structure)
    assert named["a"] == Point("a/y=4", {"k": "a/x/k=5"})


def test_structures_that_end_earlier():
    shallow, deep = {"a": 0, "b": [0, 0]}, {"a": [1, 2], "b": [3, {"c": 4}]}
    assert nest.flatten_up_to(shallow, deep) == [[1, 2], 3, {"c": 4}]
    assert nest.map_structure_up_to(shallow, lambda x: str(x), deep)["b"] == ["3", "{'c': 4}"]
    nest.assert_shallow_structure(shallow, deep)
    with pytest.raises(ValueError, match="length"):
        nest.assert_shallow_structure([0, 0], [1])
    with pytest.raises(TypeError, match="sequence"):
        nest.assert_shallow_structure([0], 1)
    opened = nest.get_traverse_shallow_structure(lambda s: isinstance(s, dict), {"a": {"b": 1}, "c": [1]})
    assert opened == {"a": {"b": False}, "c": False}
    assert nest.flatten_dict_items({(1, 2): ("a", "b"), 3: "c"}) == {1: "a", 2: "b", 3: "c"}
    assert nest.list_to_tuple([1, [2, {"a": [3]}]]) == (1, (2, {"a": (3,)}))


def test_decorators_keep_what_they_wrap(caplog):
    deprecation, tf_decorator = tf.python.util.deprecation, tf.python.util.tf_decorator

    @deprecation.deprecated("2020-01-01", "use g")
    def f(x, y=2):
        """Doc."""
        return x + y

    assert f(1) == 3 and f(1) == 3 and f.__name__ == "f" and f.__doc__ == "Doc."
    assert [r.getMessage() for r in caplog.records if "use g" in r.getMessage()] != [] and len(caplog.records) == 1
    assert tf.python.util.tf_inspect.getfullargspec(f).args == ["x", "y"]
    with deprecation.silence():
        deprecation.deprecated(None, "other")(lambda: 1)()
    assert len(caplog.records) == 1

    def wrapped(*args):
        return -f(*args)

    made = tf_decorator.make_decorator(f, wrapped)
    assert made(1) == -3 and made.__name__ == "f" and tf_decorator.unwrap(made)[1] is f
    assert tf.python.util.tf_inspect.getcallargs(f, 1) == {"x": 1, "y": 2}


def test_sets_by_identity():
    identity = tf.python.util.object_identity
    a, b = [1], [1]
    kept = identity.ObjectIdentitySet([a])
    assert a in kept and b not in kept and len(kept | identity.ObjectIdentitySet([b])) == 2
    table = identity.ObjectIdentityDictionary()
    table[a], table[b] = 1, 2
    assert table[a] == 1 and table[b] == 2 and list(table) == [a, b]
    key = type("Key", (), {})()
    weak = identity.ObjectIdentityWeakKeyDictionary()
    weak[key] = 1
    assert weak[key] == 1
    del key
    assert len(weak) == 0


def test_dispatch_of_marked_functions():
    dispatch = tf.__internal__.dispatch

    class Mine:
        pass

    @dispatch.add_dispatch_support
    def double(x):
        if isinstance(x, Mine):
            raise TypeError("not mine")
        return 2 * x

    assert double(2) == 4
    with pytest.raises(TypeError, match="not mine"):
        double(Mine())
    tf.python.util.dispatch.dispatch_for_types(double, Mine)(lambda x: "mine")
    assert double(Mine()) == "mine"


def test_exports_and_registries():
    export = tf.python.util.tf_export

    @export.keras_export("keras.layers.Odd")
    class Odd:
        pass

    assert export.get_canonical_name_for_symbol(Odd, api_name="keras") == "keras.layers.Odd"
    assert export.get_symbol_from_name("keras.layers.Odd") is Odd
    assert export.get_canonical_name_for_symbol(tf.reduce_sum) in ("reduce_sum", "math.reduce_sum")
    registry = tf.python.framework.type_spec_registry
    with pytest.raises(ValueError, match="form"):
        registry.register("no_dot")(Odd)
    registry.register("here.Odd")(Odd)
    assert registry.lookup("here.Odd") is Odd and registry.get_name(Odd) == "here.Odd"


def test_specs_with_bounds():
    spec = tf.python.framework.tensor_spec.BoundedTensorSpec([2], tf.float32, 0, [1, 2])
    assert isinstance(spec, tf.TensorSpec) and spec.minimum == 0 and spec.maximum.tolist() == [1, 2]
    assert spec == tf.python.framework.tensor_spec.BoundedTensorSpec.from_spec(spec) and spec != tf.TensorSpec([2])
    with pytest.raises(ValueError, match="fit"):
        tf.python.framework.tensor_spec.BoundedTensorSpec([2], tf.float32, 0, [1, 2, 3])


def test_dimensions_and_graphs():
    shapes = tf.python.framework.tensor_shape
    assert shapes.dimension_value(shapes.Dimension(3)) == 3 and shapes.Dimension(None) is not None
    assert shapes.unknown_shape(2).as_list() == [None, None]
    context = tf.python.eager.context
    assert context.executing_eagerly() and tf.python.framework.ops.executing_eagerly_outside_functions()
    with context.graph_mode():
        assert not context.executing_eagerly()
        with context.eager_mode():
            assert context.executing_eagerly()
    assert context.num_gpus() == len(tf.config.list_logical_devices("GPU"))
