"""Names that Tandem's table does not have: aliases by TensorFlow's own tables, modules of its inside, absent ones.

Loaded when such a name is first asked for. `full` is a name under tandem: "compat.v1.add", "python.ops.math_ops.add".
"""

import importlib
import importlib.util
import sys

from tandem import _namespaces, _tables, import_map, reasons
from tandem._absent import Absent

# The roots of TensorFlow's modules that are no public names.
_INSIDE = ("python", "core", "compiler", "tools", "dtensor", "tsl", "lite", "distribute", "security")
# Public names of another form here, whose modules are found by their own names.
_V2 = "compat.v2"


def find(full):
    """The object with this name; AttributeError where TensorFlow has no such name either."""
    if full == _V2 or full.startswith(_V2 + "."):
        from tandem.served import served

        value = served()
        for part in full.split(".")[2:]:
            value = getattr(value, part)
        return value
    if full == "compat.v1.raw_ops":
        return _namespaces.find("", "raw_ops")
    if full == "compat.v1.keras" and import_map.wants_keras_2():
        return import_map.import_target("tensorflow.compat.v1.keras")
    if full in ("compat.v1.keras", "python.keras.api"):
        return _namespaces.find("", "keras")
    if full == "compat.v1.test.mock":
        return _written("python.platform.test", "mock")
    if full in ("compat.v1.flags", "compat.v1.app.flags"):
        return importlib.import_module("absl.flags")
    if full in _tables.spaces():
        return module(full)
    known = _tables.public().get(full)
    if known is not None:
        return _public(full, *known)
    if full.partition(".")[0] in _INSIDE:
        return _inside(full)
    raise AttributeError(full)


def kind(full):
    """c, f or v: what TensorFlow's table says a public name is."""
    return _tables.public().get(full, ("", "", "c" if full.rpartition(".")[2][:1].isupper() else "f"))[2]


def names_in(path):
    """What TensorFlow has in a module of compat.v1 or of its inside."""
    if path in _tables.modules():
        return _tables.names_of(path)
    start = path + "."
    return {name[len(start) :].split(".")[0] for name in _tables.public() if name.startswith(start)}


def module(path):
    """The module of this name, made of names that are looked up when they are used."""
    name = f"{_namespaces.ROOT}.{path}"
    made = sys.modules.get(name)
    if made is None:
        if "." in path:
            parent = path.rpartition(".")[0]
            if f"{_namespaces.ROOT}.{parent}" not in sys.modules:
                module(parent)
        made = sys.modules[name] = _namespaces.Namespace(name, f"TensorFlow's tf.{path}.")
        made.__path__ = []
    return made


def _public(full, where, name, kind):
    """A public name that the table lacks: another name of the same thing, what stands for it in its module, or absent."""
    for other in _tables.publics_of(where, name):
        # tandem's own __version__ is another one.
        if other not in (full, "__version__") and other in _namespaces.NAMES and not _is_absent(other):
            return _namespaces.find("", other) if "." not in other else _namespaces.get(other)
    written = _written(where, name)
    if written is not None:
        return written
    op = _tables.generated(where, name)
    if op is not None:
        made = _generated(where, name, op)
        if not getattr(made, "absent", False):
            return made
    status, text = reasons.reason(full)
    for other in _tables.publics_of(where, name):
        if _is_absent(other):
            status, text = _namespaces.NAMES[other][1:]
    return Absent(full, status, text, kind)


def _is_absent(full):
    place = _namespaces.NAMES.get(full)
    return place is not None and place[0] == ""


def _raw_op(full):
    return getattr(importlib.import_module("tandem.ops.raw_ops"), full.rpartition(".")[2])


def _written(where, name):
    """What tandem.inside has for a module of TensorFlow, or None."""
    helpers = _helpers(where)
    value = getattr(helpers, name, None) if helpers is not None else None
    if value is not None:
        return value
    from tandem.inside import older

    made = older.find(where, name)
    if made is None:
        from tandem.graph_mode import names

        made = names.find(where, name)
    return made


def _helpers(where):
    """The file of tandem.inside for a module: inside/framework/ops.py for python.framework.ops."""
    path = "tandem.inside." + where.removeprefix("python.")
    if path in sys.modules:
        return sys.modules[path]
    try:
        if importlib.util.find_spec(path) is None:
            return None
    except ModuleNotFoundError:  # the folder is not there
        return None
    return importlib.import_module(path)


def _inside(full):
    """A name in one of TensorFlow's own modules, or such a module."""
    if full in _tables.modules():
        return module(full)
    where, _, name = full.rpartition(".")
    if where not in _tables.modules() and _helpers(where) is None:
        raise AttributeError(full)
    written = _written(where, name)
    if written is not None:
        return written
    publics = _tables.publics_of(where, name)
    if publics:
        return _namespaces.get(publics[0])
    op = _tables.generated(where, name)
    if op is not None:
        return _generated(where, name, op)
    source = _tables.inside(where, name)
    if source:
        return _namespaces.get(source)
    if where == "python.keras" or where.startswith("python.keras."):
        from tandem.inside import keras_names

        return keras_names.find(where, name)
    if source == "":
        return Absent(full, *reasons.private(full), "c" if name[:1].isupper() else "f")
    raise AttributeError(full)


def _generated(where, name, op):
    """A function of a generated module: the raw op, whose arguments may also be given by place."""
    raw = _raw_op("raw_ops." + op)
    if getattr(raw, "absent", False):
        return raw
    parameters = _tables.raw_ops()[op][2]

    def call(*args, name=None, **kwargs):
        return raw(**dict(zip([*parameters, "name"], args, strict=False)), **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = f"tandem.{where}"
    call.__doc__ = raw.__doc__
    call.__signature__ = _signature(op)
    return call


def _signature(op):
    """The op's parameters, which may be given by place, and a name."""
    import inspect

    from tandem._core import as_dtype

    def typed(parameter):
        try:  # defaults that are dtypes stand in the table by their names
            return parameter.replace(default=as_dtype(parameter.default)) if type(parameter.default) is str else parameter
        except TypeError:
            return parameter

    made = inspect.signature(eval(f"lambda {', '.join(filter(None, [_tables.raw_op(op)[0], 'name=None']))}: 0"))  # noqa: S307
    return made.replace(parameters=list(map(typed, made.parameters.values())))
