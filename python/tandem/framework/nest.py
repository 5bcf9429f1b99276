"""tf.nest: nested structures of tuples, lists, dicts and named tuples (sorted by key), by optree.

Strings, tensors and None are leaves, as in TensorFlow.
"""

import collections.abc

import optree

_NAMESPACE = "tandem"


def _leaf(value):
    return value is None


def is_nested(seq):
    return isinstance(seq, (list, tuple, collections.abc.Mapping)) or hasattr(seq, "__attrs_attrs__")


def flatten(structure, expand_composites=False):
    if structure is None:
        return [None]
    flat = optree.tree_leaves(structure, is_leaf=_leaf, none_is_leaf=True, namespace=_NAMESPACE)
    return [part for leaf in flat for part in _components(leaf)] if expand_composites else flat


def _components(leaf):
    """The tensors, or specs of tensors, of a leaf that is made of several."""
    if not hasattr(type(leaf), "_tf_components"):
        return [leaf]
    return [part for child in leaf._tf_components() for part in _components(child)]


def _composed(leaf, parts):
    if not hasattr(type(leaf), "_tf_components"):
        return next(parts)
    return leaf._tf_rebuild([_composed(child, parts) for child in leaf._tf_components()])


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    flat_sequence = list(flat_sequence)
    if expand_composites:
        wanted = len(flatten(structure, True))
        if wanted != len(flat_sequence):
            raise ValueError(
                f"Could not pack sequence. Structure had {wanted} atoms, but flat_sequence had "
                f"{len(flat_sequence)} items.  Structure: {structure}, flat_sequence: {flat_sequence}."
            )
        parts = iter(flat_sequence)
        flat_sequence = [_composed(leaf, parts) for leaf in flatten(structure)]
    leaves, treespec = optree.tree_flatten(structure, is_leaf=_leaf, none_is_leaf=True, namespace=_NAMESPACE)
    if not is_nested(structure):
        if len(flat_sequence) != 1:
            raise ValueError(
                f"The target structure is of type `{type(structure)}`\n  {structure}\nHowever the input is a "
                f"sequence of length {len(flat_sequence)}.\n  {flat_sequence}\nnest cannot guarantee that it is safe "
                "to map one to the other."
            )
        return flat_sequence[0]
    if len(leaves) != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {len(leaves)} atoms, but flat_sequence had "
            f"{len(flat_sequence)} items.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return treespec.unflatten(flat_sequence)


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
        assert_same_structure(structure[0], other, check_types=check_types)
    flat = [flatten(s, expand) for s in structure]
    return pack_sequence_as(structure[0], [func(*items) for items in zip(*flat)], expand)


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {nest1}\n\n"
            f"Second structure: {nest2}"
        )
    if not is_nested(nest1):
        return
    if check_types and type(nest1) is not type(nest2) and not _both_mappings(nest1, nest2):
        raise TypeError(
            f"The two structures don't have the same sequence type. First structure has type {type(nest1)}, "
            f"while second structure has type {type(nest2)}."
        )
    if isinstance(nest1, collections.abc.Mapping):
        if set(nest1) != set(nest2):
            raise ValueError(
                f"The two dictionaries don't have the same set of keys. First structure has keys {list(nest1)}, "
                f"while second structure has keys {list(nest2)}."
            )
        pairs = [(nest1[key], nest2[key]) for key in nest1]
    else:
        if len(nest1) != len(nest2):
            raise ValueError(
                "The two structures don't have the same number of elements. "
                f"First structure: {nest1}. Second structure: {nest2}."
            )
        pairs = zip(nest1, nest2)
    for a, b in pairs:
        assert_same_structure(a, b, check_types)


def _both_mappings(a, b):
    return isinstance(a, collections.abc.Mapping) and isinstance(b, collections.abc.Mapping)
