"""Matching the objects of a program with those of a checkpoint, now and as they come into being."""

import contextlib
import os

from tandem import _core
from tandem.checkpoint import object_graph
from tandem.framework import errors, gfile
from tandem.framework.log import log as _log
from tandem.framework.trackable import Trackable, children_of, wait_for_child


class Restore:
    """One call of restore(): knows which stored node became which object. Values are read when they are wanted."""

    def __init__(self, reader, root):
        self.reader = reader
        self.partial_is_fine = False
        self.nodes = object_graph.read_nodes(reader)
        self.root = root
        self.object_of = {}  # number of a node → object
        self.node_of = {}  # id of an object → number
        self._inside = set()  # ids of what bind() is looking into: a list may hold itself
        self.bind(root, 0)

    def bind(self, obj, number):
        """Restores the object from the node, and its children from the node's."""
        known = self.node_of.get(id(obj))
        if known is not None and known != number:
            if self.nodes[number].values:
                _log.warning(
                    "Inconsistent references when loading the checkpoint into this object graph. For example, in the "
                    "saved checkpoint object, two objects are where the program has one: %r.", obj
                )  # fmt: skip
            return
        first = known is None
        if first:
            self.node_of[id(obj)] = number
            if obj is self.root:  # what a Checkpoint further down stands for has a node of its own, as in walk()
                self.node_of[id(object_graph.stored_object(obj))] = number
            self.object_of.setdefault(number, obj)
            self._assign(obj, self.nodes[number])
        # An object that was met before may have got children since.
        if id(obj) in self._inside:
            return
        self._inside.add(id(obj))
        try:
            self._bind_children(obj, number, first)
        finally:
            self._inside.discard(id(obj))

    def _bind_children(self, obj, number, first):
        present = children_of(obj)
        for name, child in self.nodes[number].children.items():
            if name in present:
                if first or id(present[name]) not in self.node_of or not isinstance(present[name], Trackable):
                    self.bind(present[name], child)
            elif first:
                wait_for_child(obj, name, lambda came, child=child: self.bind(came, child))

    def _assign(self, obj, node):
        obj = object_graph.stored_object(obj)
        if not node.values or not isinstance(obj, Trackable):
            return
        values = {attribute: self.reader.read(key) for attribute, key in node.values.items()}
        if _is_to_come(obj):
            # Keras lays a model out before it makes the variables: this one begins with what was stored.
            if "VARIABLE_VALUE" not in values:
                self._incomplete("VARIABLE_VALUE", obj)
            obj._initializer = lambda shape, dtype=None: values["VARIABLE_VALUE"]
            return
        try:
            with _core.init_scope(), self._complete(values, obj):
                obj._restore_from_tensors(values)
        except errors.InvalidArgumentError as error:
            keys = ", ".join(node.values.values())
            raise errors.InvalidArgumentError(None, None, f"{error} ({keys} in {self.reader.prefix})") from None
        except NotImplementedError:
            self.object_of.pop(node.number, None)  # it takes no values: those of the node are nobody's

    @contextlib.contextmanager
    def _complete(self, values, obj):
        """An object asks for what its class stores; a checkpoint may hold less."""
        try:
            yield
        except KeyError as error:
            if error.args and error.args[0] not in values and error.args[0] in object_graph.values_of(obj):
                self._incomplete(error.args[0], obj)
            raise

    def _incomplete(self, attribute, obj):
        raise errors.DataLossError(
            None, None, f"{self.reader.prefix}: nothing is stored as '{attribute}' of {type(obj).__name__}. The graph of "
            "objects is damaged; use an earlier checkpoint."
        ) from None  # fmt: skip

    def catch_up(self):
        """Restores what came into collections since; nothing says when that happens."""
        for number, obj in list(self.object_of.items()):
            present = children_of(obj)
            for name, child in self.nodes[number].children.items():
                if name in present and id(present[name]) not in self.node_of:
                    self.bind(present[name], child)

    def unused(self):
        """Keys of the checkpoint that no object has taken."""
        return [
            key
            for node in self.nodes
            if node.number not in self.object_of
            for key in node.values.values()
            if not key.startswith("save_counter/")
        ]

    def unmatched(self):
        """Objects of the program that the checkpoint knows nothing of."""
        return [
            node.object
            for node in object_graph.walk(self.root)
            if id(node.object) not in self.node_of
            and node.path != ("save_counter",)
            and object_graph.values_of(node.object)
        ]

    def __del__(self):
        if not hasattr(self, "object_of") or self.partial_is_fine:
            return
        for key in self.unused()[:10]:
            _log.warning(
                "Value in checkpoint could not be found in the restored object: %s. Call expect_partial() on what "
                "restore() returned if that is meant.", key
            )  # fmt: skip


def _is_to_come(obj):
    """Whether it is a variable of Keras's that has an initializer and no value yet."""
    return getattr(obj, "_initializer", None) is not None and getattr(obj, "_value", obj) is None


class LoadStatus:
    """What restore() returns: checks of how program and checkpoint fit."""

    def __init__(self, restore):
        self._restore = restore

    def assert_consumed(self):
        """Everything in the checkpoint and every object of the program has found its counterpart."""
        self._restore.catch_up()
        unused = self._restore.unused()
        self._restore.partial_is_fine = True
        if unused:
            raise AssertionError(
                f"Some objects had attributes which were not restored: {len(unused)} values of the checkpoint "
                f"{self._restore.reader.prefix} belong to nothing in the program, such as {unused[:10]}."
            )
        return self._assert_matched()

    def assert_existing_objects_matched(self):
        """Every object of the program is in the checkpoint."""
        self._restore.catch_up()
        return self._assert_matched()

    def assert_nontrivial_match(self):
        """The checkpoint and the program have at least one value in common."""
        self._restore.catch_up()
        root = object_graph.stored_object(self._restore.root)
        if not children_of(root) and not object_graph.values_of(root):
            raise AssertionError(f"Nothing to load. No dependencies have been added to {root} yet.")
        counter = self._restore.nodes[0].children.get("save_counter")
        if not any(
            node.values and node.number != counter and node.number in self._restore.object_of
            for node in self._restore.nodes
        ):
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means that the "
                f"checkpoint does not match the Python program: {self._restore.reader.prefix}"
            )
        return self

    def _assert_matched(self):
        unmatched = self._restore.unmatched()
        if unmatched:
            shown = unmatched[:10]
            raise AssertionError(
                f"Found {len(unmatched)} Python objects that were not bound to checkpointed values, likely due to "
                f"changes in the Python program. Showing {len(shown)} of {len(unmatched)} unmatched objects: {shown}"
            )
        return self

    def expect_partial(self):
        """No warning about values of the checkpoint that nobody takes."""
        self._restore.partial_is_fine = True
        return self

    def initialize_or_restore(self, session=None):
        """Restores what came since; variables have their initial values already."""
        self._restore.catch_up()

    def run_restore_ops(self, session=None):
        self._restore.catch_up()


class InitializationStatus:
    """What restore(None) returns: there is no checkpoint, variables keep their initial values."""

    def assert_consumed(self):
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self):
        return self

    def initialize_or_restore(self, session=None):
        pass

    def run_restore_ops(self, session=None):
        raise AssertionError("No checkpoint specified, so no restore ops are available (save_path=None).")


def open_checkpoint(path):
    """A reader of a checkpoint, or of the variables of a saved model; errors name the path."""
    from tandem.checkpoint.reader import CheckpointReader

    path = gfile.local_path(path)
    try:
        return CheckpointReader(_prefix(path))
    except errors.NotFoundError as error:
        raise errors.NotFoundError(
            None, None, f"Error when restoring from checkpoint or SavedModel at {path}: {error}"
        ) from None


def _prefix(path):
    """The checkpoint of a saved model is inside its folder."""
    from tandem.saving import loader

    data = loader.data_of(path, loader.read_model(path)) if loader.contains_saved_model(path) else ""
    inner = os.path.join(path, data, "variables", "variables")
    return inner if os.path.exists(inner + ".index") else path
