"""tensorflow.python.util.deprecation: decorators for old names. They warn once for each function, in the log."""

import functools

from tandem.framework.log import log as _log

_silent = 0
_said = set()


class silence:
    """`with deprecation.silence():` nothing is said."""

    def __enter__(self):
        global _silent  # noqa: PLW0603
        _silent += 1

    def __exit__(self, *exception):
        global _silent  # noqa: PLW0603
        _silent -= 1


def _warn(function, text, key=""):
    if _silent or (function, key) in _said:
        return
    _said.add((function, key))
    _log.warning("%s is deprecated: %s", getattr(function, "__qualname__", function), text)


def _warning(function, text):
    """The function, or the class, with a warning before its first call."""
    if isinstance(function, type):
        begin = function.__init__

        @functools.wraps(begin)
        def init(self, *args, **kwargs):
            _warn(function, text)
            begin(self, *args, **kwargs)

        function.__init__ = init
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
        _warn(function, text)
        return function(*args, **kwargs)

    return call


def deprecated(date, instructions, warn_once=True):
    return lambda function: _warning(function, instructions)


def deprecated_alias(deprecated_name, name, func_or_class, warn_once=True):
    text = f"use {name}"
    if isinstance(func_or_class, type):
        made = type(func_or_class.__name__, (func_or_class,), {"__doc__": func_or_class.__doc__})
        return _warning(made, text)
    return _warning(func_or_class, text)


def deprecated_args(date, instructions, *deprecated_arg_names_or_tuples, **kwargs):
    names = [n if isinstance(n, str) else n[0] for n in deprecated_arg_names_or_tuples]

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            for name in names:
                if name in kwargs:
                    _warn(function, f"its argument {name}: {instructions}", name)
            return function(*args, **kwargs)

        return call

    return decorate


def deprecated_arg_values(date, instructions, warn_once=True, **deprecated_kwargs):
    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            for name, value in deprecated_kwargs.items():
                if name in kwargs and kwargs[name] is value:
                    _warn(function, f"{name}={value!r}: {instructions}", name)
            return function(*args, **kwargs)

        return call

    return decorate


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old_value


def deprecated_endpoints(*args):
    return lambda function: function


def deprecate_moved_module(deprecated_name, new_module, deletion_version):
    return lambda name: getattr(new_module, name)


def rewrite_argument_docstring(old_doc, old_argument, new_argument):
    return old_doc.replace(f"`{old_argument}`", f"`{new_argument}`").replace(f"{old_argument}:", f"{new_argument}:")
