"""The fields of an extension type: from annotations to values that were checked and converted.

An annotation is a Python type, tf.Tensor, tf.TensorShape, tf.DType, another class made of tensors, or Tuple, Mapping,
Union and Optional of such. A spec has the same fields with specs in place of tensors.
"""

import collections.abc
import types
import typing

from tandem import _core
from tandem.extension.immutable_dict import ImmutableDict
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.spec import TensorSpec, TypeSpec
from tandem.framework.types import CompositeTensor

_UNIONS = (typing.Union, types.UnionType)
_MAPPINGS = (collections.abc.Mapping,)


def check_annotation(annotation, where):
    """Raises TypeError for a type that a field cannot have."""
    if isinstance(annotation, (str, typing.ForwardRef)) or annotation is Ellipsis or annotation is None:
        return
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple or origin in _UNIONS:
        if origin is tuple and not arguments:
            raise TypeError(f"In field {where!r}: Unsupported type annotation `tuple`: say what is in it.")
        for part in arguments:
            check_annotation(part, where)
    elif origin in _MAPPINGS:
        if arguments[0] not in (int, float, bool, str, bytes):
            raise TypeError(
                f"In field {where!r}: Mapping had a key {arguments[0]!r} which is not a str, bytes, int, float or bool."
            )
        check_annotation(arguments[1], where)
    elif annotation in (list, dict, set, tuple) or origin in (list, dict, set):
        raise TypeError(
            f"In field {where!r}: Unsupported type annotation {annotation!r}. Use Tuple or Mapping, which cannot change."
        )
    elif not isinstance(annotation, type):
        raise TypeError(f"In field {where!r}: Unsupported type annotation {annotation!r}.")


def convert(value, annotation, path, to_spec=False):
    """The value as its annotation wants it; TypeError with the field's name where that cannot be."""
    if annotation is None:
        annotation = type(None)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _UNIONS:
        return _of_union(value, arguments, path, to_spec)
    if origin is tuple:
        return _of_tuple(value, arguments, path, to_spec)
    if origin in _MAPPINGS:
        if not isinstance(value, collections.abc.Mapping):
            raise TypeError(f"{path}: expected mapping, got {_kind(value)}")
        return ImmutableDict(
            (convert(k, arguments[0], f"{path}.keys()"), convert(v, arguments[1], f"{path}[{k!r}]", to_spec))
            for k, v in value.items()
        )
    if annotation is _core.Tensor:
        return _tensor_spec(value, path) if to_spec else _tensor(value, path)
    if annotation is TensorShape:
        try:
            return as_shape(value)
        except (TypeError, ValueError):
            raise TypeError(f"{path}: expected tf.TensorShape, got {_kind(value)}") from None
    if annotation is _core.DType:
        try:
            return _core.as_dtype(value)
        except (TypeError, ValueError):
            raise TypeError(f"{path}: expected tf.DType, got {_kind(value)}") from None
    if to_spec and _is_made_of_tensors(annotation):
        if isinstance(value, TypeSpec) and issubclass(value.value_type, annotation):
            return value
        raise TypeError(f"{path}: expected a TypeSpec with value_type={annotation!r}, got {_kind(value)}")
    if not isinstance(value, annotation):
        raise TypeError(f"{path}: expected '{annotation.__name__}', got {_kind(value)}")
    return value


def _kind(value):
    return f"'{type(value).__name__}'"


def _is_made_of_tensors(annotation):
    return issubclass(annotation, (_core.Tensor, CompositeTensor)) or hasattr(annotation, "_tf_components")


def _tensor(value, path):
    """A tensor; what stands for one while a function is called or traced is left as it is."""
    if isinstance(value, _core.Tensor):
        return value
    if value is None or isinstance(value, (CompositeTensor, TypeSpec)):
        raise TypeError(f"{path}: expected a Tensor, got {_kind(value)}")
    try:
        return _core.convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{path}: expected a Tensor, got {_kind(value)}") from error


def _tensor_spec(value, path):
    if not isinstance(value, TensorSpec):
        raise TypeError(f"{path}: expected a TensorSpec, got {_kind(value)}")
    return value


def _of_union(value, options, path, to_spec):
    # What is of one of the types already stays; a number is made a tensor only where nothing else takes it.
    tensors_last = sorted(options, key=lambda option: option is _core.Tensor and not isinstance(value, _core.Tensor))
    for option in tensors_last:
        try:
            return convert(value, option, path, to_spec)
        except TypeError:
            continue
    names = ", ".join(getattr(o, "__name__", str(o)) for o in options)
    raise TypeError(f"{path}: expected one of: ({names}), got {_kind(value)}")


def _of_tuple(value, arguments, path, to_spec):
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{path}: expected tuple, got {_kind(value)}")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = (arguments[0],) * len(value)
    if len(arguments) != len(value):
        raise TypeError(f"{path}: expected tuple with length {len(arguments)}, got {_kind(value)}")
    return tuple(convert(v, a, f"{path}[{i}]", to_spec) for i, (v, a) in enumerate(zip(value, arguments)))


# ---- Values and specs as a static part and tensors


def is_component(value):
    """Whether a value is (made of) tensors, or stands for some."""
    return (
        isinstance(value, (_core.Tensor, TypeSpec, CompositeTensor))
        or hasattr(type(value), "_tf_components")
        or hasattr(type(value), "_tf_part")
    )


def components(value):
    """The parts of a field that are made of tensors, in order."""
    if type(value) is tuple:
        return [part for item in value for part in components(item)]
    if isinstance(value, ImmutableDict):
        return [part for item in value.values() for part in components(item)]
    return [value] if is_component(value) else []


def rebuilt(value, parts):
    """The field with other parts, taken from an iterator."""
    if type(value) is tuple:
        return tuple(rebuilt(item, parts) for item in value)
    if isinstance(value, ImmutableDict):
        return ImmutableDict((key, rebuilt(item, parts)) for key, item in value.items())
    return next(parts) if is_component(value) else value


_PART = "<tensor>"


def static_part(value):
    """What of a field belongs to its type: hashable."""
    if type(value) is tuple:
        return tuple(static_part(item) for item in value)
    if isinstance(value, ImmutableDict):
        return tuple((key, static_part(value[key])) for key in sorted(value, key=repr))
    if isinstance(value, float):
        return "float", repr(value)
    return _PART if is_component(value) else (type(value).__name__, value)
