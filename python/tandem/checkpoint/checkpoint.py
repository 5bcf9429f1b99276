"""tf.train.Checkpoint."""

import os
import threading
import weakref

from tandem import _core
from tandem.checkpoint import object_graph
from tandem.checkpoint.options import CheckpointOptions
from tandem.checkpoint.restore import InitializationStatus, LoadStatus, Restore, open_checkpoint
from tandem.checkpoint.state import refuse_foreign, update_checkpoint_state
from tandem.framework import gfile
from tandem.framework.trackable import AutoTrackable, children_of
from tandem.framework.variable import Variable


class Checkpoint(AutoTrackable):
    """Objects that are saved and restored together, under the names they are given here."""

    def __init__(self, root=None, **kwargs):
        super().__init__()
        if isinstance(root, weakref.ref):  # Keras 2 gives its models so
            root = root()
        object.__setattr__(self, "_root", root)
        object.__setattr__(self, "_save_counter", None)
        object.__setattr__(self, "_writing", None)
        if root is not None and not object_graph.is_saveable(root):
            raise ValueError(f"Expected a Trackable argument, got {root} of type {type(root)}.")
        taken = children_of(root) if root is not None else {}
        for name, value in sorted(kwargs.items()):
            if not object_graph.is_saveable(value):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from "
                    f"`Trackable`), got {value}. Only objects such as variables, modules, models, optimizers, and lists and "
                    "dicts of them can be saved."
                )
            if name in taken and taken[name] is not value:
                raise ValueError(
                    f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists."
                )
            setattr(self, name, value)

    @property
    def _checkpointed_root(self):
        return self._root

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = dict(children_of(self._root)) if self._root is not None else {}
        children.update(super()._trackable_children(save_type, **kwargs))
        return children

    # ---- Saving

    @property
    def save_counter(self):
        """How often save() was called; stored in the checkpoint."""
        self._make_save_counter()
        return self._save_counter

    def _make_save_counter(self):
        if self._save_counter is None:
            counter = Variable(0, name="save_counter", dtype="int64", trainable=False)
            object.__setattr__(self, "_save_counter", counter)
            self._track_trackable(counter, "save_counter", overwrite=True)

    def write(self, file_prefix, options=None):
        """Writes a checkpoint of that name and returns it."""
        return self._write(gfile.local_path(file_prefix), options or CheckpointOptions(), lambda: None)

    def save(self, file_prefix, options=None):
        """Counts up, writes a checkpoint `prefix-number`, and notes it as the folder's newest."""
        self._make_save_counter()
        refuse_foreign(os.path.dirname(gfile.local_path(file_prefix)))
        self._save_counter.assign_add(1)
        prefix = f"{gfile.local_path(file_prefix)}-{int(self._save_counter.numpy())}"
        return self._write(
            prefix,
            options or CheckpointOptions(),
            lambda: update_checkpoint_state(os.path.dirname(prefix), prefix, [prefix]),
        )

    def _write(self, prefix, options, then):
        if not _core.executing_eagerly():
            raise RuntimeError(
                "Checkpoint.save() and write() cannot be used inside a tf.function. Call them between its calls."
            )
        self.sync()
        *_, names, values = object_graph.gather(self)

        def write():
            _core.save_checkpoint(prefix, names, values)
            then()
            for callback in options.experimental_write_callbacks or ():
                callback(prefix) if _takes_argument(callback) else callback()

        if options.enable_async:
            # Values are snapshots: the program may go on and change its variables.
            object.__setattr__(self, "_writing", _Writing(write))
        else:
            write()
        return prefix

    def sync(self):
        """Waits for a checkpoint that is being written; raises what went wrong with it."""
        writing = self._writing
        if writing is not None:
            object.__setattr__(self, "_writing", None)
            writing.wait()

    # ---- Restoring

    def read(self, save_path, options=None):
        """Restores from a checkpoint written by write(); see restore()."""
        self.sync()
        return LoadStatus(Restore(open_checkpoint(save_path), self))

    def restore(self, save_path, options=None):
        """Gives the objects the values of the checkpoint: those that exist now, others when they are made."""
        if save_path is None:
            self._make_save_counter()
            return InitializationStatus()
        status = self.read(save_path, options)
        self._make_save_counter()
        return status


class _Writing:
    """A thread that writes, and what it raised."""

    def __init__(self, write):
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(write,), name="checkpoint")
        self._thread.start()

    def _run(self, write):
        try:
            write()
        except BaseException as error:  # noqa: BLE001  (raised again by wait)
            self._error = error

    def wait(self):
        self._thread.join()
        if self._error is not None:
            raise self._error


def _takes_argument(callback):
    import inspect

    try:
        return bool(inspect.signature(callback).parameters)
    except (TypeError, ValueError):
        return True
