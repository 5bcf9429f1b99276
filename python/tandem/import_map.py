"""Importing `tensorflow` where `tandem` is meant.

Two uses: the modules of Keras see Tandem under that name (they get an `__import__` of their own, the rest
of the process does not), and install_as_tensorflow() changes the name for everybody.
"""

import builtins
import importlib
import sys

from tandem import _core
from tandem._loading import alone

SOURCE = "tensorflow"
TARGET = "tandem"


def is_mapped(name):
    return name == SOURCE or name.startswith(SOURCE + ".")


def target_of(name):
    """tensorflow.math → tandem.math; tf.keras is the package keras itself."""
    inner = name.removeprefix(SOURCE)
    if inner == ".keras" or inner.startswith(".keras."):
        return inner[1:]
    return TARGET + inner


def import_target(name):
    """The module that stands for a module of TensorFlow."""
    target = target_of(name)
    of_keras = target.partition(".")[0] == "keras"
    loaded = None if of_keras else sys.modules.get(target)
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    with alone():
        if of_keras:
            importlib.import_module(TARGET + ".keras_loader").load()
        return importlib.import_module(target)


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
