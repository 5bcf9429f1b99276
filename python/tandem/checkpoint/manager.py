"""tf.train.CheckpointManager."""

import collections
import os
import time

from tandem.checkpoint import state as states
from tandem.checkpoint.options import CheckpointOptions
from tandem.framework import gfile


class CheckpointManager:
    """Saves checkpoints into one folder and keeps only some of them."""

    def __init__(
        self, checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours=None, checkpoint_name="ckpt",
        step_counter=None, checkpoint_interval=None, init_fn=None, last_checkpoint_step=None,
    ):  # fmt: skip
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                "Expected a positive integer or `None` for `max_to_keep`, "
                f"got {max_to_keep}."
            )  # fmt: skip
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint = checkpoint
        self._directory = gfile.local_path(directory)
        self._max_to_keep = max_to_keep
        self._every_hours = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step = last_checkpoint_step
        self._latest = None
        self._kept = collections.OrderedDict()  # path → time; may be removed later
        self._last_preserved = time.time()
        found = states.get_checkpoint_state(self._directory)
        if found is None:
            return
        self._latest = found.model_checkpoint_path
        times = found.all_model_checkpoint_timestamps
        if len(times) != len(found.all_model_checkpoint_paths):
            times = [time.time()] * len(found.all_model_checkpoint_paths)
        if found.last_preserved_timestamp is not None:
            self._last_preserved = min(self._last_preserved, found.last_preserved_timestamp)
        self._kept.update(zip(found.all_model_checkpoint_paths, times))

    @property
    def directory(self):
        return self._directory

    @property
    def checkpoint(self):
        return self._checkpoint

    @property
    def checkpoint_interval(self):
        return self._interval

    @property
    def latest_checkpoint(self):
        """The newest checkpoint's prefix, or None."""
        return self._latest

    @property
    def checkpoints(self):
        """Prefixes of those that are kept, the oldest first."""
        return list(self._kept)

    def save(self, checkpoint_number=None, check_interval=True, options=None):
        """Saves and removes what is too old; None where `checkpoint_interval` says that it is too early."""
        step = None
        if self._step_counter is not None:
            step = int(self._step_counter)
        if self._interval is not None and check_interval and self._last_step is not None:
            if step - self._last_step < self._interval:
                return None
        states.refuse_foreign(self._directory)
        counter = self._checkpoint.save_counter
        counter.assign_add(1)
        path = f"{self._prefix}-{int(counter if checkpoint_number is None else checkpoint_number)}"
        self._checkpoint.sync()
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._last_step = step
        latest, all_paths = path, dict(self._kept)
        too_old = self._too_old()
        remaining = dict(self._kept)

        def then():
            # The file `checkpoint` never names what is gone.
            self._note(latest, all_paths)
            for old in too_old:
                # The list may come from anywhere: nothing is removed but in the folder of this manager.
                if _is_inside(old, self._directory):
                    states.remove_checkpoint(old)
            if too_old:
                self._note(latest, remaining)

        self._checkpoint._write(path, options or CheckpointOptions(), then)
        self._latest = path
        return path

    def _too_old(self):
        """Takes out of those that are kept what is to be removed."""
        found = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path, when = self._kept.popitem(last=False)
            if self._every_hours is not None and when - self._every_hours * 3600.0 >= self._last_preserved:
                self._last_preserved = when  # stays for ever
            else:
                found.append(path)
        return found

    def _note(self, latest, kept):
        states.update_checkpoint_state(
            self._directory, latest, list(kept),
            all_model_checkpoint_timestamps=list(kept.values()),
            last_preserved_timestamp=self._last_preserved,
        )  # fmt: skip

    def restore_or_initialize(self):
        """Restores the newest checkpoint and returns its prefix; without one calls `init_fn` and returns None."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._step_counter is not None:
                self._last_step = int(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self):
        """Waits for a checkpoint that is being written."""
        self._checkpoint.sync()


def _is_inside(path, folder):
    folder = os.path.realpath(folder)
    return os.path.commonpath([folder, os.path.realpath(path)]) == folder
