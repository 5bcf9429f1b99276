"""Who may create variables now: the rules of tf.function, per thread.

A function may create variables while it is traced for the first time; it is then traced again, and every
trace but the first refuses new ones.
"""

import contextlib
import threading

from tandem import _core

_SINGLETON = (
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only "
    "created once or created outside tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables "
    "for more information."
)

_state = threading.local()


@contextlib.contextmanager
def rules(created):
    """Variables made in the block are appended to `created`; None: they are refused."""
    previous = getattr(_state, "created", [])
    _state.created = created
    try:
        yield
    finally:
        _state.created = previous


def check():
    """Raises where a variable must not be created."""
    if _core.current_graph() is not None and getattr(_state, "created", []) is None:
        raise ValueError(_SINGLETON)


def made(variable):
    """Notes a new variable. What an init_scope makes belongs to nobody."""
    if _core.current_graph() is not None:
        getattr(_state, "created", []).append(variable)


def first_value(value):
    """The value of what a variable shall begin with, also where it was traced just now."""
    if isinstance(value, _core.Tensor) and value._symbolic:
        return _core.evaluate(value)
    return value
