"""tf.saved_model.save."""

import collections
import collections.abc
import contextlib
import json
import os

from tandem import _core
from tandem.checkpoint import object_graph
from tandem.checkpoint.checkpoint import Checkpoint
from tandem.checkpoint.state import remove_checkpoint
from tandem.framework import gfile
from tandem.framework.concrete_function import ConcreteFunction
from tandem.framework.errors import AlreadyExistsError, OpError
from tandem.framework.function import Function
from tandem.framework.log import log as _log
from tandem.framework.trackable import Trackable, children_of, is_container
from tandem.ops import lookup
from tandem.saving import description, structures
from tandem.saving.loaded_function import LoadedFunction
from tandem.saving.options import Asset, SaveOptions
from tandem.saving.signatures import canonical_signatures

FILE = "saved_model.json"
FORMAT = "tandem-saved-model"
VERSION = 1
SECOND = "b"  # the folder of the files of every other save over a model
FUNCTIONS = (Function, LoadedFunction, ConcreteFunction)


def functions_of(obj, made=None):
    """Functions among the attributes of an object and of its class, by name. Objects of Keras 2 say which are theirs;
    `made`: what they made for this save."""
    if made is not None and hasattr(type(obj), "_trackable_saved_model_saver"):
        children = obj._trackable_children("savedmodel", cache=made)
        return {name: child for name, child in children.items() if isinstance(child, FUNCTIONS)}
    names = {}
    for cls in reversed(type(obj).__mro__):
        names.update({name: None for name, value in vars(cls).items() if isinstance(value, FUNCTIONS)})
    names.update({name: None for name, value in getattr(obj, "__dict__", {}).items() if isinstance(value, FUNCTIONS)})
    return {name: getattr(obj, name) for name in names}


def concretes_of(function):
    """All traces of a function; one with an input signature is traced for it."""
    if isinstance(function, ConcreteFunction):
        return [function]
    if isinstance(function, Function) and function.input_signature is not None:
        function.get_concrete_function()
    return function._list_all_concrete_functions()


class _Writer:
    """Collects objects, functions and variables of one save."""

    def __init__(self, root, options):
        self.root = root
        self.options = options
        self.objects = []  # rows
        self.number_of = {}  # id of an object → row
        self.keep = []  # objects whose ids are keys
        self.made = {}  # what Keras 2's objects make for this save
        self.functions = []  # (row, CompiledFunction)
        self.number_of_function = {}
        self.variables = collections.OrderedDict()  # id of a handle → row
        self.tables = {}  # id of a lookup table → (number, row)
        self.hidden = {}  # key → value: what only functions know
        self.assets = {}  # name in the folder → path
        self.keys = {}  # id of a handle → key in the checkpoint
        self.keys_of_tables = {}  # id of a table → attribute → key in the checkpoint

    # ---- Variables

    def find_keys(self):
        """The keys that a checkpoint of the root uses, and names and values for it."""
        nodes, keys, names, values = object_graph.gather(Checkpoint(self.root))
        for node in nodes:
            obj = object_graph.stored_object(node.object)
            handle = _handle_of(obj)
            if handle is not None:
                self.keys[handle._id] = object_graph.attribute_key(node.path, "VARIABLE_VALUE")
            elif isinstance(obj, lookup.Table):
                self.keys_of_tables[id(obj)] = keys.get(node.number, {})
        return names, values

    def variable(self, identity, name, shape, trainable, value):
        """The number of a variable."""
        if identity not in self.variables:
            number = len(self.variables)
            key = self.keys.get(identity)
            if key is None:
                key = f"_hidden/{number}"
                self.hidden[key] = value
            row = {"name": name, "shape": structures.shape_json(shape), "dtype": value.dtype.name,
                   "trainable": trainable, "key": key}  # fmt: skip
            self.variables[identity] = (number, row)
        return self.variables[identity][0]

    def python_variable(self, variable):
        return self.variable(
            variable.handle._id, variable._shared_name, variable.shape, bool(variable.trainable), variable.read_value()
        )

    # ---- Lookup tables

    def table(self, table):
        """The number of a table."""
        if id(table) not in self.tables:
            number = len(self.tables)
            row = {"mutable": isinstance(table, lookup.MutableHashTable)}
            stored = self.keys_of_tables.get(id(table), {})
            missing = {"default": table.default_value}
            if not stored:
                missing["keys"], missing["values"] = table.export()
            for name in ("keys", "values", "default"):
                row[name] = stored.get(f"-{name}") or f"_tables/{number}/{name}"
            self.hidden.update({row[name]: value for name, value in missing.items()})
            self.tables[id(table)] = (number, row)
            self.keep.append(table)
        return self.tables[id(table)][0]

    def tables_of(self, compiled, name):
        """[the number of a table in a stored function, its number in this model]"""
        rows = []
        for stored in _core.stored_tables(compiled):
            table = lookup.table_of(stored)
            if table is None:
                raise structures.NotStorable(f"{name} uses a lookup table whose Python object is gone. Keep it.")
            rows.append([stored, self.table(table)])
        return rows

    # ---- Functions

    def function(self, concrete):
        """The number of a trace."""
        compiled = concrete.compiled
        found = self.number_of_function.get(id(compiled))
        if found is not None:
            return found
        variables = [
            self.variable(v["id"], v["name"], v["shape"], v["trainable"], v["value"])
            for v in _core.stored_variables(compiled)
        ]
        traced = concrete._traced
        flat = []
        row = {
            "name": concrete.name,
            "file": f"functions/{len(self.functions)}.graph",
            "variables": variables,
            "tables": self.tables_of(compiled, concrete.name),
            "inputs": [structures.spec_json(spec) for spec in traced.inputs],
            "args": structures.encode(concrete._args, self.python_variable),
            "kwargs": structures.encode(concrete._kwargs, self.python_variable),
            "results": structures.encode(_numbered(traced.outputs, flat)),
            "outputs": [{"shape": structures.shape_json(t.shape), "dtype": t.dtype.name} for t in flat],
        }
        self.functions.append((row, compiled))
        self.number_of_function[id(compiled)] = len(self.functions) - 1
        self.keep.append(compiled)
        return len(self.functions) - 1

    def function_object(self, function):
        """The row of a function with all its traces that can be stored."""
        traces = []
        for concrete in concretes_of(function):
            try:
                traces.append(self.function(concrete))
            except structures.NotStorable as problem:
                _log.warning("saved_model.save leaves out a trace of %s: %s", function.name, problem)
        signature = function._type.signature
        return {"kind": "function", "name": function.name, "traces": traces,
                "concrete": isinstance(function, ConcreteFunction),
                "parameters": structures.parameters_json(signature)}  # fmt: skip

    # ---- Objects

    def object(self, obj):
        """The number of an object; those that hang on it are numbered too."""
        found = self.number_of.get(id(obj))
        if found is not None:
            return found
        number = len(self.objects)
        self.number_of[id(obj)] = number
        self.keep.append(obj)
        row = {}
        self.objects.append(row)
        row.update(self.describe(obj))
        return number

    def describe(self, obj):
        if isinstance(obj, FUNCTIONS):
            return self.function_object(obj)
        if isinstance(obj, Asset):
            return {"kind": "asset", "file": self.asset(obj), "variable": self.python_variable(obj.path_variable)}
        handle = _handle_of(obj)
        if handle is not None:
            variable = obj if isinstance(obj, _core.VariableBase) else obj.value
            return {"kind": "variable", "variable": self.python_variable(variable)}
        if isinstance(obj, lookup.Table):
            return {"kind": "table", "table": self.table(obj)}
        if isinstance(obj, collections.abc.Mapping):
            keys = [key if isinstance(key, (str, int)) else str(key) for key in obj]
            rows = [[key, self.object(part)] for key, part in zip(keys, obj.values()) if _is_stored(part)]
            return {"kind": "dict", "items": rows}
        if is_container(obj):
            kind = "tuple" if isinstance(obj, tuple) else "list"
            return {"kind": kind, "items": self.places(obj)}
        children = {
            name: child
            for name, child in children_of(obj, "savedmodel", cache=self.made).items()
            if not isinstance(child, FUNCTIONS)
        }
        children.update(functions_of(obj, self.made))
        return {"kind": "object", "class": type(obj).__name__,
                "children": {name: self.object(child) for name, child in children.items()}}  # fmt: skip

    def places(self, sequence):
        """The numbers of what a list holds. As in TensorFlow what is stored keeps its place, None stands for anything
        else before it, and what comes behind the last is left out."""
        numbers = [self.object(part) if _is_stored(part) else None for part in sequence]
        while numbers and numbers[-1] is None:
            numbers.pop()
        return numbers

    def asset(self, obj):
        path = obj.asset_path.numpy().decode()
        base = name = os.path.basename(path)
        number = 1
        while name in self.assets and self.assets[name] != path:
            number += 1
            name = f"{number}_{base}"
        self.assets[name] = path
        return name


def _numbered(outputs, flat):
    """Results with numbers in place of tensors."""
    from tandem.extension.extension_type import ExtensionType
    from tandem.framework import composites
    from tandem.saving.extensions import NumberedFields

    def change(leaf, path):
        if leaf is None:
            return None
        flat.append(leaf)
        return len(flat) - 1

    def walk(value):
        if isinstance(value, ExtensionType):
            return NumberedFields.of(value, walk)
        parts = composites.opened(value)
        return change(value, "") if parts is None else parts[1](list(map(walk, parts[0])))

    return walk(outputs)


def _handle_of(obj):
    """The handle of a variable or of an object that stands for one, else None."""
    if isinstance(obj, _core.VariableBase):
        return obj.handle
    if isinstance(obj, Trackable) and hasattr(type(obj), "_should_act_as_resource_variable"):
        return obj.handle
    return None


def _is_stored(value):
    return isinstance(value, (Trackable, *FUNCTIONS)) or is_container(value)


def save(obj, export_dir, signatures=None, options=None):
    """Writes the object with its variables and functions; load() needs none of the code that made it."""
    if not isinstance(obj, Trackable):
        raise ValueError(f"Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the "
                         f"`Trackable` class, for export. Got {obj} with type {type(obj)}.")  # fmt: skip
    if not _core.executing_eagerly():
        raise AssertionError("tf.saved_model.save is not supported inside a traced @tf.function. Move the call to the "
                             "outer eagerly-executed context.")  # fmt: skip
    if "signatures" in children_of(obj) or "signatures" in functions_of(obj):
        raise ValueError(
            f"Exporting an object {obj} which has an attribute named 'signatures'. This is a reserved attribute used to "
            "store SavedModel signatures in objects which come from `tf.saved_model.load`. Delete this attribute (e.g. "
            "`del obj.signatures`) before saving if this shadowing is acceptable."
        )
    options = options or SaveOptions()
    writer = _Writer(obj, options)
    chosen = canonical_signatures(obj, signatures, lambda root: functions_of(root, writer.made))
    names, values = writer.find_keys()
    writer.object(obj)
    rows = []
    for name, signature in chosen.items():
        rows.append({"name": name, "function": writer.function(signature.concrete),
                     "inputs": signature.inputs, "outputs": signature.outputs})  # fmt: skip
    aliases = {alias: writer.object(function) for alias, function in options.function_aliases.items()}
    model = {
        "format": FORMAT,
        "version": VERSION,
        "tandem_version": _core.__version__,
        "sorted_keys": True,
        "objects": writer.objects,
        "functions": [row for row, compiled in writer.functions],
        "variables": [row for number, row in writer.variables.values()],
        "tables": [row for number, row in writer.tables.values()],
        "signatures": rows,
        "aliases": aliases,
        "assets": sorted(writer.assets),
    }
    _write(gfile.local_path(export_dir), model, writer, names + list(writer.hidden), values + list(writer.hidden.values()))


def _write(folder, model, writer, names, values):
    """A folder holds a model once its description is there, which comes last: a save over a model writes its files where
    the description does not look yet."""
    gfile.makedirs(folder)
    path = os.path.join(folder, FILE)
    with _core.FolderLock(folder):
        _core.remove_abandoned(folder)
        before = _described(folder, path)
        data = "" if before is None or before.get("data") == SECOND else SECOND
        base = os.path.join(folder, data)
        for inner in ("variables", "functions", "assets"):
            os.makedirs(os.path.join(base, inner), exist_ok=True)
        for name, source in writer.assets.items():
            target = os.path.join(base, "assets", name)
            if os.path.realpath(source) != os.path.realpath(target):
                with open(source, "rb") as asset:
                    _core.write_file(target, asset.read())
        for row, compiled in writer.functions:
            row["file"] = os.path.join(data, row["file"])
            _core.store_function(os.path.join(folder, row["file"]), compiled)
        _core.save_checkpoint(os.path.join(base, "variables", "variables"), names, values)
        if data:
            model["data"] = data
        _core.write_file(path, json.dumps(model, indent=1).encode())
        _remove_former(folder, before, data, writer)


def _described(folder, path):
    """The description of the model that is there, {} for one that cannot be read, or None. Others' are left alone."""
    for theirs in ("saved_model.pb", "saved_model.pbtxt"):
        if os.path.exists(os.path.join(folder, theirs)):
            raise AlreadyExistsError(
                None, None, f"{folder} holds a saved model in TensorFlow's own format ({theirs}): it is not overwritten. "
                "Save into another folder, or remove it."
            )  # fmt: skip
    if not os.path.exists(path):
        return None
    try:
        return description.read(path, FORMAT, VERSION)
    except OpError as problem:
        with open(path, "rb") as file:
            if FORMAT.encode() in file.read(4096):
                return {}
        raise AlreadyExistsError(
            None, None, f"{path} is there already and describes no saved model of Tandem's: it is not overwritten. Save "
            f"into another folder, or remove it. ({problem})"
        ) from None  # fmt: skip


def _remove_former(folder, before, data, writer):
    """Removes files of saves before, which no description names any more."""
    # A loaded model that was saved over itself goes on reading its assets where they were.
    in_use = {os.path.realpath(source) for source in writer.assets.values()}
    for inner in (data, "" if data else SECOND):
        graphs = os.path.join(folder, inner, "functions")
        first = len(writer.functions) if inner == data else 0
        if os.path.isdir(graphs):
            for entry in os.listdir(graphs):
                number = entry.removesuffix(".graph")
                if number != entry and number.isdecimal() and int(number) >= first:
                    os.remove(os.path.join(graphs, entry))
    if before is None:
        return
    former = os.path.join(folder, "" if data else SECOND)
    remove_checkpoint(os.path.join(former, "variables", "variables"))
    for name in before.get("assets", ()):
        if isinstance(name, str) and os.path.basename(name) == name and name not in ("", ".", ".."):
            asset = os.path.join(former, "assets", name)
            if os.path.isfile(asset) and os.path.realpath(asset) not in in_use:
                os.remove(asset)
    for inner in ("variables", "functions", "assets", ""):
        if os.path.join(former, inner).rstrip(os.sep) != folder.rstrip(os.sep):
            with contextlib.suppress(OSError):  # holds what others put there
                os.rmdir(os.path.join(former, inner))
