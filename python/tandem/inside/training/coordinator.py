"""tensorflow.python.training.coordinator: threads that stop together."""

import contextlib
import sys
import threading
import time


class Coordinator:
    """The first exception that a thread reports stops all of them, and join() raises it."""

    def __init__(self, clean_stop_exception_types=None):
        if clean_stop_exception_types is None:
            from tandem.framework.errors import OutOfRangeError

            clean_stop_exception_types = (OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._raised, self._registered, self._joined = None, set(), False

    @property
    def joined(self):
        return self._joined

    def request_stop(self, ex=None):
        with self._lock:
            if self._joined:
                if isinstance(ex, tuple):
                    raise ex[1].with_traceback(ex[2])
                if ex is not None:
                    raise ex
                return
            error = ex[1] if isinstance(ex, tuple) else ex
            if error is not None and not self._event.is_set() and not isinstance(error, self._clean):
                self._raised = error
            self._event.set()

    def clear_stop(self):
        with self._lock:
            self._joined, self._raised = False, None
            self._event.clear()

    def should_stop(self):
        return self._event.is_set()

    def wait_for_stop(self, timeout=None):
        return self._event.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self):
        """An exception of the block stops the others."""
        try:
            yield
        except Exception:  # noqa: BLE001  (it is raised by join)
            self.request_stop(ex=sys.exc_info())

    def register_thread(self, thread):
        with self._lock:
            self._registered.add(thread)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        threads = set(threads or ()) | self._registered
        while any(thread.is_alive() for thread in threads) and not self.wait_for_stop(0.1):
            pass
        self._event.set()
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        alive = [thread.name for thread in threads if thread.is_alive()]
        with self._lock:
            self._joined, self._registered = True, set()
            if self._raised is not None:
                raise self._raised
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    def raise_requested_exception(self):
        with self._lock:
            if self._raised is not None:
                raise self._raised


class LooperThread(threading.Thread):
    """Calls a function every so many seconds until its coordinator stops."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._call, self._args, self._kwargs = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval and self._coord.wait_for_stop(self._interval):
                    break
            self.stop_loop()

    def start_loop(self):
        """Before the first call."""

    def run_loop(self):
        if self._call is not None:
            self._call(*self._args, **self._kwargs)

    def stop_loop(self):
        """After the last one."""
