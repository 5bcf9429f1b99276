"""The hooks of callbacks around the executions of an epoch. Between two calls the loop runs in C++."""

import math

from keras.src.callbacks.callback_list import CallbackList
from keras.src.utils.python_utils import pythonify_logs
from tandem.keras_backend.schedules import Bar, Every, NotFinite, schedule_of
from tandem.keras_backend.step import read_logs


class Hooks:
    """The hooks of one epoch, evaluation or prediction."""

    def __init__(self, callbacks, mode, steps_per_execution):
        self._steps = steps_per_execution
        if type(callbacks) is not CallbackList:
            self._schedules = [Every(callbacks, mode)]
        else:
            made = [schedule_of(callback, mode, steps_per_execution) for callback in callbacks.callbacks]
            self._schedules = [schedule for schedule in made if schedule is not None]
        self._bars = [schedule for schedule in self._schedules if isinstance(schedule, Bar)]
        # Whether somebody is called for every execution.
        self.called_for_all = any(isinstance(schedule, Every) for schedule in self._schedules)
        # Whether the loop has to look at the loss after every execution.
        self.watches_loss = any(isinstance(schedule, NotFinite) for schedule in self._schedules)

    def executions(self, step):
        """How many executions may run, from the one that begins at `step`, until hooks are due."""
        return min((n for s in self._schedules if (n := s.executions(step)) is not None), default=None)

    def seconds(self):
        """After how many seconds hooks are due at the latest."""
        return min((bar.seconds() for bar in self._bars), default=math.inf)

    def begin(self, step):
        for schedule in self._schedules:
            schedule.begin(step)

    def end(self, step, results):
        """After the execution that ended with `step`; results: a function that returns its logs."""
        logs = _Once(results)
        for schedule in self._schedules:
            schedule.end(step, logs)

    def skip(self, executions, step):
        """That many executions, the last of which ended with `step`, ran without hooks."""
        for schedule in self._schedules:
            schedule.skip(executions, step)

    def draw(self, step, results):
        """The time of `seconds` is over."""
        logs = _Once(results)
        for bar in self._bars:
            bar.end(step, logs)

    def not_finite(self, step, results):
        """The loop stopped at a loss that is not finite."""
        logs = _Once(results)
        for schedule in self._schedules:
            if isinstance(schedule, NotFinite):
                schedule.end(step, logs)


class _Once:
    """Logs as Keras hands them to callbacks, made when somebody wants them."""

    def __init__(self, results):
        self._results = results
        self._logs = None

    def __call__(self):
        if self._logs is None:
            self._logs = pythonify_logs(read_logs(self._results()))
        return self._logs
