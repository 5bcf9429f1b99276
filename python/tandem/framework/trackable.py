"""Objects whose variables and children can be found by name. Plain classes: Keras derives from them."""


class Trackable:
    """Knows its children by name."""

    def _track_trackable(self, trackable, name, overwrite=False):
        children = self.__dict__.setdefault("_self_unconditional_dependencies", {})
        if not overwrite and children.get(name, trackable) is not trackable:
            raise ValueError(f"Called Trackable._track_trackable() with name='{name}', but it is already declared.")
        children[name] = trackable
        return trackable

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return dict(self.__dict__.get("_self_unconditional_dependencies", {}))

    def _lookup_dependency(self, name, cached_dependencies=None):
        return self._trackable_children().get(name)

    def _maybe_initialize_trackable(self):
        pass


class AutoTrackable(Trackable):
    """A Trackable whose attributes are its children."""

    def __setattr__(self, name, value):
        if getattr(self, "_self_setattr_tracking", True) and isinstance(value, Trackable):
            self._track_trackable(value, name, overwrite=True)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self.__dict__.get("_self_unconditional_dependencies", {}).pop(name, None)
        super().__delattr__(name)


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
