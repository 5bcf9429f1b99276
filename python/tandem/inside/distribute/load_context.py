"""tensorflow.python.distribute.load_context: the options of a saved model that is being loaded."""

import contextlib
import threading

_thread = threading.local()


@contextlib.contextmanager
def load_context(load_options):
    before = getattr(_thread, "options", None)
    _thread.options = load_options
    try:
        yield
    finally:
        _thread.options = before


def get_load_options():
    return getattr(_thread, "options", None)


def in_load_context():
    return get_load_options() is not None
