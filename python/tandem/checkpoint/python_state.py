"""Objects of the user's own in checkpoints, and a view of what hangs on what."""

import abc

from tandem import _core
from tandem.framework.errors import DataLossError
from tandem.framework.trackable import Trackable, children_of


class PythonState(Trackable, metaclass=abc.ABCMeta):
    """A class with state that is not in variables: serialize() gives it as a string, deserialize() takes it back."""

    @abc.abstractmethod
    def serialize(self):
        """The state as a string or bytes."""

    @abc.abstractmethod
    def deserialize(self, string_value):
        """Takes over what serialize() gave."""

    def _serialize_to_tensors(self):
        value = self.serialize()
        return {"py_state": _core.convert_to_tensor(value.encode() if isinstance(value, str) else value)}

    def _restore_from_tensors(self, restored_tensors):
        value = restored_tensors["py_state"].numpy()
        if not isinstance(value, bytes):
            raise DataLossError(None, None, f"{value!r} is no state of {type(self).__name__}: the checkpoint is damaged.")
        try:
            self.deserialize(value.decode())
        except UnicodeDecodeError:
            self.deserialize(value)


class TrackableView:
    """What hangs on an object, by the names a checkpoint would use."""

    def __init__(self, root):
        self._root = root

    @classmethod
    def children(cls, obj, save_type="checkpoint", **kwargs):
        return children_of(obj, save_type)

    @property
    def root(self):
        return self._root

    def descendants(self):
        """Breadth first, each once; subclasses may say what children are."""
        found, known = [self._root], {id(self._root)}
        for obj in found:
            for child in self.children(obj).values():
                if id(child) not in known:
                    known.add(id(child))
                    found.append(child)
        return found
