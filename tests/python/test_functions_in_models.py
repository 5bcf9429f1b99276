"""Public functions as arguments of Keras's objects: a model that uses them is saved, loaded, and computes the same."""

import inspect
import json
import os
import types

import numpy as np
import pytest
from conftest import not_in_keras_314
import tandem as tf
from tandem._generated.names import NAMES
from tandem.keras_backend import functions_by_name

keras = tf.keras
X = np.array([[0.3, -0.2], [1.2, 0.7]], "float32")
ACTIVATIONS = ["relu", "relu6", "elu", "selu", "gelu", "leaky_relu", "softplus", "softsign", "sigmoid", "tanh", "softmax",
               "log_softmax", "silu", "swish", "l2_normalize", "crelu"]  # fmt: skip


def all_functions():
    """Public name → function, of the namespaces whose functions may stand in a file."""
    found = {}
    for name in sorted(NAMES):
        space, leaf = name.rpartition(".")[0], name.rpartition(".")[2]
        if (space + "." if space else "") not in functions_by_name._SPACES:
            continue
        value = getattr(tf if not space else eval(f"tf.{space}"), leaf)  # noqa: S307  (names of our own)
        if isinstance(value, types.FunctionType) and not leaf.startswith("_"):
            found[name] = value
    return found


def saved_and_loaded(model, folder):
    path = str(folder / "model.keras")
    model.save(path)
    return keras.saving.load_model(path)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, tmp_path):
    """tf.nn.relu was saved as nn_relu, which nothing could load."""
    function = getattr(tf.nn, name)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, activation=function), keras.layers.Activation(function)])
    loaded = saved_and_loaded(model, tmp_path)
    np.testing.assert_array_equal(loaded(X), model(X))
    again = keras.Sequential.from_config(model.get_config())
    assert json.dumps(again.get_config()) == json.dumps(model.get_config())


def test_every_function_is_found_again():
    """As the function of an Activation layer and (not each in short runs) of a Lambda layer, by configuration."""
    functions, lost = all_functions(), []
    assert len(functions) > 500
    for i, (name, function) in enumerate(functions.items()):
        layers = [keras.layers.Activation(function)]
        if i % 4 == 0 or os.environ.get("TANDEM_LONG_TESTS") == "1":
            layers.append(keras.layers.Lambda(function))
        for layer in layers:
            config = json.loads(json.dumps(keras.layers.serialize(layer)))
            try:
                loaded = keras.layers.deserialize(config)
            except (TypeError, ValueError) as error:
                # Functions of Tandem that a file must not name are refused; all that only compute are found.
                if function.__module__ in functions_by_name._COMPUTING or "." in name:
                    lost.append((name, type(layer).__name__, str(error)[:80]))
                continue
            held = loaded.activation if isinstance(layer, keras.layers.Activation) else loaded.function
            if not _the_same(held, function):
                lost.append((name, type(layer).__name__, held))
    assert not lost


def _the_same(one, other):
    """The same function, or Keras's own of that name, which takes what the activation takes."""
    if one is other or getattr(one, "__code__", 1) is getattr(other, "__code__", 2):
        return True
    return one.__module__.startswith("keras.") and one.__name__ == other.__name__ or (
        one.__module__.startswith("keras.") and one.__name__ in ("silu", "swish")
    )


@not_in_keras_314("takes no functions as regularizers")
def test_losses_metrics_initializers_regularizers(tmp_path):
    model = keras.Sequential([
        keras.Input((2,)),
        keras.layers.Dense(2, kernel_initializer=tf.ones, bias_initializer=tf.zeros,
                           kernel_regularizer=tf.nn.l2_loss, activity_regularizer=tf.reduce_sum),
        keras.layers.Dense(2, kernel_initializer=tf.random_normal_initializer(seed=1),
                           bias_initializer=tf.constant_initializer(0.5)),
        keras.layers.Dense(1, kernel_initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=2),
                           bias_initializer=tf.ones_initializer()),
        keras.layers.Lambda(tf.square),
    ])  # fmt: skip
    model.compile("sgd", loss=tf.math.squared_difference, metrics=[tf.math.squared_difference])
    y = np.ones([2, 1], "float32")
    before = model.evaluate(X, y, verbose=0)
    loaded = saved_and_loaded(model, tmp_path)
    np.testing.assert_allclose(loaded.evaluate(X, y, verbose=0), before)
    np.testing.assert_array_equal(loaded(X), model(X))
    assert loaded.loss is tf.math.squared_difference


def _some(functions):
    """Short runs take every fourth."""
    return functions if os.environ.get("TANDEM_LONG_TESTS") == "1" else functions[::4]


def _that_give(fits, *arguments, **options):
    """Functions that compute a fitting tensor of these, the same one each time, and in a trace for any batch."""
    found = []
    specs = [tf.TensorSpec([None, 2]) if isinstance(a, tf.Tensor) else a for a in arguments]
    for function in all_functions().values():
        if "name" in list(inspect.signature(function).parameters)[: len(arguments)]:
            continue
        try:
            made = function(*arguments, **options)
            traced = tf.function(function, autograph=False).get_concrete_function(*specs, **options)
            again = traced(*[a for a in arguments if isinstance(a, tf.Tensor)])
            if not (isinstance(made, tf.Tensor) and made.dtype == tf.float32 and fits(made)):
                continue
            # Of many rows: those of two may come out in the same order by chance.
            many = [tf.tile(a, [64, 1]) if isinstance(a, tf.Tensor) else a for a in arguments]
            pairs = (made, again), (function(*many, **options), function(*many, **options))
            if all(np.array_equal(one, other, equal_nan=True) for one, other in pairs):
                found.append(function)
        except Exception:  # noqa: BLE001, S110, PERF203  (takes something else)
            pass
    return found


def _layers_with(argument, functions):
    """The model of a dense layer for each function, given as that argument."""
    start = keras.Input((2,))
    options = {} if argument == "kernel_initializer" else {"kernel_initializer": "identity"}
    return keras.Model(start, [keras.layers.Dense(2, **{**options, argument: f})(start) for f in functions])


@pytest.mark.filterwarnings("ignore")
def test_results_of_all_activations(tmp_path):
    functions = _that_give(lambda made: made.shape == X.shape, tf.constant(X))
    assert len(functions) > 60
    model = _layers_with("activation", _some(functions))
    loaded = saved_and_loaded(model, tmp_path)
    for function, one, other in zip(_some(functions), model(X), loaded(X), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(function))


@pytest.mark.filterwarnings("ignore")
@not_in_keras_314("takes no functions as regularizers")
def test_results_of_all_initializers_and_regularizers(tmp_path):
    initializers = _that_give(lambda made: made.shape == (2, 2), [2, 2], dtype="float32")
    assert tf.ones in initializers and tf.zeros in initializers
    model = _layers_with("kernel_initializer", initializers)
    again = keras.Model.from_config(json.loads(json.dumps(model.get_config())))
    for one, other in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    regularizers = _some(_that_give(lambda made: made.shape == (), tf.constant(X)))
    assert len(regularizers) > 5
    model = _layers_with("kernel_regularizer", regularizers)
    loaded = saved_and_loaded(model, tmp_path)
    for function, one, other in zip(regularizers, model.losses, loaded.losses, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(function))


@pytest.mark.filterwarnings("ignore")
def test_results_of_all_losses_and_metrics(tmp_path):
    """What takes two tensors and gives one with a number for each row."""
    y = tf.constant(X[::-1] * 0.5)
    functions = _that_give(lambda made: made.shape.rank in (1, 2) and made.shape[0] == 2, y, tf.constant(X))
    assert len(functions) > 30
    functions = _some(functions)
    model = _layers_with("activation", [None] * len(functions))
    model.compile("sgd", loss=functions, metrics=[[f] for f in functions])
    loaded = saved_and_loaded(model, tmp_path)
    wanted = [y.numpy()] * len(functions)
    before = model.evaluate(X, wanted, verbose=0, return_dict=True)
    after = loaded.evaluate(X, wanted, verbose=0, return_dict=True)
    assert list(before) == list(after) and len(before) > len(functions)
    np.testing.assert_allclose(list(after.values()), list(before.values()))


@pytest.mark.parametrize("name", ["rmtree", "write_file", "py_function", "eager_py_func", "numpy_function", "load_library",
                                  "delete_recursively_v2", "save", "load", "map_fn_v2", "exec", "system"])  # fmt: skip
def test_what_does_more_than_compute_is_not_found(name):
    config = {"module": "tandem._generated.ops", "class_name": "function", "config": name, "registered_name": name}
    with pytest.raises((TypeError, ValueError), match="Could not"):
        keras.layers.deserialize(
            {"class_name": "Activation", "module": "keras.layers", "config": {"name": "a", "activation": config},
             "registered_name": None})  # fmt: skip
    assert name not in functions_by_name._by_name()


def test_functions_that_a_file_may_name_only_compute():
    for name, function in functions_by_name._allowed().items():
        assert inspect.isfunction(function), name
        source = inspect.getsource(inspect.getmodule(function))
        assert not any(word in source for word in ("import os\n", "subprocess", "import shutil", "pickle")), name
