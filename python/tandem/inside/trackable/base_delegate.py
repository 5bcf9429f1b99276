"""tensorflow.python.trackable.base_delegate: an object that is tracked as another one is."""

import functools

from tandem.framework.trackable import Trackable, _kept


def _of_other(name):
    method = getattr(Trackable, name)

    @functools.wraps(method)
    def delegated(self, *args, **kwargs):
        return getattr(self._trackable, name)(*args, **kwargs)

    return delegated


class DelegatingTrackableMixin:
    """The children of the object are those of `trackable_obj`, and what they store is stored."""

    def __init__(self, trackable_obj):
        self._trackable = trackable_obj
        self.__dict__["(children)"] = _kept(trackable_obj)

    _track_trackable = _of_other("_track_trackable")
    _no_dependency = _of_other("_no_dependency")
    _add_variable_with_custom_getter = _of_other("_add_variable_with_custom_getter")
    _handle_deferred_dependencies = _of_other("_handle_deferred_dependencies")
    _trackable_children = _of_other("_trackable_children")
    _lookup_dependency = _of_other("_lookup_dependency")
    _maybe_initialize_trackable = _of_other("_maybe_initialize_trackable")
    _serialize_to_tensors = _of_other("_serialize_to_tensors")
    _restore_from_tensors = _of_other("_restore_from_tensors")
