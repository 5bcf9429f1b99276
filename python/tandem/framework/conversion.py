"""tf.register_tensor_conversion_function: objects of a user's class wherever a tensor is wanted."""

from tandem import _core

_registered = {}  # class → [(priority, number, function)], by which the first that answers is asked


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """`conversion_func(value, dtype, name, as_ref)` makes a tensor of an object of these classes, or NotImplemented."""
    if not callable(conversion_func):
        raise TypeError(f"Argument `conversion_func` must be callable. Received {conversion_func}.")
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    for kind in types:
        if not isinstance(kind, type):
            raise TypeError(f"Argument `base_type` must be a type or a tuple of types. Received {base_type}.")
        if issubclass(kind, (bool, int, float, str, bytes, _core.Tensor)):
            raise TypeError("Cannot register conversions for Python numeric types, NumPy scalars and NumPy arrays.")
    for kind in types:
        functions = _registered.setdefault(kind, [])
        functions.append((priority, len(functions), conversion_func))
        functions.sort(key=lambda entry: entry[:2])
        if "__tf_tensor__" not in kind.__dict__:
            kind.__tf_tensor__ = _convert


def _convert(value, dtype=None, name=None):
    for kind in type(value).__mro__:
        for _, _, function in _registered.get(kind, ()):
            made = function(value, dtype=dtype, name=name, as_ref=False)
            if made is not NotImplemented:
                return made
    raise TypeError(f"Cannot convert {value!r} to a Tensor: no conversion function takes it.")
