"""One thread at a time loads what is loaded on first use.

Modules that import each other cannot be imported from two ends by two threads: one of them sees half a module. So
all lazy loading goes through one lock. A thread that runs a module of Keras holds import locks that the lock's owner
may be waiting for; it takes the lock when it is free, and goes on without it when it is not.
"""

import _thread  # `threading` is one more module to load
import contextlib

_lock = _thread.RLock()
_here = _thread._local()


@contextlib.contextmanager
def alone():
    """Around an import on first use."""
    taken = _lock.acquire(blocking=not getattr(_here, "modules", 0))
    try:
        yield
    finally:
        if taken:
            _lock.release()


@contextlib.contextmanager
def running_a_module():
    """Around the code of a module of Keras, which the import system runs under a lock of its own."""
    _here.modules = getattr(_here, "modules", 0) + 1
    try:
        yield
    finally:
        _here.modules -= 1
