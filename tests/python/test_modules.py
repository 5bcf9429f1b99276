"""Names, namespaces, errors, devices, modules."""

import importlib
import json
import pickle
import types

import pytest
from conftest import ROOT

import tandem as tf


def test_every_name_of_the_table_resolves():
    from tandem._generated.names import NAMES

    for name in NAMES:
        value = tf
        if name == "keras":
            continue  # loads Keras; has tests of its own
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except ImportError as error:
            assert "pip install" in str(error)  # a name that needs a package which is not installed says which


def test_unknown_names_are_named():
    with pytest.raises(AttributeError, match="'tandem.nn' has no attribute 'reluu'"):
        tf.nn.reluu  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("tandem.nosuch")


def test_absent_functions_say_so():
    with pytest.raises(NotImplementedError, match="tf.image.decode_webp is not available in Tandem: .* pass the array"):
        tf.image.decode_webp(b"")
    with pytest.raises(NotImplementedError, match="tf.distribute.TPUStrategy is out of Tandem's scope"):
        tf.distribute.TPUStrategy()
    with pytest.raises(NotImplementedError, match="not available in Tandem yet.*tf.distribute.MirroredStrategy"):
        tf.distribute.ParameterServerStrategy()
    with pytest.raises(NotImplementedError, match="tf.lite.TFLiteConverter is out of .*saved_model"):
        tf.lite.TFLiteConverter.from_keras_model(None)
    assert not hasattr(tf.lite.TFLiteConverter, "from_saved_model")
    assert not isinstance(3, tf.experimental.StructuredTensor)


def test_the_figures_of_the_page_are_those_of_the_command():
    """docs/compatibility.md is written from these facts (tools/check-pages)."""
    path = ROOT / "tools/name-facts"
    facts = types.ModuleType("name_facts")
    facts.__file__ = str(path)
    exec(compile(path.read_text(), path, "exec"), vars(facts))
    assert json.loads((ROOT / "docs/facts/names.json").read_text())["rows"] == facts.rows(), "run: make docs"


def test_coverage_tells_missing_names_from_those_out_of_scope(capsys):
    from tandem import command

    assert command.main(["coverage"]) == 0
    text = capsys.readouterr().out
    assert "missing:" not in text
    assert "out of scope: tf.lite.Interpreter" in text
    assert command.main(["coverage", "--absent"]) == 0
    names = capsys.readouterr().out
    assert "experimental.StructuredTensor" in names and "raw_ops.Abort" in names and "missing" not in names


def test_coverage_of_a_program(tmp_path, capsys):
    """What it would miss is said before it runs; what it is ready to miss is no fault of it."""
    from tandem import command

    (tmp_path / "package").mkdir()
    program = tmp_path / "package" / "program.py"
    program.write_text(
        """
import tensorflow as tf
import tensorflow.compat.v1 as tf1
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.python.ops import math_ops as m
from tensorflow.math import reduce_sum
try:
    from tensorflow.contrib import slim
except ImportError:
    pass
class Strategy(tf.distribute.TPUStrategy):
    pass
def f(x):
    raise SystemExit("it was run")
layers.Dense(1); keras.optimizers.Adam(); m.reduce_mean; tf.nn.relu(tf.Variable(1.0).value())
m.nosuch; tf.nn.no_such_function; tf1.float32
"""
    )
    assert command.main(["coverage", str(program)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[-1].startswith("1") and "in 1 files" in lines[-1]
    said = "\n".join(lines)
    assert "program.py:12: tf.distribute.TPUStrategy is out of Tandem's scope: Tandem runs on" in said
    assert "tf.nn.no_such_function is not in TensorFlow 2.21." in said
    assert "tf.python.ops.math_ops.nosuch" in said and "tf.contrib is not in TensorFlow 2.21. (the program tries it)" in said
    program.write_text("import tensorflow as tf; tf.constant(1).numpy(); tf.keras.layers.Dense")
    assert command.main(["coverage", str(tmp_path / "package")]) == 0
    assert command.main(["coverage", "nosuchpackage"]) == 2


def test_ragged_are_no_tensors():
    assert not isinstance(tf.constant(1), tf.RaggedTensor)


@pytest.mark.parametrize("gpus, place", [(0, "CPU:0"), (1, "GPU:0")])
def test_names_of_ops_are_in_the_placement_log(run_python, gpus, place):
    code = """
    import tandem as tf
    tf.debugging.set_log_device_placement(True)
    tf.function(lambda a: tf.nn.relu(a, name="my_relu") + tf.exp(a))(tf.ones(3))
    """
    status, out, err = run_python(code, gpus=gpus)
    assert status == 0 and f"my_relu: (Relu): /job:localhost/replica:0/task:0/device:{place}" in out + err
    assert "Exp: (Exp): " in out + err


def test_sparse_tensors_are_values():
    dense = tf.constant([[0, 2], [3, 0]])
    sparse = tf.sparse.from_dense(dense)
    assert sparse.indices.numpy().tolist() == [[0, 1], [1, 0]] and sparse.values.numpy().tolist() == [2, 3]
    assert sparse.shape == (2, 2)
    assert tf.sparse.to_dense(sparse).numpy().tolist() == dense.numpy().tolist()
    assert tf.is_tensor(sparse) and not isinstance(sparse, tf.Tensor)
    with pytest.raises(ValueError, match="unsupported type"):
        tf.add(sparse, 1)


def test_sparse_tensors_in_functions_and_datasets():
    sparse = tf.SparseTensor([[0, 2], [3, 4]], [31, 2], [4, 10])
    assert repr(sparse).startswith("SparseTensor(indices=tf.Tensor(")

    @tf.function(input_signature=[tf.SparseTensorSpec([None, None], tf.int32)])
    def doubled(s):
        return tf.sparse.map_values(lambda v: v * 2, s)

    assert doubled(sparse).values.numpy().tolist() == [62, 4]
    rows = tf.data.Dataset.from_tensor_slices(sparse)
    assert rows.element_spec == tf.SparseTensorSpec([10], tf.int32)
    assert [int(tf.reduce_sum(tf.sparse.to_dense(row))) for row in rows] == [31, 0, 0, 2]


def test_submodules_can_be_imported():
    import tandem.math
    from tandem.math import reduce_sum

    assert tandem.math.reduce_sum is reduce_sum is tf.reduce_sum
    assert "softmax" in dir(tf.nn) and "nn" in dir(tf)


def test_functions_have_docs_and_names():
    assert tf.sqrt.__doc__ == "Square root."
    assert tf.nn.relu(features=tf.constant([-1.0, 1.0])).numpy().tolist() == [0, 1]
    with pytest.raises(TypeError, match="argument"):
        tf.sqrt(1.0, 2, 3)


def test_attributes_are_checked():
    with pytest.raises(TypeError, match="integer"):
        tf.argmax([1, 2], axis="a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="DESCENDING"):
        tf.sort([1, 2], direction="DOWN")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.reduce_sum([1, 2], axis=3)


def test_errors():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.reshape(tf.range(6), (4,))
    error = caught.value
    assert isinstance(error, tf.errors.OpError) and not isinstance(error, ValueError)
    assert error.error_code == 3 and "6 values" in error.message == str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.message == error.message
    with pytest.raises(tf.errors.NotFoundError):
        tf._core.op("NoSuchOp")
    with pytest.raises(AttributeError, match="NoSuchOp"):
        tf.raw_ops.NoSuchOp  # noqa: B018


def test_raw_ops():
    assert tf.raw_ops.AddV2(x=1, y=2).numpy() == 3
    values, indices = tf.raw_ops.TopKV2(input=[1.0, 3.0, 2.0], k=2, sorted=True)
    assert values.numpy().tolist() == [3, 2] and indices.numpy().tolist() == [1, 2]


def test_device_scope():
    with tf.device("/device:CPU:0"):
        x = tf.constant(1.0) + 1
    assert x.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    with pytest.raises(ValueError):
        tf.device("nonsense:7:x").__enter__()
    with tf.device(None):
        tf.constant(1)


def test_emulated_gpus(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        print([d.name for d in tf.config.list_physical_devices()])
        with tf.device("GPU:1"):
            a = tf.constant([[1.0, 2.0]])
            b = tf.matmul(a, a, transpose_b=True)
        print(b.device, b.numpy())
        v = tf.Variable([1.0, 2.0])
        print(v.device[-5:], (v + 1).numpy())
        tf.config.experimental.set_device_policy("explicit")
        try:
            with tf.device("GPU:0"):
                b + 1
        except tf.errors.InvalidArgumentError as e:
            print("refused")
        """,
        gpus=2,
    )
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0] == "['/physical_device:CPU:0', '/physical_device:GPU:0', '/physical_device:GPU:1']"
    assert lines[1] == "/job:localhost/replica:0/task:0/device:GPU:1 [[5.]]"
    assert lines[2] == "GPU:0 [2. 3.]"
    assert lines[3] == "refused"


def test_import_starts_no_thread_and_no_device(run_python):
    status, out, err = run_python(
        """
        import os, sys
        import numpy
        before = len(os.listdir("/proc/self/task"))
        import tandem as tf
        print(len(os.listdir("/proc/self/task")) - before)
        print("keras" in sys.modules, "tensorflow" in sys.modules)
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
        print(len(tf.config.list_logical_devices("CPU")))
        """
    )
    assert status == 0, err
    assert out.split() == ["0", "False", "False", "2"]


def test_module():
    class Dense(tf.Module):
        def __init__(self, n, name=None):
            super().__init__(name)
            self.w = tf.Variable(tf.ones((n, n)), name="w")
            self.scale = tf.Variable(1.0, trainable=False)

        def __call__(self, x):
            return tf.matmul(x, self.w) * self.scale

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Dense(2), {"last": Dense(2)}]

    net = Net()
    assert net.name == "net"
    assert len(net.variables) == 4 and len(net.trainable_variables) == 2 and len(net.submodules) == 2
    assert net.layers[0](tf.ones((1, 2))).numpy().tolist() == [[2, 2]]
    with pytest.raises(ValueError, match="identifier"):
        tf.Module(name="not a name")


def test_variable_assignment_and_snapshot():
    v = tf.Variable([1.0, 2.0])
    before = v.read_value()
    assert v.assign([3.0, 4.0]) is v
    assert before.numpy().tolist() == [1, 2] and v.numpy().tolist() == [3, 4]
    copied = pickle.loads(pickle.dumps(v))
    v.assign_add([1.0, 1.0])
    assert copied.numpy().tolist() == [3, 4] and copied.name == v.name
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()


def test_device_must_be_named():
    with pytest.raises(ValueError, match="Expecting a string device name, got 42"):
        tf.device(42)
    with tf.device(tf.config.list_logical_devices("CPU")[0]):
        assert tf.constant(1).device.endswith("CPU:0")


def test_stateless_gamma_takes_the_whole_shape():
    draw = tf.random.stateless_gamma([5, 2], seed=[1, 2], alpha=[1.0, 3.0], beta=2.0)
    assert draw.shape == (5, 2) and (draw.numpy() > 0).all()
    again = tf.random.stateless_gamma([5, 2], seed=[1, 2], alpha=[1.0, 3.0], beta=2.0)
    assert draw.numpy().tolist() == again.numpy().tolist()
    with pytest.raises(ValueError, match="end with the shape of alpha"):
        tf.random.stateless_gamma([5], seed=[1, 2], alpha=[1.0, 3.0])
