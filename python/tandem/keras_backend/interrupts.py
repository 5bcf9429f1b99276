"""Ctrl-C while Keras's files are written and read. HDF5 calls Python back, and what those calls raise is lost with
"Exception ignored in": here an interrupt is raised again when Keras is done."""

import contextlib
import functools
import sys
import threading


@contextlib.contextmanager
def heard():
    """The block ends with the KeyboardInterrupt that Python could not raise inside of it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # interrupts are the main thread's
        return
    before, swallowed = sys.unraisablehook, []

    def hook(unraisable):
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            swallowed.append(unraisable.exc_type)
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    except Exception as error:
        if swallowed:  # what it left undone may be why
            raise KeyboardInterrupt from error
        raise
    finally:
        if sys.unraisablehook is hook:
            sys.unraisablehook = before
    if swallowed:
        raise KeyboardInterrupt


def hearing(function):
    """The function in such a block."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with heard():
            return function(*args, **kwargs)

    return call
