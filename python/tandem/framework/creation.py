"""Who may create variables now: the rules of tf.function, per thread.

A function may create variables while it is traced for the first time; it is then traced again, and every
trace but the first refuses new ones.
"""

import contextlib
import functools
import threading

from tandem import _core

_SINGLETON = (
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only "
    "created once or created outside tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables "
    "for more information."
)

_state = threading.local()
# Outside of rules: variables belong to nobody here, whatever graph they are made in.
_FREE = ()


@contextlib.contextmanager
def rules(created, graph=None, values=()):
    """Variables made in the block are appended to `created`; None: they are refused.

    `values`: what the parameters of the graph are in the call that it is traced for, as far as that is known.
    """
    previous = getattr(_state, "created", _FREE), getattr(_state, "call", (None, ()))
    _state.created, _state.call = created, (graph, values)
    try:
        yield
    finally:
        _state.created, _state.call = previous


def check():
    """Raises where a variable must not be created."""
    if _core.current_graph() is not None and getattr(_state, "created", _FREE) is None:
        raise ValueError(_SINGLETON)


def made(variable):
    """Notes a new variable. What an init_scope makes belongs to nobody."""
    created = getattr(_state, "created", _FREE)
    if _core.current_graph() is not None and created is not _FREE:
        created.append(variable)


def first_value(value):
    """The value of what a variable shall begin with, also where it was traced just now."""
    if isinstance(value, _core.Tensor) and value._symbolic:
        graph, values = getattr(_state, "call", (None, ()))
        return _core.evaluate(value, list(values) if value.graph is graph else [])
    return value


# ---- Creators: functions of the program that variables are made through

PARAMETERS = (
    "initial_value", "trainable", "validate_shape", "caching_device", "name", "variable_def", "dtype", "import_scope",
    "constraint", "synchronization", "aggregation", "shape", "experimental_enable_variable_lifting",
)  # fmt: skip


@contextlib.contextmanager
def variable_creator_scope(variable_creator):
    """In the block, tf.Variable(…) calls variable_creator(next_creator, **arguments), the innermost scope's first."""
    before = creators()
    _state.creators = (*before, variable_creator)
    try:
        yield
    finally:
        _state.creators = before


def creators():
    return getattr(_state, "creators", ())


def through_creators(make, arguments):
    """The variable that the creators make of the arguments; `make(**arguments)` is what the last of them can call."""
    outer = creators()

    def plain(**given):
        _state.creators = ()
        try:
            return make(**given)
        finally:
            _state.creators = outer

    made = plain
    for creator in outer:
        made = functools.partial(creator, made)
    return made(**arguments)
