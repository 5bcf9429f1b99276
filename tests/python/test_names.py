"""TensorFlow's names, all of them: every spelling of an import, its own modules, what is absent, what naming starts."""

import re
import typing

import pytest

import tandem as tf
from tandem import _namespaces, _tables

SPELLINGS = """
import sys
import tensorflow as tf
import tensorflow.compat.v2 as v2
import tensorflow.compat.v1 as v1
import tensorflow.compat.v2.math
import tensorflow.compat.v1.math as v1_math
import tensorflow.keras.layers as L
import tensorflow.compat.v2.keras.layers as L2
import tensorflow.compat.v1.keras.layers as L1
from tensorflow import keras
from tensorflow.compat import v2 as again
from tensorflow.compat.v1 import keras as k1
from tensorflow.compat.v2 import keras as k2
from tensorflow.compat.v2.keras import backend as B
from tensorflow.keras.utils import to_categorical
from tensorflow.keras.preprocessing.sequence import pad_sequences
from tensorflow.python.framework import constant_op, dtypes, errors, ops, tensor_shape, tensor_util, tensor_spec
from tensorflow.python.ops import array_ops, math_ops, nn_ops, gen_math_ops
from tensorflow.python.ops.math_ops import reduce_sum as by_name
import tensorflow.python.ops.array_ops as by_module
from tensorflow.math import reduce_mean
from tensorflow.experimental.numpy import *
assert v2 is again and v2 is tf.compat.v2 and v2.nn is tf.nn and v2.__version__ == "2.21.0"
assert L is L2 is L1 is keras.layers and keras is k1 is k2 is tf.keras is v2.keras is v1.keras
assert by_name is tf.reduce_sum is math_ops.reduce_sum and by_module is array_ops and array_ops.concat is tf.concat
assert dtypes.float32 is tf.float32 is v1.float32 and tensor_shape.TensorShape is tf.TensorShape is v1.TensorShape
assert constant_op.constant is tf.constant and errors.NotFoundError is tf.errors.NotFoundError
assert v1_math.sin is tf.sin is gen_math_ops.sin or gen_math_ops.sin(0.0).numpy() == 0
assert gen_math_ops.mat_mul([[1.0]], [[2.0]]).numpy() == [[2.0]]
assert arange(3).numpy().tolist() == [0, 1, 2] and to_categorical([1]).shape == (1, 2)
print(tf.__version__, tf.version.VERSION, v1.__version__, tf.__name__)
"""


def test_every_spelling(run_python):
    status, out, err = run_python(SPELLINGS, arguments=["-m", "tandem", "run", "--quiet"])
    assert status == 0, err
    assert out == "2.21.0 2.21.0 2.21.0 tensorflow\n"


def test_every_spelling_under_our_own_name(run_python):
    status, out, err = run_python(SPELLINGS.replace("tensorflow", "tandem").replace("tf.__name__", "''"))
    assert status == 0, err
    assert out == f"{tf.__version__} 2.21.0 2.21.0 \n"


def test_our_version_and_theirs():
    assert tf.__version__ != tf.version.VERSION == "2.21.0"
    assert tf.compat.v2.__version__ == tf.compat.v1.__version__ == "2.21.0"


def every_name():
    return [*_tables.public(), *(f"raw_ops.{op}" for op in _tables.raw_ops())]


def test_every_public_name_is_there_or_says_that_it_is_not():
    """What is absent can be named, derived from, asked for, and says one sentence when it is called."""
    wrong = []
    for name in every_name():
        value = _namespaces.get(name)
        if not getattr(value, "absent", False):
            continue
        derived = type("Derived", tuple(typing.cast(typing.Any, value).__mro_entries__(())), {})
        assert typing.Optional[value] and (value | None) and not isinstance(1, value) and issubclass(derived, value)
        for use in (value, derived):
            with pytest.raises(NotImplementedError) as caught:
                use(1, a=2)
            if not re.fullmatch(r"(tf|tensorflow)\.\S+ is (not available in Tandem( yet)?|out of Tandem's scope)(: [^.].*[^.])?\.", str(caught.value)):
                wrong.append(str(caught.value))
    assert not wrong


def test_absent_classes_can_be_derived_from():
    class Strategy(tf.distribute.experimental.TPUStrategy):
        def answer(self):
            return 42

    class Both(tf.Module, tf.distribute.experimental.TPUStrategy):
        pass

    def annotated(x: tf.distribute.experimental.TPUStrategy | None, y: typing.Optional[tf.lite.Interpreter]): ...

    for made in (Strategy, Both):
        with pytest.raises(NotImplementedError, match=r"tf.distribute.experimental.TPUStrategy is out of"):
            made()
    assert not isinstance(3, (int.__class__, tf.distribute.experimental.TPUStrategy))


def test_every_module_of_tensorflows_inside():
    """Every name in it is something, if only a thing that says it is absent."""
    seen = 0
    for module in _tables.modules():
        assert _namespaces.get(module) is not None
        for name in _tables.names_of(module):
            try:
                getattr(_namespaces.get(module), name)
                seen += 1
            except NotImplementedError:
                pass
    assert seen > 10_000


def test_modules_that_are_not(run_python):
    status, out, err = run_python(
        """
        import tandem; tandem.install_as_tensorflow()
        import importlib.util
        for name in ("contrib", "framework", "ops", "python.nosuch", "compat.v3", "python.ops.nosuch_ops", "reduce_sum"):
            assert importlib.util.find_spec("tensorflow." + name) is None, name
            try:
                __import__("tensorflow." + name)
            except ModuleNotFoundError as error:
                assert error.name.startswith("tensorflow."), error
        try:
            from tensorflow.python.ops.math_ops import nosuch
        except ImportError as error:
            print(error)
        """
    )
    assert status == 0, err
    assert "cannot import name 'nosuch'" in out


def test_naming_starts_nothing(run_python):
    """After every public name was touched, devices can still be configured."""
    status, out, err = run_python(
        """
        import tandem as tf
        from tandem import _core, _namespaces, _tables

        cpus = tf.config.list_physical_devices("CPU")

        def started():
            try:
                tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
            except RuntimeError:
                return True
            return False

        for name in [*_tables.public(), *_namespaces.NAMES, "keras.layers.Dense", "python.framework.ops.Tensor"]:
            try:
                _namespaces.get(name)
            except (AttributeError, NotImplementedError, ImportError):
                pass
            if started():
                print(name)
                break
        tf.config.set_visible_devices(cpus, "CPU")
        print(len(tf.config.list_logical_devices("CPU")))
        """
    )
    assert status == 0, err
    assert out == "2\n"
