"""Hooks of monitored sessions: what happens before, between and after runs."""

import collections
import time

import numpy as np

from tandem._namespaces import get
from tandem.graph_mode import steps
from tandem.inside.platform import tf_logging as logging

SessionRunArgs = collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])
SessionRunArgs.__new__.__defaults__ = (None, None)
SessionRunValues = collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])


class SessionRunContext:
    """What a hook is told about a run."""

    def __init__(self, original_args, session):
        self._args, self._session, self._stop = original_args, session, False

    original_args = property(lambda self: self._args)
    session = property(lambda self: self._session)
    stop_requested = property(lambda self: self._stop)

    def request_stop(self):
        self._stop = True


class SessionRunHook:
    def begin(self):
        """Once, before the session is made: the graph may still grow."""

    def after_create_session(self, session, coord):
        """The session is there; the graph is finished."""

    def before_run(self, run_context):
        """What else to fetch: SessionRunArgs or None."""

    def after_run(self, run_context, run_values):
        """With what was fetched."""

    def end(self, session):
        """The session is about to close, without an error."""


class SecondOrStepTimer:
    """Says when something is due, by seconds or by steps."""

    def __init__(self, every_secs=None, every_steps=None):
        if (every_secs is None) == (every_steps is None):
            raise ValueError("exactly one of every_secs and every_steps should be provided.")
        self._secs, self._steps = every_secs, every_steps
        self.reset()

    def reset(self):
        self._step = self._time = None

    def should_trigger_for_step(self, step):
        if self._step is None:
            return True
        if self._step == step:
            return False
        if self._secs is not None:
            return time.time() >= self._time + self._secs
        return step >= self._step + self._steps

    def update_last_triggered_step(self, step):
        now = time.time()
        if self._step is None:
            passed = None, None
        else:
            passed = now - self._time, step - self._step
        self._time, self._step = now, step
        return passed

    def last_triggered_step(self):
        return self._step


def _needed_step():
    step = steps.get_global_step()
    if step is None:
        raise RuntimeError("Global step should be created to use this hook.")
    return step


class StopAtStepHook(SessionRunHook):
    def __init__(self, num_steps=None, last_step=None):
        if (num_steps is None) == (last_step is None):
            raise ValueError("Exactly one of num_steps or last_step must be specified.")
        self._num, self._last = num_steps, last_step

    def begin(self):
        self._tensor = _needed_step()

    def after_create_session(self, session, coord):
        if self._last is None:
            self._last = session.run(self._tensor) + self._num

    def before_run(self, run_context):
        return SessionRunArgs(self._tensor)

    def after_run(self, run_context, run_values):
        # The step that was fetched may be the one before the run's.
        if run_values.results + 1 >= self._last and run_context.session.run(self._tensor) >= self._last:
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        if (every_n_iter is None) + (every_n_secs is None) == 2 and not at_end:
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tensors = tensors if isinstance(tensors, dict) else {t: t for t in tensors}
        self._order = list(self._tensors)
        self._timer = None if every_n_iter is None and every_n_secs is None else SecondOrStepTimer(
            every_n_secs, every_n_iter)  # fmt: skip
        self._at_end, self._formatter = at_end, formatter

    def begin(self):
        self._count = 0
        if self._timer is not None:
            self._timer.reset()
        graph = get("compat.v1.get_default_graph")()
        self._now = {tag: graph.as_graph_element(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context):
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._now) if self._due else None

    def after_run(self, run_context, run_values):
        if self._due:
            self._log(run_values.results)
        self._count += 1

    def end(self, session):
        if self._at_end:
            self._log(session.run(self._now))

    def _log(self, values):
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._count)
        if self._formatter:
            logging.info(self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._order)
        logging.info(text if seconds is None else f"{text} ({seconds:.3f} sec)")


class NanLossDuringTrainingError(RuntimeError):
    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        if np.isnan(run_values.results):
            if self._fails:
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
            run_context.request_stop()


class StepCounterHook(SessionRunHook):
    """Logs, and writes as a summary, how many steps a second there are."""

    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer, self._writer, self._folder = SecondOrStepTimer(every_n_secs, every_n_steps), summary_writer, output_dir

    def begin(self):
        from tandem.graph_mode.summary import FileWriterCache

        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._tensor = _needed_step()

    def before_run(self, run_context):
        return SessionRunArgs(self._tensor)

    def after_run(self, run_context, run_values):
        step = int(run_values.results) + 1
        if not self._timer.should_trigger_for_step(step):
            return
        seconds, passed = self._timer.update_last_triggered_step(step)
        if seconds:
            self._log_and_record(passed, seconds, step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        rate = elapsed_steps / elapsed_time
        if self._writer is not None:
            self._writer.add_value("global_step/sec", rate, global_step)
        logging.info("global_step/sec: %g", rate)


class CheckpointSaverListener:
    def begin(self):
        """Once, with the hook's."""

    def before_save(self, session, global_step_value):
        """A checkpoint is about to be written."""

    def after_save(self, session, global_step_value):
        """It is written; True: training stops."""

    def end(self, session, global_step_value):
        """With the session."""


class CheckpointSaverHook(SessionRunHook):
    def __init__(
        self, checkpoint_dir, save_secs=None, save_steps=None, saver=None, checkpoint_basename="model.ckpt", scaffold=None,
        listeners=None, save_graph_def=True,
    ):  # fmt: skip
        import os

        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold, self._listeners = saver, scaffold, list(listeners or ())
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        self._tensor = _needed_step()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        step = session.run(self._tensor)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        return SessionRunArgs(self._tensor)

    def after_run(self, run_context, run_values):
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = run_context.session.run(self._tensor)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session):
        step = session.run(self._tensor)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step):
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._path, global_step=int(step))
        return any([listener.after_save(session, step) for listener in self._listeners])

    def _get_saver(self):
        if self._saver is None:
            if self._scaffold is not None:
                return self._scaffold.saver
            from tandem.graph_mode.saver import Saver

            self._saver = Saver()
        return self._saver


class SummarySaverHook(SessionRunHook):
    def __init__(
        self, save_steps=None, save_secs=None, output_dir=None, summary_writer=None, scaffold=None, summary_op=None
    ):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._op, self._scaffold, self._writer, self._folder = summary_op, scaffold, summary_writer, output_dir
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self):
        from tandem.graph_mode.summary import FileWriterCache

        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._tensor = _needed_step()
        self._next = None

    def before_run(self, run_context):
        self._due = self._next is None or self._timer.should_trigger_for_step(self._next)
        wanted = {"global_step": self._tensor}
        op = self._op if self._op is not None else self._scaffold.summary_op
        if self._due and op is not None:
            wanted["summary"] = op
        return SessionRunArgs(wanted)

    def after_run(self, run_context, run_values):
        if self._writer is None:
            return
        step = int(run_values.results["global_step"]) + 1
        if self._due:
            self._timer.update_last_triggered_step(step)
            found = run_values.results.get("summary")
            for summary in [found] if isinstance(found, bytes) else found or ():
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session):
        if self._writer is not None:
            self._writer.flush()


class GlobalStepWaiterHook(SessionRunHook):
    def __init__(self, wait_until_step):
        self._step = wait_until_step

    def begin(self):
        self._done, self._tensor = False, _needed_step()

    def before_run(self, run_context):
        while not self._done and self._step > 0:
            self._done = int(run_context.session.run(self._tensor)) >= self._step
            if not self._done:
                time.sleep(0.5)


class FinalOpsHook(SessionRunHook):
    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    final_ops_values = property(lambda self: self._values)

    def end(self, session):
        if self._ops is not None:
            self._values = session.run(self._ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class ProfilerHook(SessionRunHook):
    """Profiles of single runs: a program takes them with tf.profiler.experimental."""

    def __init__(self, save_steps=None, save_secs=None, output_dir="", show_dataflow=True, show_memory=False):
        raise NotImplementedError("ProfilerHook is not in Tandem: use tf.profiler.experimental.start() and stop().")
