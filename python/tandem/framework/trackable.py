"""Objects whose variables and children can be found by name. Plain classes: Keras derives from them.

A child is found under the name of the attribute that holds it. Lists, tuples and dicts are left as they are and
looked into when somebody asks for children, so that what is appended later is found too.
"""

import collections.abc
import sys

# No attribute that a program sets by name: whatever it calls its own, nothing of it is lost.
_KEPT = "(children)"


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


class NoDependency:
    """A value that is no child of what it becomes an attribute of."""

    def __init__(self, value):
        self.value = value


class Trackable:
    """Knows its children by name."""

    def _track_trackable(self, trackable, name, overwrite=False):
        children = _kept(self).children
        if not overwrite and children.get(name, trackable) is not trackable:
            raise ValueError(f"Called Trackable._track_trackable() with name='{name}', but it is already declared.")
        children[name] = trackable
        child_came(self, name, trackable)
        return trackable

    def _add_variable_with_custom_getter(
        self, name, shape=None, dtype="float32", initializer=None, getter=None, overwrite=False, **kwargs
    ):
        """The variable that a getter makes (Keras 2's layers make theirs so): a child of this name."""
        variable = getter(name=name, shape=shape, dtype=dtype, initializer=initializer, **kwargs)
        return self._track_trackable(variable, name=name, overwrite=overwrite)

    def _no_dependency(self, value):
        """The value for an attribute that makes it no child."""
        return value

    def _handle_deferred_dependencies(self, name, trackable):
        """A child came that nobody set as an attribute: what a checkpoint holds for it is restored."""
        child_came(self, name, trackable)

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

    def _no_dependency(self, value):
        return NoDependency(value)

    def __setattr__(self, name, value):
        kept_out = type(value) is NoDependency
        super().__setattr__(name, value.value if kept_out else value)  # first: a property may refuse
        if kept_out:
            forget_attribute(self, name)
        elif _tracks(self):
            track_attribute(self, name, value)

    def __delattr__(self, name):
        _kept(self).children.pop(name, None)
        _kept(self).containers.pop(name, None)
        super().__delattr__(name)

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        for name in _kept(self).containers:
            value = self.__dict__.get(name)
            if name == "_layers" and _is_of_keras(type(self)):
                value = _held_here_alone(self, value)
            if is_container(value) and holds_trackable(value):
                children[name] = value
        return children


def _tracks(owner):
    """Whether attributes become children. A program may keep something of its own under TensorFlow's name for it."""
    switch = getattr(owner, "_self_setattr_tracking", True)
    return bool(switch) if switch is None or isinstance(switch, (bool, int)) else True


def _is_of_keras(cls):
    return any(base.__module__.partition(".")[0] == "keras" for base in cls.__mro__)


def _held_here_alone(owner, layers):
    """Keras's `_layers` lists layers that other attributes hold, and their places change when an input layer is put
    first. What counts is what a program put there itself."""
    lists_its_own = ("Sequential", "Functional")
    if not is_container(layers) or any(base.__name__ in lists_its_own for base in type(owner).__mro__):
        return None
    kept = _kept(owner)
    elsewhere = {id(child) for child in kept.children.values()}
    for name in kept.containers:
        if name != "_layers":
            elsewhere.update(id(item) for item in items_in(owner.__dict__.get(name)))
    items = layers.values() if isinstance(layers, collections.abc.Mapping) else layers
    if all(id(item) in elsewhere for item in items):
        return None
    if isinstance(layers, collections.abc.Mapping):
        return {key: item for key, item in layers.items() if id(item) not in elsewhere}
    return [item for item in layers if id(item) not in elsewhere]


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
        forget_attribute(owner, name)


def forget_attribute(owner, name):
    """What is under the name is no child."""
    kept = _kept(owner)
    kept.children.pop(name, None)
    kept.containers.pop(name, None)


# ---- Collections ---------------------------------------------------------------------------------------------


def is_container(value):
    return isinstance(value, (list, tuple, collections.abc.Mapping))


def holds_trackable(value):
    return any(isinstance(item, Trackable) for item in items_in(value))


def items_in(value):
    """The value, or what a collection holds, as deep as Python's own functions go; one that holds itself is looked into
    once."""
    waiting, seen = [iter((value,))], set()
    while waiting:
        for item in waiting[-1]:
            if not is_container(item) or isinstance(item, Trackable):
                yield item
            elif id(item) not in seen:
                if len(waiting) > sys.getrecursionlimit():
                    raise RecursionError(f"A collection is nested deeper than {sys.getrecursionlimit()} levels.")
                seen.add(id(item))
                waiting.append(iter(item.values() if isinstance(item, collections.abc.Mapping) else item))
                break
        else:
            waiting.pop()


def children_of(value, save_type="checkpoint", **kwargs):
    """Children of an object or of a collection by name, without those that hold nothing. `kwargs` is for objects that are
    saved with their functions: `cache`, a dict of the save."""
    if isinstance(value, Trackable):
        found = value._trackable_children(save_type, **kwargs)
    elif isinstance(value, collections.abc.Mapping):
        found = _by_name(value)
    elif is_container(value):
        names = getattr(value, "_fields", None) or map(str, range(len(value)))
        found = dict(zip(names, value))
    else:
        return {}
    return {name: child for name, child in found.items() if holds_trackable(child)}


def _by_name(mapping):
    found = {}
    for key, item in mapping.items():
        name = str(key)
        if name in found and holds_trackable(item) and holds_trackable(found[name]):
            raise ValueError(
                f"Two keys of a dict are called {name!r} in a checkpoint: {[k for k in mapping if str(k) == name]}. "
                "Use strings that differ as keys of dicts with variables."
            )
        if name not in found or not holds_trackable(found[name]):
            found[name] = item
    return found


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
