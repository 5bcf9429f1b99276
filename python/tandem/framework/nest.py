"""tf.nest: nested structures of sequences, mappings, named tuples, attrs classes and classes with `__tf_flatten__`.

The values of every mapping come in the order of its sorted keys, whatever order it has itself, and what is packed
again has the order of the structure: two mappings with the same keys match key by key. All that takes structures
apart in one place and puts them together in another uses `children` (framework/composites.py, pipeline/structure.py).
Strings, tensors and None are leaves, as in TensorFlow.
"""

import collections
import collections.abc


def _sequence(value):
    kind = type(value)
    return list(value), lambda parts: kind(parts)


def _as_list(value):
    return list(value), list


def _named_tuple(value):
    kind = type(value)
    return list(value), lambda parts: kind(*parts)


def _mapping(value):
    keys = sorted(value)
    return [value[key] for key in keys], lambda parts: like_mapping(value, dict(zip(keys, parts)))


def like_mapping(value, parts):
    """A mapping of the kind and order of `value` with the values of a dict."""
    if type(value) is dict:
        return {key: parts[key] for key in value}
    if isinstance(value, collections.abc.MutableMapping):
        return _like_mutable(value, parts)
    return _of_pairs(value, parts)


def _like_mutable(value, parts):
    """Key by key, as TensorFlow fills it: pairs mean something else to a Counter."""
    if type(value) is collections.defaultdict:
        made = collections.defaultdict(value.default_factory)
    else:
        try:
            made = type(value)()
        except TypeError:
            return _of_pairs(value, parts)
        if isinstance(value, collections.defaultdict) and made.default_factory is None:
            made.default_factory = value.default_factory
    for key in value:
        made[key] = parts[key]
    return made


def _of_pairs(value, parts):
    try:
        return type(value)([(key, parts[key]) for key in value])
    except TypeError as error:
        raise TypeError(
            f"Error creating an object of type {type(value)} like {value}. Note that it must accept a single "
            "positional argument representing an iterable of key-value pairs, in addition to self. "
            f"Cause: {error}"
        ) from None


def _attrs(value):
    names = [field.name for field in type(value).__attrs_attrs__]
    return [getattr(value, name) for name in names], lambda parts: type(value)(*parts)


def _custom(value):
    metadata, parts = value.__tf_flatten__()
    return list(parts), lambda parts: type(value).__tf_unflatten__(metadata, tuple(parts))


def _opener(kind):
    """The function that opens values of a type; None for leaves."""
    if issubclass(kind, tuple):
        return _named_tuple if hasattr(kind, "_fields") else _sequence
    if issubclass(kind, (str, bytes, bytearray, memoryview)):
        return None
    if issubclass(kind, (range, collections.abc.MappingView)):
        return _as_list
    if issubclass(kind, collections.abc.Sequence):
        return _sequence
    if issubclass(kind, collections.abc.Mapping):
        return _mapping
    if hasattr(kind, "__attrs_attrs__"):
        return _attrs
    if hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__"):
        return _custom
    return None


_openers = {}
_MOST_TYPES = 1024  # types that are made and forgotten must not stay


def opener(kind):
    try:
        return _openers[kind]
    except KeyError:
        if len(_openers) >= _MOST_TYPES:
            _openers.clear()
        return _openers.setdefault(kind, _opener(kind))


def children(value):
    """(the parts in order, a function that makes a value like it of other parts); None for a leaf."""
    found = opener(type(value))
    return None if found is None else found(value)


def is_nested(seq):
    return opener(type(seq)) is not None


def flatten(structure, expand_composites=False):
    flat = []
    _flatten_into(structure, flat)
    return [part for leaf in flat for part in _components(leaf)] if expand_composites else flat


def _flatten_into(value, flat):
    kind = type(value)
    if kind is list or kind is tuple:
        for part in value:
            _flatten_into(part, flat)
    elif opener(kind) is None:
        flat.append(value)
    else:
        for part in children(value)[0]:
            _flatten_into(part, flat)


def _components(leaf):
    """The tensors, or specs of tensors, of a leaf that is made of several."""
    if not hasattr(type(leaf), "_tf_components"):
        return [leaf]
    return [part for child in leaf._tf_components() for part in _components(child)]


def _composed(leaf, parts):
    if not hasattr(type(leaf), "_tf_components"):
        return next(parts)
    return leaf._tf_rebuild([_composed(child, parts) for child in leaf._tf_components()])


def _pack(structure, leaves):
    kind = type(structure)
    if kind is list or kind is tuple:
        return kind([_pack(part, leaves) for part in structure])
    if opener(kind) is None:
        return next(leaves)
    parts, make = children(structure)
    return make([_pack(part, leaves) for part in parts])


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    flat_sequence = list(flat_sequence)
    if not is_nested(structure) and not (expand_composites and hasattr(type(structure), "_tf_components")):
        if len(flat_sequence) != 1:
            raise ValueError(
                f"The target structure is of type `{type(structure)}`\n  {structure}\nHowever the input is a "
                f"sequence of length {len(flat_sequence)}.\n  {flat_sequence}\nnest cannot guarantee that it is safe "
                "to map one to the other."
            )
        return flat_sequence[0]
    wanted = len(flatten(structure, expand_composites))
    if wanted != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} atoms, but flat_sequence had "
            f"{len(flat_sequence)} items.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    if expand_composites:
        parts = iter(flat_sequence)
        flat_sequence = [_composed(leaf, parts) for leaf in flatten(structure)]
    return _pack(structure, iter(flat_sequence))


def map_structure(func, *structure, **kwargs):
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(f"Only valid keyword arguments are `check_types` and `expand_composites`, not: {kwargs}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types, expand_composites=expand)
    flat = [flatten(s, expand) for s in structure]
    return pack_sequence_as(structure[0], [func(*items) for items in zip(*flat)], expand)


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    try:
        _same_structure(nest1, nest2, check_types, expand_composites)
    except (TypeError, ValueError) as problem:
        raise type(problem)(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {_shown(nest1)}\n\n"
            f"Second structure: {_shown(nest2)}\n\nMore specifically: {problem}"
        ) from None


def _shown(value):
    return f"type={type(value).__name__} str={value}"


def _same_structure(nest1, nest2, check_types, expand):
    if is_nested(nest1) != is_nested(nest2):
        one, other = (nest1, nest2) if is_nested(nest1) else (nest2, nest1)
        raise ValueError(f'Substructure "{_shown(one)}" is a sequence, while substructure "{_shown(other)}" is not')
    if not is_nested(nest1):
        if expand:
            _same_composites(nest1, nest2)
        return
    both_mappings = _is_mapping(nest1) and _is_mapping(nest2)
    if check_types and type(nest1) is not type(nest2) and not both_mappings and not _same_named(nest1, nest2):
        raise TypeError(
            f"The two structures don't have the same sequence type. First structure {_shown(nest1)} has type "
            f"{type(nest1).__name__}, while second structure {_shown(nest2)} has type {type(nest2).__name__}"
        )
    if both_mappings and set(nest1) != set(nest2):
        raise ValueError(
            f"The two dictionaries don't have the same set of keys. First structure has keys {list(nest1)}, "
            f"while second structure has keys {list(nest2)}."
        )
    parts1, parts2 = children(nest1)[0], children(nest2)[0]
    if len(parts1) != len(parts2):
        raise ValueError(
            "The two structures don't have the same number of elements. "
            f"First structure: {_shown(nest1)}. Second structure: {_shown(nest2)}"
        )
    for a, b in zip(parts1, parts2):
        _same_structure(a, b, check_types, expand)


def _same_composites(leaf1, leaf2):
    composite1, composite2 = (hasattr(type(leaf), "_tf_components") for leaf in (leaf1, leaf2))
    if composite1 != composite2 or (composite1 and len(_components(leaf1)) != len(_components(leaf2))):
        raise ValueError(f"{_shown(leaf1)} and {_shown(leaf2)} do not consist of the same tensors")


def _is_mapping(value):
    return isinstance(value, collections.abc.Mapping)


def _same_named(a, b):
    """Named tuples made twice are one type to TensorFlow."""
    named = all(isinstance(value, tuple) and hasattr(value, "_fields") for value in (a, b))
    return named and type(a).__name__ == type(b).__name__ and a._fields == b._fields
