"""Scripts in the style of TensorFlow 1, each a function of `tf` (compat.v1) and an empty folder that returns what it found.

`python -m graph_programs tandem|tensorflow` runs all of them, each in a graph of its own, and prints the answers as
JSON. TensorFlow's are stored (tools/reference/make_graph_reference.py).
"""

import json
import sys
import tempfile
import traceback

import numpy as np

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return value


def raised(function, *args, **kwargs):
    """The name of the class of the error that a call raises."""
    try:
        function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return "no error"


def load():
    from graph_programs import flow, library, pipelines, scopes, sessions, training  # noqa: F401


def answers(tf):
    found = {}
    for name, function in PROGRAMS.items():
        with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
            tf.set_random_seed(1)
            try:
                found[name] = plain(function(tf, folder))
            except Exception as error:  # noqa: BLE001  (it is the answer)
                found[name] = {"error": type(error).__name__, "said": str(error)[:400],
                               "where": traceback.format_exc()[-600:]}  # fmt: skip
    return found


def main(package):
    load()
    if package == "tandem":
        import tandem

        tandem.install_as_tensorflow()
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    json.dump(answers(tf), sys.stdout)
