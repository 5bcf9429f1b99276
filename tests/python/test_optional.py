"""tf.experimental.Optional: values of functions, loops and branches, and what iterators give."""

import pytest
import tandem as tf

Optional = tf.experimental.Optional


def test_outside_of_functions():
    full, empty = Optional.from_value((1, "a")), Optional.empty(tf.TensorSpec([None], tf.float32))
    assert full.has_value() and not empty.has_value()
    number, text = full.get_value()
    assert (number.numpy(), text.numpy()) == (1, b"a")
    assert empty.element_spec == tf.TensorSpec([None], tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="The given optional does not have a value"):
        empty.get_value()


def test_an_argument_has_a_value_or_not():
    traces = []

    @tf.function
    def total(o):
        traces.append(o)
        if o.has_value():
            return tf.reduce_sum(o.get_value())
        return tf.constant(-1.0)

    assert total(Optional.from_value(tf.constant([1.0, 2.0]))).numpy() == 3
    assert total(Optional.empty(tf.TensorSpec([2], tf.float32))).numpy() == -1
    assert len(traces) == 1


def test_asking_for_what_is_not_there_fails_when_the_function_runs():
    @tf.function
    def value(o):
        return o.get_value() * 2

    assert value(Optional.from_value(2)).numpy() == 4
    with pytest.raises(tf.errors.InvalidArgumentError, match="The given optional does not have a value"):
        value(Optional.empty(tf.TensorSpec([], tf.int32)))


def test_signatures():
    @tf.function(input_signature=[tf.OptionalSpec(tf.TensorSpec([None], tf.int32))])
    def size(o):
        return tf.size(o.get_value()) if o.has_value() else -1

    assert size(Optional.from_value([1, 2])).numpy() == 2
    assert size(Optional.from_value([1, 2, 3])).numpy() == 3
    assert size(Optional.empty(tf.TensorSpec([None], tf.int32))).numpy() == -1
    assert size.experimental_get_tracing_count() == 1
    for wrong in (Optional.from_value([1.0]), Optional.from_value(([1],)), tf.constant([1])):
        with pytest.raises(TypeError, match="OptionalSpec"):
            size(wrong)


def test_results_of_functions_and_branches():
    @tf.function
    def maybe(p, x):
        return tf.cond(p, lambda: Optional.from_value({"x": x}), lambda: Optional.empty({"x": tf.TensorSpec([], tf.int32)}))

    assert maybe(tf.constant(True), tf.constant(3)).get_value()["x"].numpy() == 3
    assert not maybe(tf.constant(False), tf.constant(3)).has_value()


def test_ragged_and_string_components():
    @tf.function
    def same(o):
        return o.get_value()

    value = same(Optional.from_value({"r": tf.ragged.constant([[1], [2, 3]]), "s": tf.constant(["a"])}))
    assert value["r"].to_list() == [[1], [2, 3]]
    assert value["s"].numpy().tolist() == [b"a"]
    assert not Optional.empty(tf.TensorSpec([None], tf.string)).has_value()


def test_iterators_in_functions():
    @tf.function
    def total(iterator):
        sum_of = tf.constant(0, tf.int64)
        o = iterator.get_next_as_optional()
        while o.has_value():
            sum_of += o.get_value()
            o = iterator.get_next_as_optional()
        return sum_of

    iterator = iter(tf.data.Dataset.range(5))
    assert total(iterator).numpy() == 10
    assert total(iterator).numpy() == 0  # it is over
    batches = iter(tf.data.Dataset.range(5).batch(2))  # the last one is shorter
    shapes = []

    @tf.function
    def next_size(iterator):
        o = iterator.get_next_as_optional()
        return tf.size(o.get_value()) if o.has_value() else 0

    for _ in range(4):
        shapes.append(int(next_size(batches)))
    assert shapes == [2, 2, 1, 0]


def test_an_iterator_that_a_function_captures():
    iterator = iter(tf.data.Dataset.from_tensor_slices([7, 8]))

    @tf.function
    def take():
        o = iterator.get_next_as_optional()
        return o.has_value(), tf.cond(o.has_value(), o.get_value, lambda: -1)

    assert [tuple(int(x) for x in take()) for _ in range(3)] == [(1, 7), (1, 8), (0, -1)]
