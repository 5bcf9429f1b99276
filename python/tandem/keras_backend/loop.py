"""One epoch of training, evaluation or prediction: windows of executions between two calls of hooks."""

from tandem import _core
from tandem.keras_backend.runners import make_runner

# More executions than any epoch has.
_MANY = 1 << 62


class EpochLoop:
    """Runs a step over the batches of an epoch.

    `stopped` is asked after every window. `collect`: the rows of all results are wanted in the end.
    """

    def __init__(self, function, feed, hooks, stopped, collect=False):
        self._function = function
        self._feed = feed
        self._hooks = hooks
        self._stopped = stopped
        self._collect = collect
        self._runner = None

    def run(self):
        """Returns whether anything ran."""
        feed = self._feed
        batches = feed.begin_epoch()
        self._runner = make_runner(self._function, batches, self._collect, self._hooks)
        any_ran = False
        while (room := feed.room()) != 0:
            ran, more = self._window(_MANY if room is None else room)
            any_ran = any_ran or ran > 0
            if not more:
                feed.exhausted()
                return any_ran
            if self._stopped():
                return any_ran
        feed.end_epoch()
        return any_ran

    def _window(self, room):
        """Runs up to `room` executions; (how many ran, whether there may be more batches)."""
        feed, hooks, runner = self._feed, self._hooks, self._runner
        due = hooks.executions(feed.step)
        free = min(room, _MANY if due is None else due - 1)
        if free > 0:
            ran, end = runner.run(free, feed.steps_per_execution, hooks)
            if ran:
                feed.advance(ran)
                last = feed.step - 1
                hooks.skip(ran, last)
                if end == _core.END_TIME:
                    hooks.draw(last, self._logs)
                elif end == _core.END_NOT_FINITE:
                    hooks.not_finite(last, self._logs)
            return ran, end != _core.END_NO_DATA
        hooks.begin(feed.step)
        ran, end = runner.run(1, feed.steps_per_execution, hooks)
        if not ran:
            return 0, False
        feed.advance(1)
        hooks.end(feed.step - 1, self._logs)
        return 1, True

    def results(self):
        """Those of the last step, as it returned them."""
        return self._runner.results()

    def _logs(self):
        return {"outputs": self.results()} if self._collect else self.results()

    def collected(self):
        return self._runner.collected()
