"""tensorflow.python.trackable.base."""

import collections
import contextlib

from tandem.framework.trackable import Trackable, no_automatic_dependency_tracking  # noqa: F401

OBJECT_GRAPH_PROTO_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE_KEY = "VARIABLE_VALUE"
OBJECT_CONFIG_JSON_KEY = "OBJECT_CONFIG_JSON"

TrackableReference = collections.namedtuple("TrackableReference", ["name", "ref"])


class SaveType(str):
    SAVEDMODEL = "savedmodel"
    CHECKPOINT = "checkpoint"


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj):
    """Attributes that are set in the block are not children of the object."""
    before = getattr(obj, "_self_setattr_tracking", True)
    object.__setattr__(obj, "_self_setattr_tracking", False)
    try:
        yield
    finally:
        object.__setattr__(obj, "_self_setattr_tracking", before)


no_manual_dependency_tracking_scope = no_automatic_dependency_tracking_scope
