"""tensorflow.python.trackable.data_structures: lists, tuples and dicts that know the objects in them.

Keras 2 puts them in place of the plain collections that are set as attributes of its layers. Tandem's own modules leave
collections as they are and look into them when somebody asks for children (framework/trackable.py). What is set into one
of these is wrapped in turn.
"""

import collections
import functools

from tandem.framework.module import Module
from tandem.framework.trackable import NoDependency, Trackable, holds_trackable  # noqa: F401
from tandem.framework.variable import Variable


class TrackableDataStructure(Trackable):
    """What a collection says of the layers and variables in it."""

    def _items(self):
        return self

    @property
    def _values(self):
        """What is in it that is tracked itself, each once."""
        seen, found = set(), []
        for item in self._items():
            if isinstance(item, Trackable) and id(item) not in seen:
                seen.add(id(item))
                found.append(item)
        return found

    @property
    def trainable(self):
        return self.__dict__.get("_self_trainable", True)

    @trainable.setter
    def trainable(self, value):
        self.__dict__["_self_trainable"] = value
        for item in self._values:
            if hasattr(item, "trainable") and not isinstance(item, Variable):
                item.trainable = value

    @property
    def layers(self):
        found = []
        for item in self._values:
            if isinstance(item, TrackableDataStructure):
                found += item.layers
            elif _has_weights(item):
                found.append(item)
        return found

    _layers = layers

    def _gathered(self, attribute, own):
        parts = [item for item in self._values if isinstance(item, (TrackableDataStructure, Module)) or _has_weights(item)]
        found = [v for part in parts for v in getattr(part, attribute)]
        return found + [v for v in self._values if isinstance(v, Variable) and own(v)]

    @property
    def trainable_weights(self):
        return self._gathered("trainable_variables", lambda v: v.trainable) if self.trainable else []

    @property
    def non_trainable_weights(self):
        frozen = self._gathered("non_trainable_variables", lambda v: not v.trainable)
        return frozen if self.trainable else self._gathered("trainable_variables", lambda v: v.trainable) + frozen

    @property
    def weights(self):
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self):
        return self.trainable_weights

    @property
    def non_trainable_variables(self):
        return self.non_trainable_weights

    @property
    def variables(self):
        return self.weights

    @property
    def updates(self):
        return [update for layer in self.layers for update in getattr(layer, "updates", ())]

    @property
    def losses(self):
        return [loss for layer in self.layers for loss in getattr(layer, "losses", ())]

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {name: item for name, item in self._named() if holds_trackable(item)}

    def __hash__(self):
        return id(self)


def _has_weights(value):
    kind = type(value)
    return hasattr(kind, "trainable_weights") and hasattr(kind, "non_trainable_weights") and not isinstance(value, type)


def _wrapping(method):
    """A method of list or dict whose last argument is wrapped."""

    @functools.wraps(method)
    def wrapper(self, *args):
        return method(self, *args[:-1], wrap_or_unwrap(args[-1])) if args else method(self)

    return wrapper


class ListWrapper(TrackableDataStructure, list):
    """A list."""

    def __init__(self, wrapped_list=()):
        list.__init__(self, map(wrap_or_unwrap, wrapped_list))

    def _named(self):
        return zip(map(str, range(len(self))), self)

    append = _wrapping(list.append)
    insert = _wrapping(list.insert)

    def __setitem__(self, key, value):
        list.__setitem__(self, key, [wrap_or_unwrap(v) for v in value] if isinstance(key, slice) else wrap_or_unwrap(value))

    def extend(self, values):
        list.extend(self, [wrap_or_unwrap(v) for v in values])

    def __iadd__(self, values):
        self.extend(values)
        return self

    def __add__(self, other):
        return list(self) + list(other)

    def __radd__(self, other):
        return list(other) + list(self)

    def copy(self):
        return type(self)(self)

    __copy__ = copy

    def __deepcopy__(self, memo):
        import copy

        return memo.setdefault(id(self), type(self)([copy.deepcopy(item, memo) for item in self]))

    def __reduce__(self):
        return type(self), (list(self),)

    __hash__ = TrackableDataStructure.__hash__


class List(ListWrapper):
    """A list that is made of its items."""

    def __init__(self, *args, **kwargs):
        ListWrapper.__init__(self, *args, **kwargs)


class _DictItems(TrackableDataStructure):
    def _items(self):
        return self.values()

    def _named(self):
        return ((key, item) for key, item in self.items() if isinstance(key, str))

    __setitem__ = _wrapping(dict.__setitem__)

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def copy(self):
        return type(self)(self)

    __copy__ = copy

    def __deepcopy__(self, memo):
        import copy

        return memo.setdefault(id(self), type(self)({key: copy.deepcopy(item, memo) for key, item in self.items()}))

    __hash__ = TrackableDataStructure.__hash__


class DictWrapper(_DictItems, dict):
    """A dict."""

    def __init__(self, wrapped_dict=(), **kwargs):
        dict.__init__(self)
        self.update(wrapped_dict, **kwargs)

    def __reduce__(self):
        return type(self), (dict(self),)


class Mapping(DictWrapper):
    """A dict whose keys are strings and keep their values."""

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        if key in self and self[key] is not value:
            raise ValueError(f"Mappings are an append-only data structure: the key {key!r} has a value already.")
        DictWrapper.__setitem__(self, key, value)


class OrderedDictWrapper(_DictItems, collections.OrderedDict):
    """An OrderedDict."""

    def __init__(self, wrapped_dict=(), **kwargs):
        collections.OrderedDict.__init__(self)
        self.update(wrapped_dict, **kwargs)

    __setitem__ = _wrapping(collections.OrderedDict.__setitem__)

    def __reduce__(self):
        return type(self), (collections.OrderedDict(self),)


class TupleItems(TrackableDataStructure):
    """A tuple, or named tuple, that holds something tracked."""

    def _named(self):
        return zip(getattr(self, "_fields", None) or map(str, range(len(self))), self)

    def __deepcopy__(self, memo):
        import copy

        return _wrapped_tuple([copy.deepcopy(item, memo) for item in self], type(self).__bases__[1])

    def __reduce__(self):
        return _wrapped_tuple, (list(self), type(self).__bases__[1])

    __hash__ = TrackableDataStructure.__hash__


@functools.cache
def _tuple_class(kind):
    return type(kind.__name__, (TupleItems, kind), {"__module__": kind.__module__})


def _wrapped_tuple(items, kind):
    return tuple.__new__(_tuple_class(kind), items)


_DictWrapper = DictWrapper


def wrap_or_unwrap(value):
    """The value as something tracked where it is a collection; what a NoDependency holds."""
    if isinstance(value, NoDependency):
        return value.value
    if isinstance(value, Trackable):
        return value
    if type(value) is list:
        return ListWrapper(value)
    if type(value) is dict:
        return DictWrapper(value)
    if type(value) is collections.OrderedDict:
        return OrderedDictWrapper(value)
    if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")):
        items = [wrap_or_unwrap(item) for item in value]
        if any(isinstance(item, Trackable) for item in items):
            return _wrapped_tuple(items, type(value))
    return value


def sticky_attribute_assignment(trackable, name, value):
    """What becomes the attribute: the wrapped value, a child of that name."""
    wrapped = wrap_or_unwrap(value)
    if not isinstance(value, NoDependency) and isinstance(wrapped, Trackable):
        trackable._track_trackable(wrapped, name=name, overwrite=True)
    return wrapped
