"""tensorflow.python.util.tf_inspect: Python's inspect, which sees through the decorators of tf_decorator."""

import collections
import inspect as _inspect
from inspect import *  # noqa: F403
from inspect import FullArgSpec, Parameter, Signature, currentframe, signature, stack  # noqa: F401

from tandem.inside.util import tf_decorator

ArgSpec = collections.namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])


def getfullargspec(obj):
    decorators, target = tf_decorator.unwrap(obj)
    for decorator in decorators:
        said = getattr(decorator, "decorator_argspec", None)
        if isinstance(said, FullArgSpec):
            return said
    return _inspect.getfullargspec(_inspect.unwrap(target, stop=_has_arguments_of_its_own))


def _has_arguments_of_its_own(function):
    """A function that somebody else's functools.wraps made; not an object that stands for one, nor a wrapper of ours."""
    made = getattr(function, "__globals__", None)
    return made is not None and not made.get("__name__", "").startswith("tandem.")


def getargspec(obj):
    found = getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def getcallargs(*func_and_positional, **named):
    function, *args = func_and_positional
    bound = _inspect.signature(_inspect.unwrap(function)).bind(*args, **named)
    bound.apply_defaults()
    return dict(bound.arguments)


def isanytargetmethod(obj):
    return _inspect.ismethod(_inspect.unwrap(obj))
