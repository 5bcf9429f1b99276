"""tensorflow.python.ops.script_ops."""

from tandem import _namespaces


def py_func(func, inp, Tout, stateful=True, name=None):  # noqa: N803
    return _namespaces.get("numpy_function")(func, inp, Tout)


py_func_common = py_func
