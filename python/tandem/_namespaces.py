"""Modules such as tandem.math, made from the table of names.

A name is looked up when it is first used, so that importing tandem loads only what every program
needs. What is not there raises AttributeError; what the table calls absent, later or outside is an object
that raises NotImplementedError when it is used.
"""

import importlib
import sys
import types

from tandem._generated.names import NAMES, SPACES
from tandem._loading import alone
from tandem.tensorflow_names import named

ROOT = "tandem"


class Namespace(types.ModuleType):
    """A module whose names come from the table."""

    def __getattr__(self, name):
        prefix = self.__name__.removeprefix(ROOT + ".") + "."
        with alone():
            if name not in self.__dict__:  # another thread may have been first
                setattr(self, name, find(prefix, name))
            return self.__dict__[name]

    def __dir__(self):
        return names_in(self.__name__.removeprefix(ROOT + ".") + ".")


def find(prefix, name):
    """The object with this public name."""
    full = prefix + name
    place = NAMES.get(full)
    if place is None:
        module = sys.modules.get(f"{ROOT}.{full}")
        if isinstance(module, Namespace):
            return module
        where = (ROOT + "." + prefix).rstrip(".")
        raise AttributeError(f"module '{where}' has no attribute '{name}'")
    with alone():
        if not prefix and name in vars(sys.modules[ROOT]):
            return vars(sys.modules[ROOT])[name]
        value = Absent(full, *place[1:]) if place[0] == "" else named(load(*place), full)
        if not prefix:
            setattr(sys.modules[ROOT], name, value)
        return value


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


class Absent:
    """Stands for a function or class that Tandem does not have, or does not have yet.

    Using it, or any part of it, says so. `status` is "absent", "later" or "out of scope".
    """

    absent = True

    def __init__(self, full, status, alternative):
        self.status = status
        self.__name__ = self.__qualname__ = full.rpartition(".")[2]
        said = {"absent": "is not available in Tandem", "later": "is not available in Tandem yet"}
        said["out of scope"] = "is out of Tandem's scope"
        hint = f": {alternative}" if alternative else ""
        self.__doc__ = f"tf.{full} {said[status]}{hint}."

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(self.__doc__)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AbsentError(self.__doc__)

    def __instancecheck__(self, value):
        """Nothing is of a class that is not there."""
        return False


class AbsentError(NotImplementedError, AttributeError):
    """A part of something that is not there was asked for; hasattr() gives False."""


def names_in(prefix):
    """Public names directly under a prefix, sorted."""
    found = {name[len(prefix) :].split(".")[0] for name in NAMES if name.startswith(prefix)}
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
