"""What public functions and classes call themselves is what TensorFlow's do (data/function_names.json, by
tools/reference/make_name_reference.py): Keras writes these names into files."""

import inspect
import json
import pathlib

import tandem as tf

FACTS = json.loads((pathlib.Path(__file__).parent / "data/function_names.json").read_text())
# The native function cannot be called otherwise; what stands for a protocol has the name of the class that fulfils it.
OTHERS = {"is_tensor", "types.experimental.Callable", "types.experimental.GenericFunction",
          "types.experimental.PolymorphicFunction"}  # fmt: skip


def public(name):
    value = tf
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_names():
    wrong = {}
    for name, wanted in FACTS.items():
        value = public(name)
        if name in OTHERS or getattr(type(value), "absent", False) or not callable(value) or inspect.ismodule(value):
            continue
        if getattr(value, "__name__", None) != wanted:
            wrong[name] = (getattr(value, "__name__", None), wanted)
    assert not wrong
    assert len(FACTS) > 1000


def test_names_do_not_depend_on_the_order_of_lookups():
    assert tf.experimental.numpy.absolute.__name__ == "absolute"
    assert tf.experimental.numpy.abs.__name__ == "abs"
    assert tf.nn.space_to_batch.__name__ == "space_to_batch_v2" and tf.space_to_batch_nd.__name__ == "space_to_batch_nd"
    assert tf.argmax is tf.math.argmax and tf.nn.relu is tf.nn.relu
