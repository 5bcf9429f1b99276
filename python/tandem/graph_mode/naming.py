"""Names of operations in graphs: public functions give the name that they are called with to what they made.

Functions are wrapped when the first graph of a session is made; a program without one pays nothing.
"""

import functools
import sys
import types

from tandem import _namespaces
from tandem.framework.graph import naming, session_graph

_FIRST = ("tandem.ops.", "tandem._generated.", "tandem.framework.", "tandem.inside.", "tandem.graph_mode.losses")
# They name things themselves, or make none.
_OWN = ("placeholder", "constant", "convert_to_tensor", "no_op", "group", "assign", "assign_add", "assign_sub", "cond",
        "while_loop", "device", "set_seed")  # fmt: skip
_done = []


def install():
    """Wraps what has been looked up, and what will be."""
    if _done:
        return
    _done.append(True)
    _namespaces._wrap[0] = named
    for name, module in list(sys.modules.items()):
        if name == _namespaces.ROOT or isinstance(module, _namespaces.Namespace) or name == "tensorflow":
            if module is not None:
                _wrap_all(vars(module))


def _wrap_all(names):
    for key, value in list(names.items()):
        if not key.startswith("__") and isinstance(value, types.FunctionType):
            names[key] = named(value)


@functools.cache
def _wrapped(function, place):
    @functools.wraps(function)
    def call(*args, **kwargs):
        name = kwargs.get("name") if len(args) <= place else args[place]
        if type(name) is not str or session_graph() is None:
            return function(*args, **kwargs)
        if len(args) <= place:
            return naming(function, args, kwargs)
        return naming(lambda name: function(*args, **kwargs), (), {"name": name})

    call._named = True
    call._inner = function
    return call


def named(value):
    """A function that takes a name, as one that gives it to what it makes; anything else as it is."""
    if not isinstance(value, types.FunctionType) or hasattr(value, "_named") or value.__name__ in _OWN:
        return value
    if not (value.__module__ or "").startswith(_FIRST):
        return value
    code = value.__code__
    every = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if "name" in every:
        place = code.co_varnames[: code.co_argcount].index("name") if "name" in code.co_varnames[: code.co_argcount] else 99
        return _wrapped(value, place)
    signature = getattr(value, "__signature__", None)  # of functions made from a table (inside/older.py)
    if signature is not None and "name" in signature.parameters:
        return _wrapped(value, list(signature.parameters).index("name"))
    return value
