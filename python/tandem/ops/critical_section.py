"""tf.CriticalSection: code that only one thread at a time runs."""

import threading

from tandem import _core


class CriticalSection:
    """A lock around functions. Inside a tf.function ops with effects keep program order, and calls of one function that
    run at the same time take turns where they write variables."""

    def __init__(self, name=None, shared_name=None, critical_section_def=None, import_scope=None):
        if critical_section_def and name is not None:
            raise ValueError(f"Arguments critical_section_def and shared_name are mutually exclusive. Received: critical_section_def={critical_section_def} and name={name}.")
        if critical_section_def:
            raise ValueError("Argument `critical_section_def` is not supported.")
        self._name = name or "critical_section"
        self._lock = threading.Lock()
        self._owner = None

    name = property(lambda self: self._name)

    def execute(self, fn, exclusive_resource_access=True, name=None):
        """What the function gives, run while nobody else is in the section."""
        if self._owner == threading.get_ident():
            raise ValueError(
                f"Attempting to lock a CriticalSection (signature={self._name}) in which we are already running. "
                "This is illegal and may cause deadlocks."
            )
        if _core.current_graph() is None:
            # The wait must not stand in the way of Ctrl-C: it wakes now and then.
            while not self._lock.acquire(timeout=0.05):
                pass
        else:
            self._lock.acquire(blocking=False)  # tracing is one thread's
        self._owner = threading.get_ident()
        try:
            return fn()
        finally:
            self._owner = None
            if self._lock.locked():
                self._lock.release()
