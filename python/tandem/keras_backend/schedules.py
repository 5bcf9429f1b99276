"""When a callback wants its hooks of batches called.

A user's hook is called for every execution. Keras's own callbacks are known here and called when they have
something to do; what they count is kept as if they had been called each time.

A schedule answers `executions(step)`: the hooks are due for the nth execution from the one that begins at
`step` (1: for that one; None: not before the end), and is told `begin` and `end` of executions with hooks and
`skip` for those without.
"""

import math
import time

from keras.src import callbacks as keras_callbacks
from keras.src import utils
from keras.src.callbacks.callback_list import CallbackList

# The bar is drawn at most this often.
BAR_SECONDS = 0.1


def _overridden(callback, names):
    return any(not utils.is_default(getattr(callback, name)) for name in names)


def _is_from(callback, known, names):
    """Whether these methods of a callback are the ones that the class `known` has."""
    return isinstance(callback, known) and all(
        getattr(type(callback), name, None) is getattr(known, name) and name not in vars(callback) for name in names
    )


class Schedule:
    """A callback that wants nothing before the end."""

    def executions(self, step):
        return None

    def begin(self, step):
        pass

    def end(self, step, logs):
        pass

    def skip(self, executions, step):
        pass


class Every(Schedule):
    """A hook of a user: called for each execution."""

    def __init__(self, callback, mode):
        begin, end = f"on_{mode}_batch_begin", f"on_{mode}_batch_end"
        # Only training has the names without a mode.
        more = ("on_batch_begin", "on_batch_end") if mode == "train" else (None, None)
        whole = isinstance(callback, CallbackList)
        names_begin = [begin] + ([more[0]] if more[0] else [])
        names_end = [end] + ([more[1]] if more[1] else [])
        self._begin = getattr(callback, begin) if whole or _overridden(callback, names_begin) else None
        self._end = getattr(callback, end) if whole or _overridden(callback, names_end) else None

    def executions(self, step):
        return 1

    def begin(self, step):
        if self._begin is not None:
            self._begin(step, {})

    def end(self, step, logs):
        if self._end is not None:
            self._end(step, logs())


class Bar(Schedule):
    """The progress bar: after the first step, which its estimate leaves out, then by time."""

    def __init__(self, callback, mode):
        self._callback = callback
        self._end = getattr(callback, f"on_{mode}_batch_end")
        self._logs = mode != "predict"
        self._drawn = 0.0
        self._first = True

    def executions(self, step):
        return 1 if self._first else None

    def seconds(self):
        return max(0.0, self._drawn + BAR_SECONDS - time.monotonic())

    def end(self, step, logs):
        if not self._first and self.seconds() > 0:
            self._callback.seen = step + 1
            return
        self._first = False
        self._end(step, logs() if self._logs else {})
        self._drawn = time.monotonic()

    def skip(self, executions, step):
        # A bar without a target takes it from what was seen.
        self._callback.seen = step + 1


class Saver(Schedule):
    """ModelCheckpoint and BackupAndRestore: when as many batches as `save_freq` says have passed."""

    def __init__(self, callback, steps):
        self._callback = callback
        self._steps = steps

    def executions(self, step):
        if self._steps != 1:
            return 1
        return max(1, self._callback.save_freq - self._callback._batches_seen_since_last_saving)

    def end(self, step, logs):
        self._callback.on_train_batch_end(step, logs())

    def skip(self, executions, step):
        self._callback._batches_seen_since_last_saving += executions
        self._callback._last_batch_seen = step


class Board(Schedule):
    """TensorBoard: when it writes batch summaries, the graph, or a trace."""

    def __init__(self, callback, mode):
        self._callback = callback
        self._train = mode == "train"
        self._counter = "_global_train_batch" if self._train else "_global_test_batch"
        self._begin = getattr(callback, f"on_{mode}_batch_begin")
        self._end = getattr(callback, f"on_{mode}_batch_end")

    def executions(self, step):
        callback = self._callback
        counted = getattr(callback, self._counter)
        due = []
        if callback.update_freq != "epoch":
            # The execution whose number the frequency divides.
            due.append(callback.update_freq - counted % callback.update_freq)
        if self._train:
            if callback.write_steps_per_second or callback._should_write_train_graph or callback._is_tracing:
                return 1
            if callback._should_trace and counted < callback._start_batch:
                due.append(callback._start_batch - counted)
        return min(due, default=None)

    def begin(self, step):
        if self.executions(step) == 1:
            self._begin(step, {})
            self._called = True
        else:
            setattr(self._callback, self._counter, getattr(self._callback, self._counter) + 1)
            self._called = False

    def end(self, step, logs):
        if self._called:
            self._end(step, logs())

    def skip(self, executions, step):
        setattr(self._callback, self._counter, getattr(self._callback, self._counter) + executions)


class NotFinite(Schedule):
    """TerminateOnNaN: the loop itself looks at the loss."""

    def __init__(self, callback):
        self._callback = callback

    def end(self, step, logs):
        logs = logs()
        loss = logs.get("loss")
        if loss is None or not math.isfinite(loss):
            self._callback.on_train_batch_end(step, logs)


class Quiet(Schedule):
    """A bar that draws nothing before the end."""

    def __init__(self, callback):
        self._callback = callback

    def end(self, step, logs):
        self._callback.seen = step + 1

    def skip(self, executions, step):
        self._callback.seen = step + 1


def schedule_of(callback, mode, steps):
    """How a callback wants its hooks of batches called; None: it has none."""
    names = [f"on_{mode}_batch_begin", f"on_{mode}_batch_end"]
    if mode == "train":
        names += ["on_batch_begin", "on_batch_end"]
    if not _overridden(callback, names):
        return None
    if _is_from(callback, keras_callbacks.ProgbarLogger, [*names, "_update_progbar"]):
        silent = callback.verbose != 1 or (mode == "test" and callback._called_in_fit)
        return Quiet(callback) if silent else Bar(callback, mode)
    for saver in (keras_callbacks.ModelCheckpoint, keras_callbacks.BackupAndRestore):
        if _is_from(callback, saver, [*names, "_should_save_on_batch"]):
            return None if callback.save_freq == "epoch" else Saver(callback, steps)
    if _is_from(callback, keras_callbacks.TensorBoard, names):
        return Board(callback, mode)
    if _is_from(callback, keras_callbacks.TerminateOnNaN, names):
        return NotFinite(callback)
    return Every(callback, mode)
