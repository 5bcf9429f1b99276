"""tf.experimental.ExtensionType: fields, specs, functions, loops, datasets; and arguments with a trace type."""

import pickle
from typing import Mapping, Optional, Tuple, Union

import numpy as np
import pytest
import tandem as tf


class Masked(tf.experimental.BatchableExtensionType):
    values: tf.Tensor
    mask: tf.Tensor

    shape = property(lambda self: self.values.shape)

    def with_values(self, values):
        return Masked(values, self.mask)

    def with_default(self, default):
        return tf.where(self.mask, self.values, default)

    class Spec:
        def __init__(self, shape, dtype=tf.float32):
            self.values = tf.TensorSpec(shape, dtype)
            self.mask = tf.TensorSpec(shape, tf.bool)

        shape = property(lambda self: self.values.shape)


class Pair(tf.experimental.ExtensionType):
    a: tf.Tensor
    b: tf.Tensor


class Player(tf.experimental.ExtensionType):
    name: tf.Tensor
    attributes: Mapping[str, tf.Tensor]


class Network(tf.experimental.BatchableExtensionType):
    shape: tf.TensorShape
    work: tf.Tensor

    def __init__(self, work):
        self.work = tf.convert_to_tensor(work)
        self.shape = self.work.shape[:-1]


class Node(tf.experimental.ExtensionType):
    value: tf.Tensor
    children: Tuple["Node", ...] = ()


def test_constructor_converts_and_checks():
    pair = Pair([1, 2], b=3.5)
    assert pair.a.dtype == tf.int32 and pair.b.numpy() == 3.5
    with pytest.raises(TypeError, match="b: expected a Tensor, got 'NoneType'"):
        Pair([1], None)
    with pytest.raises(TypeError, match="missing a required argument: 'b'"):
        Pair([1])


def test_fields_of_all_kinds():
    class Kinds(tf.experimental.ExtensionType):
        i: int
        f: float
        s: str
        shape: tf.TensorShape
        dtype: tf.DType
        either: Union[int, tf.Tensor]
        maybe: Optional[tf.Tensor]
        lengths: Tuple[int, ...]
        by_name: Mapping[str, tf.Tensor]

    value = Kinds(1, 2.0, "x", [2, None], "int8", [4.0], None, [1, 2], {"k": 7})
    assert value.shape == tf.TensorShape([2, None]) and value.dtype == tf.int8 and value.lengths == (1, 2)
    assert isinstance(value.either, tf.Tensor) and value.maybe is None and value.by_name["k"].numpy() == 7
    assert Kinds(1, 2.0, "x", [], "int8", 5, 1.0, (), {}).either == 5
    with pytest.raises(TypeError, match="i: expected 'int', got 'float'"):
        Kinds(1.5, 2.0, "x", [], "int8", 5, None, (), {})
    with pytest.raises(TypeError):
        value.by_name["k"] = 3
    with pytest.raises(TypeError, match="Unsupported type annotation"):
        type("Wrong", (tf.experimental.ExtensionType,), {"__annotations__": {"x": list}})


def test_defaults_own_constructor_and_subclasses():
    class Toy(tf.experimental.ExtensionType):
        name: str
        price: tf.Tensor = 5.0

        def __init__(self, name, price, discount=0.0):
            self.name = name
            self.price = price * (1 - discount)

    assert Toy("ball", 5.0, discount=0.5).price.numpy() == 2.5

    class Point(tf.experimental.ExtensionType):
        x: tf.Tensor
        y: tf.Tensor = 2.0

    class Point3(Point):
        z: tf.Tensor = 3.0

    point = Point3(1.0)
    assert [point.x.numpy(), point.y.numpy(), point.z.numpy()] == [1, 2, 3]
    assert repr(Point(1, 2)).startswith("Point(x=<tf.Tensor: shape=(), dtype=int32, numpy=1>, y=")
    assert len(Node(3, [Node(5), Node(2)]).children) == 2


def test_validation_and_immutability():
    class Checked(tf.experimental.ExtensionType):
        x: tf.Tensor

        def __validate__(self):
            self.x.shape.assert_has_rank(1)

    with pytest.raises(ValueError):
        Checked(3.0)
    value = Checked([1.0])
    with pytest.raises(AttributeError, match="Cannot mutate attribute `x`"):
        value.x = [2.0]
    with pytest.raises(AttributeError, match="Cannot mutate attribute `x`"):
        del value.x


def test_equality():
    a, b = Pair([1, 2], [3]), Pair([1, 2], [3])
    assert (a == b).numpy() and not (a != b).numpy()
    assert not (a == Pair([1, 3], [3])).numpy()
    assert (a == Pair([[1, 2]], [3])) is False and (a == a.a) is False


def test_pickle_keeps_values():
    value = pickle.loads(pickle.dumps(Player("Anne", {"speed": 28.0})))
    assert value.name.numpy() == b"Anne" and value.attributes["speed"].numpy() == 28


def test_specs():
    spec = tf.type_spec_from_value(Player("Anne", {"speed": 28.0}))
    assert spec.name == tf.TensorSpec([], tf.string) and spec.attributes["speed"] == tf.TensorSpec([], tf.float32)
    assert spec == Player.Spec(name=tf.TensorSpec([], tf.string), attributes={"speed": tf.TensorSpec([], tf.float32)})
    assert spec.is_compatible_with(Player("Bart", {"speed": 1.0}))
    assert not spec.is_compatible_with(Player("Bart", {"height": 1.0}))
    assert Masked.Spec([3]).mask == tf.TensorSpec([3], tf.bool)
    with pytest.raises(TypeError, match="expected a TensorSpec"):
        Pair.Spec(1, 2)
    common = Masked.Spec([3]).most_specific_compatible_type(Masked.Spec([4]))
    assert common.shape.as_list() == [None]


def test_function_traces_by_type():
    @tf.function
    def rename(player):
        return Player("nobody", player.attributes)

    result = rename(Player("Anne", {"height": 8.5, "speed": 28.0}))
    assert result.name.numpy() == b"nobody" and result.attributes["height"].numpy() == 8.5
    assert rename(Player("Bart", {"height": 8.0, "speed": 1.0})).attributes["speed"].numpy() == 1
    assert rename.experimental_get_tracing_count() == 1
    rename(Player("Chuck", {"height": 8.0, "jump": 1.0}))
    assert rename.experimental_get_tracing_count() == 2


def test_fields_that_are_no_tensors_belong_to_the_type():
    class Scaled(tf.experimental.ExtensionType):
        x: tf.Tensor
        by: int

    @tf.function
    def apply(s):
        return Scaled(s.x * s.by, s.by)

    for by in (2, 3, 2, 3):
        result = apply(Scaled([1, 2], by))
        assert result.by == by and result.x.numpy().tolist() == [by, 2 * by]
    assert apply.experimental_get_tracing_count() == 2


def test_input_signature_and_concrete_functions():
    spec = Pair.Spec(tf.TensorSpec([2]), tf.TensorSpec([2]))

    @tf.function(input_signature=[spec])
    def increased(x, delta=1.0):
        return Pair(x.a + delta, x.b)

    assert increased(Pair([1.0, 2.0], [0.0, 0.0])).a.numpy().tolist() == [2, 3]
    with pytest.raises(TypeError):
        increased(Pair([1.0, 2.0, 3.0], [0.0, 0.0]))

    concrete = tf.function(lambda x: x.a + x.b).get_concrete_function(spec)
    assert concrete(Pair([1.0, 2.0], [3.0, 4.0])).numpy().tolist() == [4, 6]


def test_control_flow():
    a, b = Masked([1.0, 2, 3], [True, False, True]), Masked([2.0, 3, 1, 5], [True, True, True, False])
    chosen = tf.function(lambda c: tf.cond(c, lambda: a, lambda: b))
    assert chosen(tf.constant(False)).values.shape == [4]
    _, last = tf.while_loop(lambda i, _: i < 10, lambda i, m: (i + 1, m.with_values(m.values + 1)), [0, b])
    assert last.values.numpy().tolist() == [12, 13, 11, 15]

    @tf.function
    def both(x, positive):
        if positive:
            m = Masked(x, x > 0)
        else:
            m = Masked(x, x < 0)
        for _ in tf.range(5 if positive else 7):
            m = m.with_values(m.values + 0.5)
        return m

    result = both(tf.constant([1.0, -2, 3]), tf.constant(True))
    assert result.values.numpy().tolist() == [3.5, 0.5, 5.5] and result.mask.numpy().tolist() == [True, False, True]
    assert tf.identity(Pair(1, 2)).b.numpy() == 2


def test_map_fn_gives_rows_their_own_static_fields():
    seen = []

    def half(network):
        seen.append(network.shape.as_list())
        return Network(network.work / 2)

    result = tf.map_fn(half, Network([[2.0, 4], [6, 8]]))
    assert result.work.numpy().tolist() == [[1, 2], [3, 4]] and result.shape == [2]
    assert all(shape == [] for shape in seen)


def test_datasets():
    slices = tf.data.Dataset.from_tensor_slices(Network([[1.0, 2], [3, 4], [5, 6]]))
    assert slices.element_spec.shape == []
    assert [n.work.numpy().tolist() for n in slices] == [[1, 2], [3, 4], [5, 6]]
    batch = next(iter(slices.batch(2, drop_remainder=True)))
    assert batch.shape == [2] and batch.work.shape == [2, 2]
    assert [n.shape.rank for n in slices.batch(2).unbatch()] == [0, 0, 0]
    doubled = slices.map(lambda n: Network(n.work * 2))
    assert [n.work.numpy()[0] for n in doubled] == [2, 6, 10]

    def generate():
        for i in range(2, 4):
            yield Masked(np.arange(6, dtype=np.int32), [j % i != 0 for j in range(6)])

    made = tf.data.Dataset.from_generator(generate, output_signature=Masked.Spec([6], tf.int32))
    assert [m.with_default(-1).numpy().tolist() for m in made][0] == [-1, 1, -1, 3, -1, 5]
    with pytest.raises(NotImplementedError, match="BatchableExtensionType"):
        tf.data.Dataset.from_tensors(Pair(1, 2)).batch(2)


def test_nest_expands_composites():
    pair = Pair(1, 2)
    assert tf.nest.flatten([pair, 3])[0] is pair
    parts = tf.nest.flatten([pair, 3], expand_composites=True)
    assert [int(p) for p in parts] == [1, 2, 3]
    packed = tf.nest.pack_sequence_as([pair, 3], parts[::-1], expand_composites=True)
    assert int(packed[0].a) == 3 and int(packed[1]) == 1
    doubled = tf.nest.map_structure(lambda t: t * 2, pair, expand_composites=True)
    assert int(doubled.b) == 4
    ragged = tf.ragged.constant([[1, 2], [3]])
    assert len(tf.nest.flatten(ragged, expand_composites=True)) == 2


def test_trace_types_decide_about_tracing():
    class ByKind(tf.types.experimental.TraceType):
        def __init__(self, fruit):
            self.kind, self.fruit = type(fruit), fruit

        def is_subtype_of(self, other):
            return self == other

        def most_specific_common_supertype(self, others):
            return self if all(self == other for other in others) else None

        def placeholder_value(self, placeholder_context=None):
            return self.fruit

        def __eq__(self, other):
            return type(other) is ByKind and self.kind is other.kind

        def __hash__(self):
            return hash(self.kind)

    class Fruit:
        def __tf_tracing_type__(self, context):
            return ByKind(self)

    class Apple(Fruit):
        flavor = 1

    class Mango(Fruit):
        flavor = 10

    assert isinstance(Apple(), tf.types.experimental.SupportsTracingProtocol)

    @tf.function
    def mixed(a, b):
        return tf.constant(a.flavor) + b.flavor

    assert mixed(Apple(), Mango()).numpy() == 11 and mixed(Apple(), Mango()).numpy() == 11
    assert mixed.experimental_get_tracing_count() == 1
    assert mixed(Mango(), Mango()).numpy() == 20
    assert mixed.experimental_get_tracing_count() == 2
