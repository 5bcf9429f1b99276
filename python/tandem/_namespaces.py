"""Modules such as tandem.math, made from the table of names.

A name is looked up when it is first used, so that importing tandem loads only what every program
needs. What the table does not have, known_names.py looks for in those of TensorFlow; what they do not have either
raises AttributeError. What the table calls absent, later or outside is an object that raises NotImplementedError when
it is called (_absent.py).
"""

import importlib
import os
import sys
import types

from tandem._generated.names import NAMES, SPACES
from tandem._loading import alone
from tandem.tensorflow_names import named

ROOT = "tandem"
_FOLDER = os.path.dirname(__file__)
# looked_up(value, public name) → what is given out; set while a library dispatches all functions (extension/global_dispatch.py).
looked_up = None
# Public names that look like Python's own.
_ODD = ("__internal__", "__operators__", "__version__", "__git_version__", "__compiler_version__",
        "__cxx11_abi_flag__", "__cxx_version__", "__monolithic_build__")  # fmt: skip


class Namespace(types.ModuleType):
    """A module whose names come from the table."""

    def __getattr__(self, name):
        prefix = self.__name__.removeprefix(ROOT + ".") + "."
        if name.startswith("__") and name not in _ODD:
            if name == "__all__":  # from tandem.math import *
                return [n for n in names_in(prefix) if not n.startswith("_")]
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        with alone():
            if name not in self.__dict__:  # another thread may have been first
                setattr(self, name, find(prefix, name))
            return self.__dict__[name]

    def __dir__(self):
        return names_in(self.__name__.removeprefix(ROOT + ".") + ".")


# What find() does with a function; set when the first graph of a session is made (graph_mode/naming.py).
_wrap = [None]


def find(prefix, name):
    """The object with this public name."""
    value = _find(prefix, name)
    return value if _wrap[0] is None else _wrap[0](value)


def _find(prefix, name):
    full = prefix + name
    place = NAMES.get(full)
    if place is None:
        module = sys.modules.get(f"{ROOT}.{full}")
        if isinstance(module, Namespace):
            return module
        where = (ROOT + "." + prefix).rstrip(".")
        if not prefix and _is_file(name):
            raise AttributeError(name)  # `from tandem import keras_loader`, which imports it then
        with alone():
            known_names = importlib.import_module(f"{ROOT}.known_names")
            try:
                value = known_names.find(full)
            except AttributeError as error:
                if isinstance(error, NotImplementedError):
                    raise
                raise AttributeError(f"module '{where}' has no attribute '{name}'") from None
            if not prefix:
                setattr(sys.modules[ROOT], name, value if _wrap[0] is None else _wrap[0](value))
            return value
    with alone():
        if not prefix and name in vars(sys.modules[ROOT]):
            return vars(sys.modules[ROOT])[name]
        value = absent(full, *place[1:]) if place[0] == "" else named(load(*place), full)
        if looked_up is not None:
            value = looked_up(value, full)
        if not prefix:
            setattr(sys.modules[ROOT], name, value if _wrap[0] is None else _wrap[0](value))
        return value


def _is_file(name):
    """Whether it is a module of the package itself."""
    path = f"{_FOLDER}/{name}"
    return os.path.exists(path + ".py") or os.path.exists(path + "/__init__.py")


def load(module, attribute):
    path = f"{ROOT}.{module}" if module else ROOT
    if module.startswith("_core."):
        # A submodule of the native module is its attribute.
        return getattr(getattr(importlib.import_module(f"{ROOT}._core"), module[6:]), attribute)
    with alone():
        loaded = importlib.import_module(path)
        if hasattr(loaded, attribute):
            return getattr(loaded, attribute)
        return importlib.import_module(f"{path}.{attribute}")


def absent(full, status, alternative):
    kinds = importlib.import_module(f"{ROOT}.known_names").kind
    return importlib.import_module(f"{ROOT}._absent").Absent(full, status, alternative, kinds(full))


def get(full):
    """The object with a name such as "nn.relu"."""
    value = sys.modules[ROOT]
    for part in full.split("."):
        value = getattr(value, part)
    return value


def names_in(prefix):
    """Public names directly under a prefix, sorted: those that are there, and of TensorFlow's other modules all."""
    found = {name[len(prefix) :].split(".")[0] for name in NAMES if name.startswith(prefix)}
    if prefix.startswith(("compat.v1.", "python.", "core.")):
        found.update(importlib.import_module(f"{ROOT}.known_names").names_in(prefix[:-1]))
    return sorted(found)


def make_all():
    """Puts a module for every namespace of the table into sys.modules; those that Python files define stay."""
    modules = sys.modules
    for path in SPACES:
        full = f"{ROOT}.{path}"
        if full in modules:
            continue
        module = modules[full] = Namespace(full, f"TensorFlow's tf.{path}.")
        module.__path__ = []
        parent, _, child = full.rpartition(".")
        setattr(modules[parent], child, module)
