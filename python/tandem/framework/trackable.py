"""Objects whose variables and children can be found by name. Plain classes: Keras derives from them.

A child is found under the name of the attribute that holds it. Lists, tuples and dicts are left as they are and
looked into when somebody asks for children, so that what is appended later is found too.
"""

import collections.abc

_KEPT = "_self_tracked"


class _Kept:
    """What an object knows of its children. No collection: Keras looks for layers in those of a layer."""

    __slots__ = ("children", "containers", "waiting")

    def __init__(self):
        self.children = {}  # name → object
        self.containers = {}  # names of attributes that hold collections; a dict for its order
        self.waiting = {}  # name → functions to call when the child is there


def _kept(owner):
    kept = owner.__dict__.get(_KEPT)
    if kept is None:
        kept = owner.__dict__[_KEPT] = _Kept()
    return kept


class Trackable:
    """Knows its children by name."""

    def _track_trackable(self, trackable, name, overwrite=False):
        children = _kept(self).children
        if not overwrite and children.get(name, trackable) is not trackable:
            raise ValueError(f"Called Trackable._track_trackable() with name='{name}', but it is already declared.")
        children[name] = trackable
        child_came(self, name, trackable)
        return trackable

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return dict(_kept(self).children)

    def _lookup_dependency(self, name, cached_dependencies=None):
        return self._trackable_children().get(name)

    def _maybe_initialize_trackable(self):
        pass

    def _serialize_to_tensors(self):
        """What the object itself stores in a checkpoint: tensors by name."""
        raise NotImplementedError

    def _restore_from_tensors(self, restored_tensors):
        raise NotImplementedError


class AutoTrackable(Trackable):
    """A Trackable whose attributes are its children."""

    def __setattr__(self, name, value):
        if getattr(self, "_self_setattr_tracking", True) and name not in _OWN:
            track_attribute(self, name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        _kept(self).children.pop(name, None)
        _kept(self).containers.pop(name, None)
        super().__delattr__(name)

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        for name in _kept(self).containers:
            value = self.__dict__.get(name)
            if is_container(value) and holds_trackable(value):
                children[name] = value
        return children


# Keras's `_layers` lists layers that other attributes hold, and their places change when an input layer is put first.
_OWN = frozenset((_KEPT, "_self_setattr_tracking", "_layers"))


def track_attribute(owner, name, value):
    """Makes the value a child of owner, or forgets the child that was there."""
    kept = _kept(owner)
    if isinstance(value, Trackable):
        kept.containers.pop(name, None)
        owner._track_trackable(value, name, overwrite=True)
    elif is_container(value):
        kept.children.pop(name, None)
        kept.containers[name] = None
        child_came(owner, name, value)
    else:
        kept.children.pop(name, None)
        kept.containers.pop(name, None)


# ---- Collections ---------------------------------------------------------------------------------------------


def is_container(value):
    return isinstance(value, (list, tuple, collections.abc.Mapping))


def holds_trackable(value, depth=0):
    if isinstance(value, Trackable):
        return True
    if not is_container(value) or depth > 16:
        return False
    items = value.values() if isinstance(value, collections.abc.Mapping) else value
    return any(holds_trackable(item, depth + 1) for item in items)


def children_of(value, save_type="checkpoint"):
    """Children of an object or of a collection by name, without those that hold nothing."""
    if isinstance(value, Trackable):
        found = value._trackable_children(save_type)
    elif isinstance(value, collections.abc.Mapping):
        found = {str(key): item for key, item in value.items()}
    elif is_container(value):
        names = getattr(value, "_fields", None) or map(str, range(len(value)))
        found = dict(zip(names, value))
    else:
        return {}
    return {name: child for name, child in found.items() if holds_trackable(child)}


# ---- Restoring what does not exist yet --------------------------------------------------------------------------


def wait_for_child(owner, name, restore):
    """Calls restore(child) when owner gets a child of that name. Collections cannot wait."""
    if isinstance(owner, Trackable):
        _kept(owner).waiting.setdefault(name, []).append(restore)


def child_came(owner, name, child):
    for restore in _kept(owner).waiting.pop(name, ()):
        restore(child)


def no_automatic_dependency_tracking(method):
    """Attributes that the method sets are not children."""

    def wrapper(self, *args, **kwargs):
        previous = getattr(self, "_self_setattr_tracking", True)
        object.__setattr__(self, "_self_setattr_tracking", False)
        try:
            return method(self, *args, **kwargs)
        finally:
            object.__setattr__(self, "_self_setattr_tracking", previous)

    wrapper.__name__ = method.__name__
    wrapper.__doc__ = method.__doc__
    wrapper.__wrapped__ = method
    return wrapper


class ListWrapper(list):
    """What TensorFlow puts in place of a list attribute. Tandem leaves lists alone: nothing is one."""


class DictWrapper(dict):
    """What TensorFlow puts in place of a dict attribute. Tandem leaves dicts alone: nothing is one."""
