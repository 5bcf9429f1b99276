"""Walking through arguments and results of functions.

Lists, tuples, named tuples, mappings, attrs classes and classes with `__tf_flatten__` are opened, and so is every object
whose class says what it is made of: `_tf_components()` returns its parts, `_tf_rebuild(parts)` an object like it with
other parts, and `_tf_counted_by_data` has the numbers of the parts whose first size is data. Mappings give their
values in the order of their sorted keys (framework/nest.py), so that two with the same keys match whatever order they
have. Only the native walk of a call takes them as they are (`in_given_order`).
"""

import collections.abc

from tandem.framework import nest


def is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


class InGivenOrder(dict):
    """A dict whose order counts: of saved models that were written when the order of insertion did."""


def opened(value):
    """(children, function that makes a value like it from other children), or None for a leaf."""
    if isinstance(value, (list, tuple)):
        return nest.children(value)
    if isinstance(value, collections.abc.Mapping):
        keys = keys_of(value)
        return [value[key] for key in keys], lambda parts: nest.like_mapping(value, dict(zip(keys, parts)))
    if hasattr(type(value), "_tf_components"):
        return list(value._tf_components()), value._tf_rebuild
    if hasattr(type(value), "__attrs_attrs__") or hasattr(type(value), "__tf_flatten__"):
        return nest.children(value)
    return None


def keys_of(mapping):
    """The keys in the order in which a mapping is opened."""
    if isinstance(mapping, InGivenOrder):
        return list(mapping)
    try:
        return sorted(mapping)
    except TypeError:
        return sorted(mapping, key=_order)


def _order(key):
    return (type(key).__name__, key) if isinstance(key, (str, int)) else (type(key).__name__, repr(key))


def same_keys(a, b):
    """Whether two opened values that are mappings have the same keys; true for other values."""
    if isinstance(a, collections.abc.Mapping) or isinstance(b, collections.abc.Mapping):
        both = isinstance(a, collections.abc.Mapping) and isinstance(b, collections.abc.Mapping)
        return both and set(a) == set(b)
    return True


def in_given_order(value, change):
    """The same structure with `change(leaf)` in place of each leaf, mappings in their own order: that of the native
    walk of a call (src/python/call_key.cc)."""
    if isinstance(value, collections.abc.Mapping):
        return nest.like_mapping(value, {key: in_given_order(part, change) for key, part in value.items()})
    parts = opened(value)
    return change(value) if parts is None else parts[1]([in_given_order(part, change) for part in parts[0]])


def rebuild(value, change, path=""):
    """The same structure with `change(leaf, path)` in place of each leaf."""
    parts = opened(value)
    if parts is None:
        return change(value, path)
    children, make = parts
    keys = keys_of(value) if isinstance(value, collections.abc.Mapping) else range(len(children))
    inner = [rebuild(child, change, f"{path}_{key}" if path else str(key)) for key, child in zip(keys, children)]
    return make(inner)


def sorted_dicts(value):
    """The same with the keys of plain dicts in order: the order of insertion means nothing to a function."""
    if type(value) is dict:
        return {key: sorted_dicts(value[key]) for key in keys_of(value)}
    parts = opened(value)
    return value if parts is None else parts[1]([sorted_dicts(part) for part in parts[0]])


def leaves(value):
    """The leaves, in order."""
    found = []
    rebuild(value, lambda leaf, path: found.append(leaf) or leaf)
    return found


def number(value, flat):
    """The form of results that the native side puts together: numbers into `flat` in place of tensors."""
    if value is None:
        return None
    parts = opened(value)
    if parts is None:
        flat.append(value)
        return len(flat) - 1
    children, make = parts
    inner = [number(child, flat) for child in children]
    if type(value) in (list, tuple, dict):
        return make(inner)
    return _Made(make, inner, value)


class _Made:
    """The form of an object that only Python can make."""

    def __init__(self, make, parts, like):
        self._make = make
        self._parts = parts
        self._keys = keys_of(like) if isinstance(like, collections.abc.Mapping) else None
        self._kind = kind_of(like)

    def _pack_results(self, flat):
        return self._make([unpack(part, flat) for part in self._parts])


def kind_of(value):
    """What an opened object is besides its parts, equal for those of which one can stand for the other: its class and
    its metadata. Named tuples made twice are one class to TensorFlow."""
    from tandem.framework.function_type import skeleton
    from tandem.framework.spec import TypeSpec

    if is_namedtuple(value):
        return type(value).__name__, value._fields
    kind = value.value_type if isinstance(value, TypeSpec) else type(value)
    if hasattr(kind, "__tf_flatten__"):
        return kind, skeleton(value.__tf_flatten__()[0], None)
    static = value._tf_key() if hasattr(type(value), "_tf_key") else None
    # A number is the size of ragged rows, which may differ as shapes do.
    return kind, None if static is None or isinstance(static, int) else skeleton(static, None)


def unpack(form, flat):
    """Puts results together, as the native side does."""
    if form is None:
        return None
    if type(form) is int:
        return flat[form]
    if type(form) in (list, tuple):
        return type(form)(unpack(part, flat) for part in form)
    if type(form) is dict:
        return {key: unpack(part, flat) for key, part in form.items()}
    return form._pack_results(flat)


def shape_of_form(form):
    """Equal for forms of which one can stand for the other: kinds of mappings are one."""
    if isinstance(form, (list, tuple)):
        return type(form), tuple(map(shape_of_form, form))
    if isinstance(form, dict):
        return dict, tuple((key, shape_of_form(form[key])) for key in keys_of(form))
    if isinstance(form, _Made):
        parts = tuple(map(shape_of_form, form._parts))
        return (dict, tuple(zip(form._keys, parts))) if form._keys is not None else ("made", form._kind, parts)
    return form is None
