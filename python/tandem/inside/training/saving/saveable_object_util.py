"""tensorflow.python.training.saving.saveable_object_util: what an object stores of itself, as older code reads it."""

import collections

SaveSpec = collections.namedtuple("SaveSpec", ["tensor", "slice_spec", "name", "dtype", "device"])


class TrackableSaveable:
    """The tensors of one object, and how it takes them back."""

    def __init__(self, obj, name):
        self.obj, self.name = obj, name
        tensors = dict(obj._serialize_to_tensors())
        self._names = list(tensors)
        self.specs = [
            SaveSpec(getattr(t, "read_value", lambda t=t: t)(), "", f"{name}-{part}", t.dtype, "")
            for part, t in tensors.items()
        ]

    def restore(self, restored_tensors, restored_shapes=None):
        from tandem import _core

        tensors = [_core.convert_to_tensor(t, spec.dtype) for t, spec in zip(restored_tensors, self.specs)]
        return self.obj._restore_from_tensors(dict(zip(self._names, tensors)))


def saveable_objects_from_trackable(obj, tf1_saver=False):
    """{name: function that makes the saveable}; empty where the object stores nothing itself."""
    try:
        if not obj._serialize_to_tensors():
            return {}
    except NotImplementedError:
        return {}
    return {"": lambda name="", **kwargs: TrackableSaveable(obj, name)}
