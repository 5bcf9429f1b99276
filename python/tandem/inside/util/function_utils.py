"""tensorflow.python.util.function_utils."""

import functools
import inspect


def fn_args(fn):
    """The names of a callable's arguments, without `self` and those that a partial gives."""
    if isinstance(fn, functools.partial):
        given = len(fn.args)
        return tuple(name for name in fn_args(fn.func)[given:] if name not in fn.keywords)
    parameters = inspect.signature(fn).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(p.name for p in parameters if p.kind not in kinds)


def has_kwargs(fn):
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(fn).parameters.values())


def get_func_name(func):
    return getattr(func, "__qualname__", None) or type(func).__qualname__
