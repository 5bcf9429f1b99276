"""tensorflow.python.util.tf_decorator: wrappers that know what they wrap."""

import inspect


class TFDecorator:
    def __init__(self, decorator_name, target, decorator_doc="", decorator_argspec=None):
        self._decorated_target, self._name = target, decorator_name
        self._doc, self._argspec = decorator_doc, decorator_argspec
        self.__wrapped__ = target
        self.__name__ = getattr(target, "__name__", type(target).__name__)
        self.__qualname__ = getattr(target, "__qualname__", self.__name__)
        self.__doc__ = decorator_doc or target.__doc__

    def __get__(self, instance, owner):
        return self._decorated_target.__get__(instance, owner)

    def __call__(self, *args, **kwargs):
        return self._decorated_target(*args, **kwargs)

    decorated_target = property(lambda self: self._decorated_target)
    decorator_name = property(lambda self: self._name)
    decorator_doc = property(lambda self: self._doc)
    decorator_argspec = property(lambda self: self._argspec)


def make_decorator(target, decorator_func, decorator_name=None, decorator_doc="", decorator_argspec=None):
    """`decorator_func` as the wrapper of `target`: its name, documentation and signature are the target's."""
    name = decorator_name or inspect.currentframe().f_back.f_code.co_name
    decorator_func._tf_decorator = TFDecorator(name, target, decorator_doc, decorator_argspec)
    for part in ("__name__", "__qualname__", "__module__", "__dict__"):
        if part == "__dict__":
            for key, value in getattr(target, "__dict__", {}).items():
                decorator_func.__dict__.setdefault(key, value)
        elif hasattr(target, part):
            setattr(decorator_func, part, getattr(target, part))
    decorator_func.__doc__ = decorator_doc or target.__doc__
    decorator_func.__wrapped__ = target
    if isinstance(decorator_argspec, inspect.Signature):
        decorator_func.__signature__ = decorator_argspec
    return decorator_func


def unwrap(maybe_tf_decorator):
    """([the decorators, outermost first], what they wrap)."""
    decorators, current = [], maybe_tf_decorator
    while True:
        found = current if isinstance(current, TFDecorator) else getattr(current, "__dict__", {}).get("_tf_decorator")
        if found is None:
            return decorators, current
        decorators.append(found)
        current = found.decorated_target


def rewrap(decorator_func, previous_target, new_target):
    raise NotImplementedError("tf_decorator.rewrap is not available in Tandem: decorate the new function.")
