"""tensorflow.python.checkpoint.graph_view: what hangs on an object, with the names on the way there."""

from tandem.checkpoint.python_state import TrackableView
from tandem.checkpoint.view import ByIdentity
from tandem.inside.trackable.base import TrackableReference


class ObjectGraphView(TrackableView):
    """A view with the paths to the objects."""

    def __init__(self, root, attached_dependencies=None):
        super().__init__(root() if callable(root) and not hasattr(root, "_trackable_children") else root)
        self._attached = attached_dependencies

    @property
    def attached_dependencies(self):
        return self._attached

    def list_children(self, obj, save_type="checkpoint", **kwargs):
        """References (name, object) of the children."""
        children = [TrackableReference(name, ref) for name, ref in self.children(obj, save_type, **kwargs).items()]
        return children + list(self._attached or ()) if obj is self.root else children

    def breadth_first_traversal(self):
        """(the objects in the order in which they are met, {object: the references on the way to it})."""
        paths = ByIdentity()
        paths._set(self.root, ())
        found = [self.root]
        for obj in found:
            for reference in self.list_children(obj):
                if reference.ref not in paths:
                    paths._set(reference.ref, (*paths[obj], reference))
                    found.append(reference.ref)
        return found, paths
