"""Arguments and results of functions as JSON: nests of lists, tuples, dicts and named tuples with specs, numbers of
results, variables and plain values as leaves."""

import base64
import collections
import inspect

from tandem import _core
from tandem.extension.extension_type import ExtensionType
from tandem.extension.spec import ExtensionTypeSpec
from tandem.framework import composites
from tandem.framework.dtypes import DType
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.shape import TensorShape
from tandem.framework.sparse import SparseTensor, SparseTensorSpec
from tandem.framework.spec import TensorSpec
from tandem.saving import description
from tandem.saving.extensions import NumberedFields, extension_from, extension_json


class NotStorable(TypeError):
    """A value that has no stored form."""


def shape_json(shape):
    return None if shape.rank is None else shape.as_list()


def shape_from(dims):
    """The shape that shape_json() described."""
    if dims is not None and any(d is not None and (type(d) is not int or not 0 <= d < 2**63) for d in dims):
        raise ValueError(f"{dims!r} is no shape")
    return TensorShape(dims)


def spec_json(spec):
    return {**_shaped_json(spec), "name": spec.name}


def _shaped_json(spec):
    return {"shape": shape_json(spec.shape), "dtype": spec.dtype.name}


def _size_from(size):
    return size if size is None else description.number(size)


def spec_from(row):
    return TensorSpec(shape_from(row["shape"]), _core.as_dtype(row["dtype"]), row.get("name"))


def encode(value, number_of_variable=None):
    """`number_of_variable` gives the number of a variable among the stored ones."""

    def walk(item):
        if isinstance(item, TensorSpec):
            return {"spec": spec_json(item)}
        if isinstance(item, _core.VariableBase) and number_of_variable is not None:
            return {"variable": number_of_variable(item)}
        if item is None or isinstance(item, (bool, int, str)):
            return {"value": item}
        if isinstance(item, float):
            return {"float": item.hex()}
        if isinstance(item, bytes):
            return {"bytes": base64.b64encode(item).decode()}
        if isinstance(item, DType):
            return {"dtype": item.name}
        if isinstance(item, TensorShape):
            return {"shape": shape_json(item)}
        if isinstance(item, (ExtensionType, ExtensionTypeSpec, NumberedFields)):
            return extension_json(item, walk)
        if isinstance(item, RaggedTensor):  # of the specs, or of the numbers, of its parts
            return {"ragged": list(map(walk, item._tf_components())), "uniform_row_length": item._tf_key()}
        if isinstance(item, SparseTensor):
            return {"sparse": list(map(walk, item._tf_components()))}
        if isinstance(item, RaggedTensorSpec):
            return {"ragged_spec": {**_shaped_json(item), "ragged_rank": item.ragged_rank,
                                    "row_splits_dtype": item.row_splits_dtype.name}}  # fmt: skip
        if isinstance(item, SparseTensorSpec):
            return {"sparse_spec": _shaped_json(item)}
        if composites.is_namedtuple(item):
            return {"namedtuple": type(item).__name__, "fields": list(item._fields), "items": list(map(walk, item))}
        if isinstance(item, (list, tuple)):
            return {"list" if isinstance(item, list) else "tuple": list(map(walk, item))}
        if isinstance(item, dict):
            return {"dict": [[walk(key), walk(part)] for key, part in item.items()]}
        raise NotStorable(f"{item!r} of type {type(item).__name__} cannot be part of a saved function's signature.")

    return walk(value)


_namedtuples = {}


def decode(row, variables=(), sorted_keys=True):
    """What encode() stored; variables by number. `sorted_keys`: mappings are opened in the order of their keys."""
    as_dict = dict if sorted_keys else composites.InGivenOrder

    def walk(item):
        if "spec" in item:
            return spec_from(item["spec"])
        if "variable" in item:
            return variables[item["variable"]]
        if "value" in item:
            return item["value"]
        if "float" in item:
            return float.fromhex(item["float"])
        if "bytes" in item:
            return base64.b64decode(item["bytes"])
        if "dtype" in item:
            return _core.as_dtype(item["dtype"])
        if "shape" in item:
            return shape_from(item["shape"])
        if "extension" in item:
            return extension_from(item, walk)
        if "ragged" in item:
            values, splits = map(walk, item["ragged"])
            return RaggedTensor(values, splits, internal=True, uniform_row_length=_size_from(item["uniform_row_length"]))
        if "sparse" in item:
            indices, values, dense_shape = map(walk, item["sparse"])
            return SparseTensor.__new__(SparseTensor)._tf_rebuild([indices, values, dense_shape])
        if "ragged_spec" in item:
            spec = item["ragged_spec"]
            shape, dtype = shape_from(spec["shape"]), _core.as_dtype(spec["dtype"])
            rank = description.number(spec["ragged_rank"], below=shape.rank if shape.rank is not None else 1)
            return RaggedTensorSpec(shape, dtype, rank, _core.as_dtype(spec["row_splits_dtype"]))
        if "sparse_spec" in item:
            spec = item["sparse_spec"]
            return SparseTensorSpec(shape_from(spec["shape"]), _core.as_dtype(spec["dtype"]))
        if "namedtuple" in item:
            key = (item["namedtuple"], *item["fields"])
            if key not in _namedtuples:
                _namedtuples[key] = collections.namedtuple(item["namedtuple"], item["fields"])
            return _namedtuples[key](*map(walk, item["items"]))
        if "list" in item:
            return list(map(walk, item["list"]))
        if "tuple" in item:
            return tuple(map(walk, item["tuple"]))
        return as_dict((walk(key), walk(part)) for key, part in item["dict"])

    return walk(row)


def parameters_json(signature):
    """The parameters of a function; a default that cannot be stored makes its parameter required."""
    rows = []
    for name, parameter in signature.parameters.items():
        row = {"name": name, "kind": parameter.kind.name}
        if parameter.default is not parameter.empty:
            try:
                row["default"] = encode(parameter.default)
            except NotStorable:
                pass
        rows.append(row)
    return rows


def signature_from(rows):
    kinds = {kind.name: kind for kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                          inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY,
                                          inspect.Parameter.VAR_KEYWORD)}  # fmt: skip
    parameters, defaults_began = [], False
    for row in rows:
        default = decode(row["default"]) if "default" in row else inspect.Parameter.empty
        kind = kinds[row["kind"]]
        positional = kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if positional and defaults_began and default is inspect.Parameter.empty:
            default = None  # its own default could not be stored
        defaults_began = defaults_began or (positional and default is not inspect.Parameter.empty)
        parameters.append(inspect.Parameter(row["name"], kind, default=default))
    return inspect.Signature(parameters)
