"""One thread at a time loads what is loaded on first use.

Modules that import each other cannot be imported from two ends by two threads: one of them sees half a module. So
all lazy loading goes through one lock. A thread that runs a module of Keras holds import locks that the lock's owner
may be waiting for; it takes the lock when it is free, and goes on without it when it is not.
"""

import _thread  # `threading` is one more module to load
import contextlib
import sys

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


def wait_for_package(package):
    """Before a module of the package is loaded: another thread may just be loading the package.

    Python holds the lock of `package.part` by then and does not wait for `package`. Both threads would go on, each with
    half of what the other loads. So this thread lets its locks of parts go, which the other one may want, until the
    package is there.
    """
    from importlib import _bootstrap, import_module

    module = sys.modules.get(package)
    if module is None or not getattr(getattr(module, "__spec__", None), "_initializing", False):
        return
    this = _thread.get_ident()
    if _bootstrap._get_module_lock(package).owner == this:
        return
    held = []
    for name, reference in list(_bootstrap._module_locks.items()):
        lock = reference() if name.startswith(package + ".") else None
        while lock is not None and lock.owner == this:
            lock.release()
            held.append(lock)
    try:
        import_module(package)
    finally:
        for lock in reversed(held):
            lock.acquire()

