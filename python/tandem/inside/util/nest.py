"""tensorflow.python.util.nest: paths, and structures that are opened only as far as another one goes.

tf.nest's own functions come from framework/nest.py, whose `children` is the only place that opens anything.
"""

import collections.abc

from tandem.framework import nest as _nest
from tandem.framework.nest import (  # noqa: F401
    assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as,
)  # fmt: skip


def is_mapping(instance):
    return isinstance(instance, collections.abc.Mapping)


def is_attrs(instance):
    return hasattr(type(instance), "__attrs_attrs__")


def is_namedtuple(instance, strict=False):
    return isinstance(instance, tuple) and hasattr(instance, "_fields") and (not strict or type(instance).__base__ is tuple)


def same_namedtuples(nest1, nest2):
    return _nest._same_named(nest1, nest2)


def is_nested_or_composite(seq):
    return is_nested(seq) or hasattr(type(seq), "_tf_components")


is_sequence_or_composite = is_nested_or_composite


def _keys(value):
    if is_mapping(value):
        return sorted(value)
    if is_namedtuple(value):
        return list(value._fields)
    if is_attrs(value):
        return [field.name for field in type(value).__attrs_attrs__]
    return list(range(len(_nest.children(value)[0])))


def yield_sorted_items(structure):
    """(key, part) of one level."""
    return zip(_keys(structure), _nest.children(structure)[0])


def sequence_like(instance, args):
    """A structure like `instance` with other parts."""
    return _nest.children(instance)[1](list(args))


def flatten_dict_items(dictionary):
    """{(4, 5): ("a", "b")} as {4: "a", 5: "b"}."""
    if not isinstance(dictionary, collections.abc.Mapping):
        raise TypeError("input must be a dictionary")
    flat = {}
    for key, value in dictionary.items():
        pairs = zip(flatten(key), flatten(value), strict=True) if is_nested(key) else [(key, value)]
        for k, v in pairs:
            if k in flat:
                raise ValueError(f"Cannot flatten dictionary. The key is not unique: {k}")
            flat[k] = v
    return flat


def list_to_tuple(structure):
    if not is_nested(structure):
        return structure
    parts, make = _nest.children(structure)
    parts = [list_to_tuple(part) for part in parts]
    return tuple(parts) if isinstance(structure, list) else make(parts)


def _walk(shallow, value, path, expand):
    """(path, value) for each leaf of `shallow`."""
    if not is_nested(shallow) and not (expand and hasattr(type(shallow), "_tf_components")):
        yield path, value
        return
    if not is_nested(shallow):
        parts = value._tf_components() if hasattr(type(value), "_tf_components") else [value]
        for part, inner in zip(shallow._tf_components(), parts):
            yield from _walk(part, inner, path, expand)
        return
    mine, theirs = dict(yield_sorted_items(shallow)), _nest.children(value)
    others = value if is_mapping(shallow) else dict(zip(_keys(shallow), theirs[0]))
    for key, part in mine.items():
        yield from _walk(part, others[key], (*path, key), expand)


def assert_shallow_structure(shallow_tree, input_tree, check_types=True, expand_composites=False):
    """That `input_tree` begins as `shallow_tree` does."""
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}."
        )
    mappings = is_mapping(shallow_tree) and is_mapping(input_tree)
    if check_types and type(shallow_tree) is not type(input_tree) and not mappings and not same_namedtuples(shallow_tree, input_tree):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if mappings:
        absent = set(shallow_tree) - set(input_tree)
        if absent:
            raise ValueError(f"The shallow_tree's keys are not a subset of the input_tree's keys: {sorted(absent, key=str)}.")
        pairs = [(shallow_tree[key], input_tree[key]) for key in shallow_tree]
    else:
        mine, theirs = _nest.children(shallow_tree)[0], _nest.children(input_tree)[0]
        if len(mine) != len(theirs):
            raise ValueError(
                "The two structures don't have the same sequence length. Input structure has length "
                f"{len(theirs)}, while shallow structure has length {len(mine)}."
            )
        pairs = zip(mine, theirs)
    for mine, theirs in pairs:
        assert_shallow_structure(mine, theirs, check_types, expand_composites)


def flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types=True, expand_composites=False):
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites)
    return list(_walk(shallow_tree, input_tree, (), expand_composites))


def flatten_up_to(shallow_tree, input_tree, check_types=True, expand_composites=False):
    return [value for _, value in flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types, expand_composites)]


def map_structure_with_tuple_paths_up_to(shallow_tree, func, *inputs, **kwargs):
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types, expand = kwargs.pop("check_types", True), kwargs.pop("expand_composites", False)
    flat = [flatten_with_tuple_paths_up_to(shallow_tree, tree, check_types, expand) for tree in inputs]
    results = [func(rows[0][0], *(value for _, value in rows), **kwargs) for rows in zip(*flat)]
    return pack_sequence_as(shallow_tree, results, expand_composites=expand)


def map_structure_up_to(shallow_tree, func, *inputs, **kwargs):
    return map_structure_with_tuple_paths_up_to(shallow_tree, lambda _, *values, **more: func(*values, **more), *inputs, **kwargs)


def flatten_with_tuple_paths(structure, expand_composites=False):
    return list(_walk(structure, structure, (), expand_composites))


def yield_flat_paths(structure, expand_composites=False):
    return (path for path, _ in _walk(structure, structure, (), expand_composites))


def flatten_with_joined_string_paths(structure, separator="/", expand_composites=False):
    paths = _walk(structure, structure, (), expand_composites)
    return [(separator.join(str(key) for key in path), value) for path, value in paths]


def map_structure_with_tuple_paths(func, *structure, **kwargs):
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=kwargs.get("check_types", True))
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func, *structure, **kwargs):
    def called(path, *values, **more):
        return func("/".join(str(key) for key in path), *values, **more)

    return map_structure_with_tuple_paths(called, *structure, **kwargs)


def get_traverse_shallow_structure(traverse_fn, structure, expand_composites=False):
    """The part of a structure that `traverse_fn` goes into; False stands for what it does not open."""
    opened = traverse_fn(structure)
    if not is_nested(structure) or opened is False:
        return structure if opened is True and not is_nested(structure) else False
    parts, make = _nest.children(structure)
    if opened is True:
        return make([get_traverse_shallow_structure(traverse_fn, part, expand_composites) for part in parts])
    wanted = _nest.children(opened)[0]
    return make([get_traverse_shallow_structure(traverse_fn, part) if go else False for part, go in zip(parts, wanted)])


# Older names of the same.
_is_namedtuple, _sequence_like, _yield_sorted_items = is_namedtuple, sequence_like, yield_sorted_items


def _yield_value(iterable):
    return iter(_nest.children(iterable)[0])
