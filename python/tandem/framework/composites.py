"""Walking through arguments and results of functions.

Lists, tuples, named tuples and dicts are opened, and so is every object whose class says what it is made of:
`_tf_components()` returns its parts and `_tf_rebuild(parts)` an object like it with other parts. The order is that of
the containers themselves, the same as in the native walk of a call.
"""

import collections


def is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def opened(value):
    """(children, function that makes a value like it from other children), or None for a leaf."""
    if isinstance(value, (list, tuple)):
        kind = type(value)
        if is_namedtuple(value):
            return list(value), lambda parts: kind(*parts)
        return list(value), kind
    if isinstance(value, dict):
        return list(value.values()), lambda parts: _like_dict(value, parts)
    if hasattr(type(value), "_tf_components"):
        return list(value._tf_components()), value._tf_rebuild
    return None


def _like_dict(value, parts):
    pairs = zip(value, parts)
    if isinstance(value, collections.defaultdict):
        return type(value)(value.default_factory, pairs)
    return type(value)(pairs)


def rebuild(value, change, path=""):
    """The same structure with `change(leaf, path)` in place of each leaf."""
    parts = opened(value)
    if parts is None:
        return change(value, path)
    children, make = parts
    keys = value if isinstance(value, dict) else range(len(children))
    inner = [rebuild(child, change, f"{path}_{key}" if path else str(key)) for key, child in zip(keys, children)]
    return make(inner)


def _order(key):
    return (type(key).__name__, key) if isinstance(key, (str, int)) else ("", str(key))


def sorted_dicts(value):
    """The same with the keys of plain dicts in order: the order of insertion means nothing to a function."""
    if type(value) is dict:
        return {key: sorted_dicts(value[key]) for key in sorted(value, key=_order)}
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
    return _Made(make, inner)


class _Made:
    """The form of an object that only Python can make."""

    def __init__(self, make, parts):
        self._make = make
        self._parts = parts

    def _pack_results(self, flat):
        return self._make([unpack(part, flat) for part in self._parts])


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
