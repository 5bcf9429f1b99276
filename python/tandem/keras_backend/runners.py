"""How executions of an epoch run: in C++ over a native source of batches, or one by one in Python."""

import itertools
import math

from tandem import _core
from tandem.framework import errors
from tandem.framework.function import functions_run_eagerly
from tandem.keras_backend.step import StepFunction, join_rows


def make_runner(function, batches, collect, hooks):
    """The runner for a step function and the batches of an epoch."""
    compiled = isinstance(function, StepFunction) and not functions_run_eagerly()
    native = compiled and getattr(batches, "source", None) is not None
    if collect and function.steps_per_execution > 1 and hooks.called_for_all:
        native = False  # they are given the rows of all steps of an execution
    if native and collect and function.trace(batches.structure, batches.specs).has_composites:
        native = False
    return (_Native if native else _Python)(function, batches, collect)


class _Native:
    """Executions run in C++ until hooks are due."""

    def __init__(self, function, batches, collect):
        self._trace = function.trace(batches.structure, batches.specs)
        self._loop = _core.StepLoop(self._trace.compiled, batches.source)
        if collect:
            self._loop.collect(batches.rows)
        self._watched = self._trace.index_of("loss")

    def run(self, executions, steps, hooks):
        """(executions that ran, _core.END_…)"""
        watched = self._watched if hooks.watches_loss else -1
        return self._loop.run(executions, steps, min(hooks.seconds(), 1e9), watched)

    def results(self):
        return self._trace.pack(self._loop.results())

    def collected(self):
        return self._trace.pack(self._loop.collected())


class _Python:
    """A step function is called for each execution: it runs eagerly, or batches come from Python."""

    def __init__(self, function, batches, collect):
        self._function = function
        self._batches = batches
        self._rows = [] if collect else None
        self._results = {}

    def run(self, executions, steps, hooks):
        batches = self._batches
        try:
            if self._rows is not None:
                batches = list(itertools.islice(batches, steps))
            self._results = self._function(batches)
        except (StopIteration, errors.OutOfRangeError):
            return 0, _core.END_NO_DATA
        if self._rows is not None:
            self._rows.append(self._results)
        over = hooks.seconds() <= 0
        if hooks.watches_loss and not _is_finite(self._results):
            return 1, _core.END_NOT_FINITE
        return 1, _core.END_TIME if over else _core.END_EXECUTIONS

    def results(self):
        return self._results

    def collected(self):
        return join_rows(self._rows)


def _is_finite(results):
    loss = results.get("loss") if isinstance(results, dict) else None
    return loss is None or math.isfinite(float(loss))
