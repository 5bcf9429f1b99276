"""Modules such as tandem.math, made from the table of names.

A name is looked up when it is first used, so that importing tandem loads only what every program
needs. What is not there raises AttributeError; what the table calls absent is a function or class
that raises NotImplementedError when it is called.
"""

import importlib
import sys
import types

from tandem._generated.names import NAMES

ROOT = "tandem"


class Namespace(types.ModuleType):
    """A module whose names come from the table."""

    def __getattr__(self, name):
        prefix = self.__name__.removeprefix(ROOT + ".") + "."
        value = find(prefix, name)
        setattr(self, name, value)
        return value

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
    value = absent(full, place[1]) if place[0] == "" else load(*place)
    if not prefix:
        setattr(sys.modules[ROOT], name, value)
    return value


def load(module, attribute):
    path = f"{ROOT}.{module}" if module else ROOT
    if module.startswith("_core."):
        # A submodule of the native module is its attribute.
        return getattr(getattr(importlib.import_module(f"{ROOT}._core"), module[6:]), attribute)
    loaded = importlib.import_module(path)
    if hasattr(loaded, attribute):
        return getattr(loaded, attribute)
    return importlib.import_module(f"{path}.{attribute}")


def absent(full, alternative):
    """Stands for a function or class that Tandem does not have."""

    def missing(*args, **kwargs):
        hint = f": {alternative}" if alternative else ""
        raise NotImplementedError(f"tf.{full} is not available in Tandem{hint}.")

    missing.__name__ = missing.__qualname__ = full.rpartition(".")[2]
    missing.__doc__ = f"tf.{full} is not available in Tandem."
    missing.absent = True
    return missing


def names_in(prefix):
    """Public names directly under a prefix, sorted."""
    found = {name[len(prefix) :].split(".")[0] for name in NAMES if name.startswith(prefix)}
    return sorted(found)


def make_all():
    """Puts a module for every namespace of the table into sys.modules."""
    paths = set()
    for name in NAMES:
        parts = name.split(".")[:-1]
        paths.update(".".join(parts[: i + 1]) for i in range(len(parts)))
    for path in sorted(paths):
        full = f"{ROOT}.{path}"
        if full in sys.modules or path in NAMES:
            continue
        module = Namespace(full, f"TensorFlow's tf.{path}.")
        module.__path__ = []
        sys.modules[full] = module
        parent, _, child = full.rpartition(".")
        setattr(sys.modules[parent], child, module)
