"""tf.saved_model.load."""

import collections.abc
import os

from tandem import _core
from tandem.checkpoint.reader import CheckpointReader
from tandem.framework import composites, gfile
from tandem.framework.concrete_function import ConcreteFunction
from tandem.framework.errors import DataLossError, OpError
from tandem.framework.spec import TensorSpec
from tandem.framework.trackable import AutoTrackable
from tandem.framework.variable import Variable
from tandem.ops import lookup
from tandem.saving import description, saver, structures
from tandem.saving.extensions import NumberedFields
from tandem.saving.loaded_function import LoadedFunction, LoadedTrace, SignatureFunction, function_type
from tandem.saving.options import Asset, LoadOptions


# What Python itself reads of an object. Any other attribute may be called as it was.
_OWN = ("__class__", "__dict__", "__weakref__", "__module__", "__doc__")


class LoadedObject(AutoTrackable):
    """An object of a saved model: its attributes are the variables, functions and objects that were saved."""


class CallableObject(LoadedObject):
    """One whose __call__ was saved."""

    def __call__(self, *args, **kwargs):
        return self.__dict__["__call__"](*args, **kwargs)


class SignatureMap(collections.abc.Mapping):
    """The signatures of a loaded model by name."""

    def __init__(self, signatures):
        self._signatures = signatures

    def __getitem__(self, key):
        return self._signatures[key]

    def __iter__(self):
        return iter(self._signatures)

    def __len__(self):
        return len(self._signatures)

    def __repr__(self):
        return f"_SignatureMap({self._signatures})"


class _Reader:
    """Makes the objects of one model, each once."""

    def __init__(self, folder, model, options):
        self.folder = folder
        self.path = os.path.join(folder, saver.FILE)
        self.model = model
        self.data = data_of(folder, model)
        self.values = CheckpointReader(os.path.join(folder, self.data, "variables", "variables"))
        with description.place(self.path, "variables"):
            self.variables = [self.variable(row) for row in model["variables"]]
        with description.place(self.path, "tables"):
            self.tables = [self.table(row) for row in model.get("tables", [])]
        self.sorted_keys = model.get("sorted_keys", False)
        self.traces = {}
        self.concretes = {}
        self.objects = {}

    def variable(self, row):
        value = self.values.read(description.text(row["key"]))
        return Variable(value, name=description.text(row["name"]), trainable=bool(row["trainable"]),
                        shape=structures.shape_from(row["shape"]))  # fmt: skip

    def table(self, row):
        parts = [self.values.read(description.text(row[part])) for part in ("keys", "values", "default")]
        keys, values, default = parts
        if not row["mutable"]:
            return lookup.StaticHashTable(lookup.KeyValueTensorInitializer(keys, values), default)
        table = lookup.MutableHashTable(keys.dtype, values.dtype, default)
        table._restore_from_tensors({"-keys": keys, "-values": values})
        return table

    def row(self, kind, number):
        """A row of the description, by its number."""
        rows = self.model[kind]
        return rows[description.number(number, below=len(rows))]

    def trace(self, number):
        if number not in self.traces:
            row = self.row("functions", number)
            variables = [self.variables[description.number(v)] for v in row["variables"]]
            path = _core.path_inside(self.folder, description.text(row["file"]), self.path)
            takes = [description.text(spec["dtype"]) for spec in row["inputs"]]
            gives = [description.text(spec["dtype"]) for spec in row["outputs"]]
            tables = {description.number(n): self.tables[description.number(t)] for n, t in row.get("tables", [])}
            numbers = {stored: table.resource_handle for stored, table in tables.items()}
            compiled = _core.load_function(path, [v.handle for v in variables], takes, gives, numbers)
            numbered = structures.decode(row["results"], (), self.sorted_keys)
            specs = [TensorSpec(structures.shape_from(o["shape"]), o["dtype"]) for o in row["outputs"]]

            def spec(leaf, path):
                return leaf._pack_results(specs) if isinstance(leaf, NumberedFields) else None if leaf is None else specs[leaf]

            outputs = composites.rebuild(numbered, spec)
            results = composites.number(outputs, [])
            inputs = [structures.spec_from(spec) for spec in row["inputs"]]
            self.traces[number] = LoadedTrace(
                row["name"], compiled, inputs, outputs, results, variables, tables.values()
            )
        return self.traces[number]

    def concrete(self, number, signature):
        if number not in self.concretes:
            row = self.row("functions", number)
            args = structures.decode(row["args"], self.variables, self.sorted_keys)
            kwargs = structures.decode(row["kwargs"], self.variables, self.sorted_keys)
            self.concretes[number] = ConcreteFunction(self.trace(number), args, kwargs, function_type(signature))
        return self.concretes[number]

    def object(self, number):
        if number not in self.objects:
            with description.place(self.path, f"objects[{number}]"):
                self.make(number, self.row("objects", number))
        return self.objects[number]

    def item(self, number):
        """What stands at a place of a list; None: nothing that is stored."""
        return None if number is None else self.object(number)

    def make(self, number, row):
        kind = row["kind"]
        if kind == "object":
            made = CallableObject() if "__call__" in row["children"] else LoadedObject()
            self.objects[number] = made  # before its children, which may know it
            for name, child in row["children"].items():
                if name in _OWN:
                    raise ValueError(f"an attribute cannot be called {name}")
                setattr(made, name, self.object(child))
        elif kind == "list":
            made = self.objects[number] = []
            made.extend(self.item(child) for child in row["items"])
        elif kind == "tuple":
            self.objects[number] = tuple(self.item(child) for child in row["items"])
        elif kind == "dict":
            made = self.objects[number] = {}
            made.update({key: self.object(child) for key, child in row["items"]})
        elif kind == "variable":
            self.objects[number] = self.variables[description.number(row["variable"])]
        elif kind == "table":
            self.objects[number] = self.tables[description.number(row["table"])]
        elif kind == "asset":
            variable = self.variables[description.number(row["variable"])]
            inside = os.path.join(self.data, "assets", description.text(row["file"]))
            variable.assign(_core.path_inside(self.folder, inside, self.path))
            made = self.objects[number] = Asset.__new__(Asset)
            made._path = variable
        elif kind != "function":
            raise ValueError(f"{kind!r} is no kind of object")
        else:
            signature = structures.signature_from(row["parameters"])
            concretes = [self.concrete(trace, signature) for trace in row["traces"]]
            single = row["concrete"] and len(concretes) == 1
            self.objects[number] = concretes[0] if single else LoadedFunction(row["name"], signature, concretes)

    def signatures(self):
        with description.place(self.path, "signatures"):
            return SignatureMap({description.text(row["name"]): self.signature(row) for row in self.model["signatures"]})

    def signature(self, row):
        trace = self.trace(row["function"])
        inputs = [description.text(name) for name in row["inputs"]]
        if len(inputs) != len(trace.inputs):
            raise ValueError(f"{len(inputs)} names for {len(trace.inputs)} inputs")
        results = len(self.row("functions", row["function"])["outputs"])
        outputs = [[description.text(name), description.number(n, below=results)] for name, n in row["outputs"]]
        return SignatureFunction(trace, inputs, outputs)


def contains_saved_model(export_dir):
    """Whether a folder holds a model that load() reads."""
    return os.path.isfile(os.path.join(gfile.local_path(export_dir), saver.FILE))


def read_model(folder):
    path = os.path.join(folder, saver.FILE)
    if not os.path.exists(path):
        if os.path.exists(os.path.join(folder, "saved_model.pb")):
            raise OSError(f"{folder} holds a model in TensorFlow's own format. Tandem reads what its own "
                          "tf.saved_model.save wrote: save the model again with Tandem.")  # fmt: skip
        raise OSError(f"SavedModel file does not exist at: {folder}{os.sep}{{{saver.FILE}}}")
    return description.read(path, saver.FORMAT, saver.VERSION)


def data_of(folder, model):
    """Where in the folder the files of the model lie (saver._write)."""
    path = os.path.join(folder, saver.FILE)
    data = model.get("data", "")
    if data not in ("", saver.SECOND):
        raise DataLossError(None, None, f"{path} is damaged at data: {data!r} is no place of a model's files.")
    # Neither the index nor its data may be reached through a link that leads elsewhere.
    for end in (".index", ".data-00000-of-00001", ".data-00000-of-00001.b"):
        _core.path_inside(folder, os.path.join(data, "variables", "variables" + end), path)
    return data


_MOST_TRIES = 8  # of loading a model that others save over at the same time


def load(export_dir, tags=None, options=None):
    """The saved object: its attributes, and `signatures`."""
    folder = gfile.local_path(export_dir)
    options = options or LoadOptions()
    for tries in range(_MOST_TRIES):
        before = _stamp(folder)
        problem = root = None
        try:
            root = _load(folder, read_model(folder), options)
        except (OpError, OSError) as error:
            problem = error
        # Its files may have been those of two saves.
        if _stamp(folder) == before or tries == _MOST_TRIES - 1:
            break
    if problem is not None:
        raise problem
    return root


def _stamp(folder):
    """What tells one description from another: every save makes a new file."""
    try:
        about = os.stat(os.path.join(folder, saver.FILE))
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_ctime_ns


def _load(folder, model, options):
    with _core.init_scope():
        reader = _Reader(folder, model, options)
        root = reader.object(0)
        signatures = reader.signatures()
        with description.place(reader.path, "objects[0]"):
            object.__setattr__(root, "signatures", signatures)
            object.__setattr__(root, "tensorflow_version", model.get("tandem_version"))
        if options.experimental_load_function_aliases:
            with description.place(reader.path, "aliases"):
                aliases = {alias: reader.object(number) for alias, number in model.get("aliases", {}).items()}
                object.__setattr__(root, "function_aliases", aliases)
    return root
