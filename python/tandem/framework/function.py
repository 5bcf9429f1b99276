"""tf.function as long as there are no compiled functions: decorating works, calling says what is missing.

Keras decorates helpers that it then does not call, so the decorator itself must not fail.
"""

import functools


_eagerly = False


def run_functions_eagerly(run_eagerly):
    """Decorated functions are called as they are instead of being compiled."""
    global _eagerly
    _eagerly = bool(run_eagerly)


def functions_run_eagerly():
    return _eagerly


def function(func=None, **options):
    """Marks a function for compilation; calling it raises NotImplementedError."""
    if func is None:
        return functools.partial(function, **options)

    @functools.wraps(func)
    def uncompiled(*args, **kwargs):
        if _eagerly:
            return func(*args, **kwargs)
        raise NotImplementedError(
            f"tf.function is not available in Tandem: call {func.__qualname__} without the decorator, or call "
            "tf.config.run_functions_eagerly(True) first."
        )

    uncompiled.python_function = func
    return uncompiled
