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


class CheckpointInitialValueCallable:
    """What a variable's first value is where a checkpoint gives it. Tandem makes none: a variable that was waited for is
    restored when it is there."""

    def __init__(self, checkpoint_position):
        self._checkpoint_position = checkpoint_position

    checkpoint_position = property(lambda self: self._checkpoint_position)


class CheckpointInitialValue(CheckpointInitialValueCallable):
    """The value itself; see CheckpointInitialValueCallable."""
