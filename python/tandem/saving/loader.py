"""tf.saved_model.load."""

import collections.abc
import json
import os

from tandem import _core
from tandem.checkpoint.reader import CheckpointReader
from tandem.framework import composites
from tandem.framework.concrete_function import ConcreteFunction
from tandem.framework.errors import DataLossError, InvalidArgumentError
from tandem.framework.shape import TensorShape
from tandem.framework.spec import TensorSpec
from tandem.framework.trackable import AutoTrackable
from tandem.framework.variable import Variable
from tandem.saving import saver, structures
from tandem.saving.extensions import NumberedFields
from tandem.saving.loaded_function import LoadedFunction, LoadedTrace, SignatureFunction, function_type
from tandem.saving.options import Asset, LoadOptions


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
        self.model = model
        self.values = CheckpointReader(os.path.join(folder, "variables", "variables"))
        self.variables = [self.variable(row) for row in model["variables"]]
        self.traces = {}
        self.concretes = {}
        self.objects = {}

    def variable(self, row):
        return Variable(
            self.values.read(row["key"]), name=row["name"], trainable=row["trainable"], shape=TensorShape(row["shape"])
        )

    def trace(self, number):
        if number not in self.traces:
            row = self.model["functions"][number]
            variables = [self.variables[v] for v in row["variables"]]
            path = os.path.join(self.folder, row["file"])
            compiled = _core.load_function(path, [v.handle for v in variables])
            numbered = structures.decode(row["results"])
            specs = [TensorSpec(TensorShape(o["shape"]), o["dtype"]) for o in row["outputs"]]

            def spec(leaf, path):
                return leaf._pack_results(specs) if isinstance(leaf, NumberedFields) else None if leaf is None else specs[leaf]

            outputs = composites.rebuild(numbered, spec)
            results = composites.number(outputs, [])
            inputs = [structures.spec_from(spec) for spec in row["inputs"]]
            self.traces[number] = LoadedTrace(row["name"], compiled, inputs, outputs, results, variables)
        return self.traces[number]

    def concrete(self, number, signature):
        if number not in self.concretes:
            row = self.model["functions"][number]
            args = structures.decode(row["args"], self.variables)
            kwargs = structures.decode(row["kwargs"], self.variables)
            self.concretes[number] = ConcreteFunction(self.trace(number), args, kwargs, function_type(signature))
        return self.concretes[number]

    def object(self, number):
        if number not in self.objects:
            self.make(number, self.model["objects"][number])
        return self.objects[number]

    def make(self, number, row):
        kind = row["kind"]
        if kind == "object":
            made = CallableObject() if "__call__" in row["children"] else LoadedObject()
            self.objects[number] = made  # before its children, which may know it
            for name, child in row["children"].items():
                setattr(made, name, self.object(child))
        elif kind == "list":
            made = self.objects[number] = []
            made.extend(self.object(child) for child in row["items"])
        elif kind == "tuple":
            self.objects[number] = tuple(self.object(child) for child in row["items"])
        elif kind == "dict":
            made = self.objects[number] = {}
            made.update({key: self.object(child) for key, child in row["items"]})
        elif kind == "variable":
            self.objects[number] = self.variables[row["variable"]]
        elif kind == "asset":
            variable = self.variables[row["variable"]]
            variable.assign(os.path.join(self.folder, "assets", row["file"]))
            made = self.objects[number] = Asset.__new__(Asset)
            made._path = variable
        else:
            signature = structures.signature_from(row["parameters"])
            concretes = [self.concrete(trace, signature) for trace in row["traces"]]
            single = row["concrete"] and len(concretes) == 1
            self.objects[number] = concretes[0] if single else LoadedFunction(row["name"], signature, concretes)

    def signatures(self):
        return SignatureMap(
            {
                row["name"]: SignatureFunction(self.trace(row["function"]), row["inputs"], row["outputs"])
                for row in self.model["signatures"]
            }
        )


def contains_saved_model(export_dir):
    """Whether a folder holds a model that load() reads."""
    return os.path.isfile(os.path.join(os.fspath(export_dir), saver.FILE))


def read_model(folder):
    path = os.path.join(folder, saver.FILE)
    if not os.path.exists(path):
        if os.path.exists(os.path.join(folder, "saved_model.pb")):
            raise OSError(f"{folder} holds a model in TensorFlow's own format. Tandem reads what its own "
                          "tf.saved_model.save wrote: save the model again with Tandem.")  # fmt: skip
        raise OSError(f"SavedModel file does not exist at: {folder}{os.sep}{{{saver.FILE}}}")
    try:
        with open(path, encoding="utf-8") as text:
            model = json.load(text)
        if model["format"] != saver.FORMAT:
            raise KeyError("format")
    except (ValueError, KeyError, TypeError) as error:
        raise DataLossError(None, None, f"{path} is damaged or describes no saved model ({error}).") from None
    if model["version"] != saver.VERSION:
        raise InvalidArgumentError(
            None, None, f"{path} has version {model['version']}; this build reads version {saver.VERSION}."
        )
    return model


def load(export_dir, tags=None, options=None):
    """The saved object: its attributes, and `signatures`."""
    folder = os.fspath(export_dir)
    options = options or LoadOptions()
    model = read_model(folder)
    with _core.init_scope():
        reader = _Reader(folder, model, options)
        try:
            root = reader.object(0)
            signatures = reader.signatures()
        except (KeyError, IndexError) as error:
            raise DataLossError(None, None, f"{folder}: the description is damaged: {error!r}") from None
        object.__setattr__(root, "signatures", signatures)
        object.__setattr__(root, "tensorflow_version", model["tandem_version"])
        if options.experimental_load_function_aliases:
            aliases = {alias: reader.object(number) for alias, number in model.get("aliases", {}).items()}
            object.__setattr__(root, "function_aliases", aliases)
    return root
