"""Specs of elements as data: what Dataset.save writes into dataset.json, and what is made of it again.

Nothing is imported by a name from the file: a named tuple or an attrs class comes back as a named tuple with the same
fields, an extension type as the program's own of that name or as an anonymous one. With `Dataset.load(path,
element_spec=…)` the elements are of the program's own classes.
"""

import collections
import collections.abc

from tandem import _core
from tandem.extension.extension_type import ExtensionType
from tandem.extension.spec import ExtensionTypeSpec
from tandem.framework.ragged import RaggedTensorSpec
from tandem.framework.sparse import SparseTensorSpec
from tandem.framework.spec import TensorSpec
from tandem.pipeline.iterator import OptionalSpec
from tandem.pipeline.structure import NoneTensorSpec
from tandem.saving import structures
from tandem.saving.extensions import extension_from, extension_json

_MOST_DEPTH = 64


def to_json(spec):
    """Raises TypeError for what has no form in a file."""
    if isinstance(spec, TensorSpec):
        return {"tensor": structures.spec_json(spec)}
    if isinstance(spec, NoneTensorSpec):
        return {"none": None}
    if isinstance(spec, RaggedTensorSpec):
        return {"ragged": {"shape": structures.shape_json(spec.shape), "dtype": spec.dtype.name,
                           "ragged_rank": spec.ragged_rank, "row_splits_dtype": spec.row_splits_dtype.name}}  # fmt: skip
    if isinstance(spec, SparseTensorSpec):
        return {"sparse": {"shape": structures.shape_json(spec.shape), "dtype": spec.dtype.name}}
    if isinstance(spec, OptionalSpec):
        return {"optional": to_json(spec._element_spec)}
    if isinstance(spec, (ExtensionType, ExtensionTypeSpec)):
        return extension_json(spec, _leaf_json)
    if isinstance(spec, collections.abc.Mapping):
        rows = [[_leaf_json(key), to_json(part)] for key, part in spec.items()]
        return {"ordered_dict" if isinstance(spec, collections.OrderedDict) else "dict": rows}
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        return _named(type(spec).__name__, spec._fields, spec)
    if isinstance(spec, tuple):
        return {"tuple": [to_json(part) for part in spec]}
    if hasattr(type(spec), "__attrs_attrs__"):
        names = [field.name for field in type(spec).__attrs_attrs__]
        return _named(type(spec).__name__, names, [getattr(spec, name) for name in names])
    raise TypeError(f"Dataset.save: components of {spec!r} have no form in a file. Map them to tensors before.")


def _named(name, fields, items):
    return {"namedtuple": name, "fields": list(fields), "items": [to_json(item) for item in items]}


def _leaf_json(value):
    """A key of a dict, or a field of an extension type."""
    if isinstance(value, (TensorSpec, RaggedTensorSpec, SparseTensorSpec, OptionalSpec, NoneTensorSpec)):
        return to_json(value)
    return structures.encode(value)


_named_tuples = {}


def named_tuple(name, fields):
    """The class for values of a named tuple from a file: no class of the program's is looked up by its name."""
    key = (name, *fields)
    if key not in _named_tuples:
        _named_tuples[key] = collections.namedtuple(name, fields)
    return _named_tuples[key]


def from_json(row, depth=0):
    """The spec; ValueError, TypeError or KeyError for what to_json() does not write."""
    if depth > _MOST_DEPTH:
        raise ValueError(f"nested deeper than {_MOST_DEPTH} levels")
    if not isinstance(row, dict):
        raise TypeError(f"{row!r} describes no component")
    if "tensor" in row:
        return structures.spec_from(row["tensor"])
    if "none" in row:
        return NoneTensorSpec()
    if "ragged" in row:
        ragged = row["ragged"]
        shape, rank = structures.shape_from(ragged["shape"]), ragged["ragged_rank"]
        if type(rank) is not int or not 0 <= rank <= 64 or (shape.rank is not None and rank > shape.rank):
            raise ValueError(f"the ragged rank {rank!r} of shape {shape}")
        return RaggedTensorSpec(shape, _dtype(ragged["dtype"]), rank, _dtype(ragged["row_splits_dtype"]))
    if "sparse" in row:
        return SparseTensorSpec(structures.shape_from(row["sparse"]["shape"]), _dtype(row["sparse"]["dtype"]))
    if "optional" in row:
        return OptionalSpec(from_json(row["optional"], depth + 1))
    if "extension" in row:
        return extension_from(row, lambda item: _leaf_from(item, depth + 1))
    if "namedtuple" in row:
        made = named_tuple(row["namedtuple"], row["fields"])
        return made(*(from_json(item, depth + 1) for item in row["items"]))
    if "tuple" in row:
        return tuple(from_json(item, depth + 1) for item in row["tuple"])
    kind = collections.OrderedDict if "ordered_dict" in row else dict
    pairs = row["ordered_dict"] if "ordered_dict" in row else row["dict"]
    return kind((_leaf_from(key, depth + 1), from_json(part, depth + 1)) for key, part in pairs)


def _leaf_from(row, depth):
    if {"tensor", "ragged", "sparse", "optional", "none"} & row.keys():
        return from_json(row, depth)
    return structures.decode(row)


def _dtype(name):
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no dtype")
    return _core.as_dtype(name)
