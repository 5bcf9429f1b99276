"""tf.profiler.experimental: what ran where, as files that TensorBoard and Perfetto show."""

import collections
import threading

from tandem import _core
from tandem.framework import gfile
from tandem.framework.log import log as _log

_lock = threading.Lock()
_logdir = None
_trace_file = None  # of `tandem run --trace`, while it records


class ProfilerOptions(
    collections.namedtuple(
        "ProfilerOptions", ["host_tracer_level", "python_tracer_level", "device_tracer_level", "delay_ms"]
    )
):
    """What to record. Accepted for TensorFlow's sake: Tandem records ops, copies, waits and marks at every level."""

    def __new__(cls, host_tracer_level=2, python_tracer_level=0, device_tracer_level=1, delay_ms=None):
        return super().__new__(cls, host_tracer_level, python_tracer_level, device_tracer_level, delay_ms)


def start(logdir, options=None):
    """Begins to record; AlreadyExistsError when that is going on already."""
    global _logdir
    with _lock:
        if _trace_file is not None:
            _log.warning("The program profiles itself: the trace of `tandem run` in %s ends here.", _trace_file)
            _write_trace()
        _core.start_profile()
        _logdir = gfile.local_path(logdir)


def stop(save=True):
    """Ends recording, and writes the files under logdir/plugins/profile unless told not to."""
    stop_into(_logdir if save else None)


def stop_into(logdir):
    """Ends recording and writes to a folder; None: nowhere."""
    global _logdir
    with _lock:
        profile = _core.stop_profile()
        _logdir = None
    if logdir:
        profile.write(logdir)


def start_trace(path):
    """Begins the recording of `tandem run --trace`, which gives way when the program starts one of its own."""
    global _trace_file
    with _lock:
        _core.start_profile()
        _trace_file = path


def stop_trace():
    """Ends it and writes the file, unless that has happened."""
    with _lock:
        if _trace_file is not None:
            _write_trace()


def _write_trace():
    global _trace_file
    path, _trace_file = _trace_file, None
    if _core.profiling():
        _core.stop_profile().write_chrome_trace(path)


def warmup():
    """There is nothing to warm up: recording needs no library to be loaded."""


class Profile:
    """Records what happens in a block."""

    def __init__(self, logdir, options=None):
        self._logdir = logdir
        self._options = options

    def __enter__(self):
        start(self._logdir, self._options)

    def __exit__(self, kind, value, traceback):
        stop()


class Trace:
    """Names a piece of this thread's work in the profile, such as a step: Trace("train", step_num=i, _r=1)."""

    def __init__(self, name, **kwargs):
        self._mark = _core.ProfileMark(name, _pairs(kwargs))

    def __enter__(self):
        self._mark.start()
        return self

    def set_metadata(self, **kwargs):
        """More values, known only now."""
        self._mark.add(_pairs(kwargs))

    def __exit__(self, kind, value, traceback):
        self._mark.stop()


def trace_wrapper(trace_name, **trace_kwargs):
    """A decorator: calls of the function are named in the profile."""
    import functools

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with Trace(trace_name, **trace_kwargs):
                return function(*args, **kwargs)

        return wrapped

    if callable(trace_name):
        function, trace_name = trace_name, trace_name.__qualname__
        return decorate(function)
    return decorate


def _pairs(values):
    return [(name, str(int(value) if isinstance(value, bool) else value).replace("\n", " "))
            for name, value in values.items()]  # fmt: skip
