"""Importing `tensorflow` where `tandem` is meant.

Two uses: the modules of Keras see Tandem under that name (they get an `__import__` of their own, the rest
of the process does not), and install_as_tensorflow() changes the name for everybody.
"""

import builtins
import importlib
import os
import sys

from tandem import _core, _tables
from tandem._generated.names import NAMES, SPACES
from tandem._loading import alone
from tandem.served import served

SOURCE = "tensorflow"
TARGET = "tandem"


def is_mapped(name):
    return name == SOURCE or name.startswith(SOURCE + ".")


def wants_keras_2():
    """Whether tf.keras is Keras 2, the package tf_keras: what TensorFlow asks of the environment."""
    return os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")


def _plain(name):
    """The part behind `tensorflow`, without the spellings that mean the same: compat.v2, compat.v1.keras."""
    inner = name[len(SOURCE) + 1 :]
    while inner == "compat.v2" or inner.startswith("compat.v2."):
        inner = inner[len("compat.v2.") :]
    if inner == "compat.v1.keras" or inner.startswith("compat.v1.keras."):
        inner = inner[len("compat.v1.") :]
    return inner


def is_known(name):
    """Whether there is such a module; Tandem's own packages are none of TensorFlow's."""
    inner = _plain(name)
    if not inner or inner == "keras" or inner.startswith("keras."):
        return True
    return inner in SPACES or _tables.is_module(inner)


def target_of(name):
    """tensorflow.math → tandem.math; tf.keras is the package keras itself."""
    inner = _plain(name)
    if inner == "keras" or inner.startswith("keras."):
        if wants_keras_2():
            return f"tf_keras.api.{'_v1' if '.compat.v1.keras' in name else '_v2'}.{inner}"
        return inner
    return f"{TARGET}.{inner}" if inner else TARGET


def import_target(name):
    """The module that stands for a module of TensorFlow."""
    target = target_of(name)
    if target == TARGET:
        return served()
    of_keras = target.partition(".")[0] in ("keras", "tf_keras")
    loaded = None if of_keras else sys.modules.get(target)
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    with alone():
        if of_keras:
            importlib.import_module(TARGET + ".keras_loader").load()
            return _keras_module(target)
        return _named_module(name, target[len(TARGET) + 1 :])


def _keras_module(target):
    """Keras has modules that only TensorFlow's form of it shows: keras.preprocessing.text."""
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError:
        if target.startswith("tf_keras."):
            raise
        try:
            return importlib.import_module(target.replace("keras.", "keras._tf_keras.keras.", 1))
        except ModuleNotFoundError:
            pass
        raise


def _named_module(name, inner):
    """A module that is no file: one that the table names (tf.raw_ops), or one of names looked up when they are used."""
    if inner in NAMES:
        value = importlib.import_module(TARGET + "._namespaces").get(inner)
        if isinstance(value, type(sys)):
            return value
    if not is_known(name):
        raise ModuleNotFoundError(f"No module named '{name}': TensorFlow has none either", name=name)
    return importlib.import_module(TARGET + ".known_names").module(inner)


def _rare_import(name, globals=None, locals=None, fromlist=(), level=0):
    """`__import__` that serves `tensorflow` by Tandem, where `_core.mapped_import` does not know the answer."""
    if level == 0 and is_mapped(name):
        module = import_target(name)
        return module if fromlist else sys.modules[TARGET]
    return builtins.__import__(name, globals, locals, fromlist, level)


def mapped_builtins():
    """The builtins of a module whose imports are mapped."""
    names = dict(vars(builtins))
    names["__import__"] = _core.mapped_import
    return names


_core.set_rare_import(_rare_import)


class MappedImportlib:
    """Stands in for `importlib` in modules that import by name."""

    @staticmethod
    def import_module(name, package=None):
        return import_target(name) if is_mapped(name) else importlib.import_module(name, package)

    def __getattr__(self, name):
        return getattr(importlib, name)
