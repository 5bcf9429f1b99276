"""tensorflow.python.util.tf_inspect: Python's inspect, which sees through decorators that keep `__wrapped__`."""

import collections
import inspect as _inspect
from inspect import *  # noqa: F403
from inspect import FullArgSpec, Parameter, Signature, currentframe, signature, stack  # noqa: F401

ArgSpec = collections.namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])


def getfullargspec(obj):
    return _inspect.getfullargspec(_inspect.unwrap(obj))


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
