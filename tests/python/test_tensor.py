"""Tensors and NumPy: who shares memory with whom, and what survives."""

import copy
import gc
import pickle
import weakref

import ml_dtypes
import numpy as np
import pytest

import tandem as tf

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS, *FLOATS, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 1, 4)])
def test_round_trip(dtype, shape):
    array = np.random.default_rng().integers(0, 2, shape).astype(dtype)
    tensor = tf.constant(array)
    assert tensor.dtype == np.dtype(dtype)
    assert tensor.shape == shape
    back = tensor.numpy()
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_strings_round_trip():
    tensor = tf.constant([["a", "bc"], ["", "\x00é"]])
    assert tensor.numpy().tolist() == [[b"a", b"bc"], [b"", "\x00é".encode()]]
    assert tf.constant(tensor.numpy()).numpy().tolist() == tensor.numpy().tolist()


def test_strided_arrays_are_copied_in_order():
    array = np.arange(24.0).reshape(2, 3, 4)
    for view in (array.T, array[:, ::2], array[::-1], np.asfortranarray(array), array.astype(">f8")):
        np.testing.assert_array_equal(tf.constant(view).numpy(), view)


def test_writing_to_the_array_does_not_change_the_tensor():
    for size in (4, 100_000):  # small ones are copied, large ones might be shared
        array = np.zeros(size, np.float32)
        tensor = tf.convert_to_tensor(array)
        array[:] = 7
        assert not tensor.numpy().any()


def test_a_read_only_view_of_a_writable_array_is_copied():
    array = np.zeros(100_000, np.float32)
    view = array[:]
    view.flags.writeable = False
    tensor = tf.constant(view)
    array[:] = 7
    assert not tensor.numpy().any()


def test_frozen_arrays_are_shared_and_kept_alive():
    array = np.random.default_rng().random(100_000).astype(np.float32)
    expected = array.copy()
    array.flags.writeable = False
    address = array.__array_interface__["data"][0]
    with tf.device("/CPU:0"):
        tensor = tf.constant(array)
    assert np.asarray(tensor).__array_interface__["data"][0] == address
    del array
    gc.collect()
    np.testing.assert_array_equal(tensor.numpy(), expected)


def test_asarray_shares_and_is_read_only():
    with tf.device("/CPU:0"):
        tensor = tf.constant(np.arange(10.0))
    a, b = np.asarray(tensor), np.asarray(tensor)
    assert a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    assert not a.flags.writeable
    del tensor
    gc.collect()
    assert a.tolist() == list(range(10))


def test_numpy_gives_memory_of_its_own():
    tensor = tf.constant([1.0, 2.0])
    array = tensor.numpy()
    array[0] = 9
    assert tensor.numpy().tolist() == [1.0, 2.0]


def test_what_is_fetched_from_a_gpu_is_the_callers(run_python):
    status, out, err = run_python(
        """
        import numpy as np
        import tandem as tf
        for size in (3, 100_000):  # large ones are not copied once more
            with tf.device("GPU:0"):
                source = np.ones(size, np.float32)
                tensor = tf.constant(source)
                source[:] = 5
            array, other = tensor.numpy(), tensor.numpy()
            array[:] = 9
            print(other.min(), tensor.numpy().max(), np.asarray(tensor).flags.writeable)
            del tensor
            print(array.min(), tf.constant(array).numpy().max(), array.flags.c_contiguous)
        """,
        gpus=1,
    )
    assert status == 0, err
    assert out.splitlines() == ["1.0 1.0 False", "9.0 9.0 True"] * 2


def test_buffer_protocol():
    view = memoryview(tf.constant([[1, 2], [3, 4]]))
    assert view.shape == (2, 2) and view.readonly and view.tolist() == [[1, 2], [3, 4]]
    assert tf.constant(memoryview(np.arange(3))).numpy().tolist() == [0, 1, 2]


def test_dlpack_both_ways():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tf.experimental.dlpack.from_dlpack(array)
    assert np.asarray(tensor).__array_interface__["data"][0] == array.__array_interface__["data"][0]
    back = np.from_dlpack(tensor)
    np.testing.assert_array_equal(back, array)
    capsule = tf.experimental.dlpack.to_dlpack(tensor)
    assert tf.experimental.dlpack.from_dlpack(capsule).numpy().tolist() == array.tolist()
    with pytest.raises(ValueError):
        tf.experimental.dlpack.from_dlpack(capsule)  # a capsule is used once


@pytest.mark.parametrize("value", [1.5, [[1, 2], [3, 4]], ["a", "b"], True])
def test_pickle_and_copy(value):
    tensor = tf.constant(value)
    for other in (pickle.loads(pickle.dumps(tensor)), copy.copy(tensor), copy.deepcopy(tensor)):
        assert other.dtype == tensor.dtype
        assert other.numpy().tolist() == tensor.numpy().tolist()


def test_pickle_bfloat16():
    tensor = tf.constant([1.5, 2.0], tf.bfloat16)
    assert pickle.loads(pickle.dumps(tensor)).dtype == tf.bfloat16


def test_references_are_by_identity():
    a, b = tf.constant(1), tf.constant(1)
    table = {a.ref(): "a", b.ref(): "b"}
    assert table[a.ref()] == "a" and table[b.ref()] == "b"
    assert a.ref().deref() is a
    v = tf.Variable(1)
    assert v.ref() == v.ref() and hash(v.ref()) == hash(v.ref())


def test_attributes_and_weak_references():
    tensor = tf.constant(1)
    tensor._keras_mask = [tensor]  # a cycle, which the collector must find
    watcher = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert watcher() is None


def test_tensors_are_not_made_by_calling_the_class():
    with pytest.raises(TypeError, match="tf.constant"):
        tf.Tensor()


def test_is_tensor():
    assert tf.is_tensor(tf.constant(1)) and tf.is_tensor(tf.Variable(1))
    assert not tf.is_tensor(np.ones(1)) and not tf.is_tensor(1)
    assert isinstance(tf.constant(1), tf.Tensor) and not isinstance(tf.Variable(1), tf.Tensor)


def test_a_tensor_converts_to_itself():
    tensor = tf.constant(1.0)
    assert tf.convert_to_tensor(tensor) is tensor
    assert tf.convert_to_tensor(tensor, tf.float32) is tensor
    assert tf.cast(tensor, tf.float32) is tensor


def test_memory_is_given_back():
    def used():
        gc.collect()
        return tf.config.experimental.get_memory_info("CPU:0")["current"]

    a = tf.constant(np.ones(1000, np.float32))
    a + a
    before = used()
    for i in range(2000):
        b = (a + a)[1:] * 2.0
        tf.reduce_sum(b, axis=0).numpy()
        np.asarray(b)
        tf.slice(b, [i % 900], [3])
    del b
    assert used() <= before + 65536


def test_objects_that_convert_themselves():
    class Twice:
        def __init__(self, value):
            self.value = value

        def __tf_tensor__(self, dtype=None, name=None):
            return tf.convert_to_tensor(2 * self.value, dtype)

    assert tf.add(Twice(3), 1).numpy() == 7
    assert (tf.constant(1.0) + Twice(3.0)).numpy() == 7
    assert tf.stack([Twice(1), Twice(2)]).numpy().tolist() == [2, 4]


def test_unknown_operand_may_answer_itself():
    class Other:
        def __radd__(self, other):
            return "radd"

        def __rmul__(self, other):
            return "rmul"

    assert tf.constant(1) + Other() == "radd"
    assert tf.constant(1) * Other() == "rmul"
    with pytest.raises(TypeError):
        tf.constant(1) - Other()


def test_deep_and_large_inputs():
    with pytest.raises(ValueError):
        value = 1
        for _ in range(20):
            value = [value]
        tf.constant(value)
    assert tf.constant(list(range(100_000))).shape == (100_000,)


def test_self_containing_list_is_an_error():
    value = []
    value.append(value)
    with pytest.raises((ValueError, RecursionError)):
        tf.constant(value)
