"""tf.experimental.ExtensionType: a class whose annotated fields are its parts, and its nested Spec.

Values cannot change. Functions, loops and datasets take them apart into their tensors (`_tf_components`) and put
others like them together (`_tf_rebuild`); what is not a tensor is part of the type (`_tf_key`).
"""

import abc
import inspect
import sys
import typing

from tandem import _core
from tandem.extension import fields
from tandem.extension.batch_encoder import ExtensionTypeBatchEncoder
from tandem.extension.spec import ExtensionTypeSpec, spec_of_field
from tandem.framework.types import CompositeTensor

_RESERVED = ("self", "_tf_components", "_tf_rebuild", "_tf_key", "_type_spec")
_known = {}  # by name: what a string may mean in an annotation


class ExtensionTypeMetaclass(abc.ABCMeta):
    """Makes the constructor and the Spec of a class of fields."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        cls._tf_annotations = None  # worked out when a value is first made: names may be defined later
        own = {n: a for n, a in _annotations(namespace).items() if typing.get_origin(a) is not typing.ClassVar}
        for field, annotation in own.items():
            if field in _RESERVED:
                raise ValueError(f"The field annotations for {name} are invalid. Field {field!r} is reserved.")
            fields.check_annotation(annotation, field)
        inherited = getattr(cls, "_tf_field_names", ())
        cls._tf_field_names = (*inherited, *[field for field in own if field not in inherited])
        _known[name] = cls
        cls.Spec = _make_spec(cls, namespace.get("Spec"))
        if "__init__" not in namespace and not _has_own_constructor(bases):
            cls.__signature__ = cls._tf_signature()

    def __call__(cls, *args, **kwargs):
        value = cls.__new__(cls)
        cls.__init__(value, *args, **kwargs)
        _finish(value)
        return value

    def _tf_signature(cls):
        parameters = []
        for field in cls._tf_field_names:
            default = getattr(cls, field, inspect.Parameter.empty)
            default = inspect.Parameter.empty if isinstance(default, property) else default
            parameters.append(inspect.Parameter(field, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
        try:
            return inspect.Signature(parameters)
        except ValueError:
            # A field without a default after one that has one: such are given by name.
            return inspect.Signature([p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters])

    def _tf_types(cls):
        """The annotations of all fields, with strings replaced by what they name."""
        if cls.__dict__["_tf_annotations"] is None:
            cls._tf_annotations = typing.get_type_hints(cls, localns=dict(_known))
        return cls._tf_annotations


def _annotations(namespace):
    """Those in the body of a class. Python 3.14 works them out when they are asked for: names that are not defined yet
    are then strings, as quoted ones are."""
    if "__annotations__" in namespace or sys.version_info < (3, 14):
        return namespace.get("__annotations__", {})
    import annotationlib

    annotate = annotationlib.get_annotate_from_class_namespace(namespace)
    if annotate is None:
        return {}
    found = annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    return {n: a.__forward_arg__ if isinstance(a, annotationlib.ForwardRef) else a for n, a in found.items()}


def _has_own_constructor(bases):
    return any(getattr(base, "__init__", None) not in (ExtensionType.__init__, object.__init__) for base in bases)


def _make_spec(cls, given):
    """The nested class Spec: what the class itself says of it, and what all specs have."""
    bases = (ExtensionTypeSpec,) if given is None else (given, ExtensionTypeSpec)
    body = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Spec", "_tf_value_type": cls}
    if given is not None and "__eq__" not in given.__dict__:
        body["__hash__"] = ExtensionTypeSpec.__hash__
    return type(f"{cls.__name__}.Spec", bases, body)


def _finish(value):
    """Checks and converts the fields that a constructor has set, and closes the object."""
    cls = type(value)
    types = cls._tf_types()
    for field in cls._tf_field_names:
        if field not in value.__dict__:
            raise ValueError(f"{cls.__name__} missing required field {field!r}: the constructor does not set it.")
        value.__dict__[field] = fields.convert(value.__dict__[field], types[field], field)
    extra = set(value.__dict__) - set(cls._tf_field_names)
    if extra:
        raise ValueError(f"{cls.__name__} has no fields {sorted(extra)}: declare them with an annotation.")
    value.__dict__["_tf_closed"] = True
    value.__validate__()


class ExtensionType(CompositeTensor, metaclass=ExtensionTypeMetaclass):
    """Base of users' types made of tensors."""

    def __init__(self, *args, **kwargs):
        cls = type(self)
        try:
            bound = cls._tf_signature().bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(str(error)) from None
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)

    def __validate__(self):
        """Overridden to check the fields, which have their types by then."""

    def __setattr__(self, name, value):
        if self.__dict__.get("_tf_closed") or name not in type(self)._tf_field_names:
            raise AttributeError(
                f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType."
            )
        self.__dict__[name] = value

    def __delattr__(self, name):
        raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType.")

    def __repr__(self):
        given = ", ".join(f"{field}={self.__dict__[field]!r}" for field in type(self)._tf_field_names)
        return f"{type(self).__qualname__.rpartition('.')[2]}({given})"

    def __eq__(self, other):
        if type(other) is not type(self):
            return False
        if self._tf_key() != other._tf_key():
            return False
        from tandem.framework import composites

        results = []
        for mine, theirs in zip(composites.leaves(self), composites.leaves(other)):
            if not mine.shape.is_compatible_with(theirs.shape) or mine.dtype != theirs.dtype:
                return False
            results.append(_core.execute("All", _core.execute("Equal", mine, theirs)))
        return _core.execute("All", _core.execute("Pack", results, axis=0)) if results else True

    def __ne__(self, other):
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return NotImplemented
        return not equal if isinstance(equal, bool) else _core.execute("LogicalNot", equal)

    def __hash__(self):
        if not _core.executing_eagerly() or fields.components(self._tf_values()):
            raise TypeError(f"unhashable type: {type(self).__name__!r}: it holds tensors.")
        return hash((type(self), self._tf_key()))

    # ---- As a value made of tensors

    def _tf_values(self):
        return tuple(self.__dict__[field] for field in type(self)._tf_field_names)

    def _tf_components(self):
        return fields.components(self._tf_values())

    def _tf_key(self):
        return fields.static_part(self._tf_values())

    def _tf_rebuild(self, parts):
        return self._tf_like(fields.rebuilt(self._tf_values(), iter(parts)))

    @classmethod
    def _tf_like(cls, values):
        """A value of these fields, which are taken as they are."""
        value = cls.__new__(cls)
        value.__dict__.update(zip(cls._tf_field_names, values))
        value.__dict__["_tf_closed"] = True
        return value

    @property
    def _type_spec(self):
        return self.Spec._tf_like(map(spec_of_field, self._tf_values()))

    def __tf_dispatch__(self, op, inputs, attrs):
        """An op, such as that of an operator, met this value: who registered for the function of the op runs it."""
        from tandem.extension.dispatch import dispatch_op
        from tandem.framework import composites

        if op == "Identity":
            return composites.rebuild(self, lambda tensor, path: _core.execute("Identity", tensor))
        return dispatch_op(op, inputs, attrs)

    def __reduce__(self):
        return _unpickled, (type(self), self._tf_values())


def _unpickled(cls, values):
    return cls._tf_like(values)


class BatchableExtensionType(ExtensionType):
    """An extension type whose values may be batches of values; `__batch_encoder__` says how."""

    __batch_encoder__ = ExtensionTypeBatchEncoder()


def _operators(op):
    """With a tensor on the other side, whose operator does not know this type: the function is dispatched."""

    def forward(self, other):
        if not isinstance(other, (_core.Tensor, _core.VariableBase)):
            return NotImplemented
        return _dispatched(op, self, other)

    def backward(self, other):
        if not isinstance(other, (_core.Tensor, _core.VariableBase)):
            return NotImplemented
        return _dispatched(op, other, self)

    return forward, backward


def _dispatched(op, x, y):
    from tandem.extension.dispatch import dispatch_op

    return dispatch_op(op, [x, y], {})


for _name, _op in {
    "add": "AddV2", "sub": "Sub", "mul": "Mul", "truediv": "RealDiv", "floordiv": "FloorDiv", "mod": "FloorMod",
    "pow": "Pow", "and": "LogicalAnd", "or": "LogicalOr", "matmul": "MatMul",
}.items():  # fmt: skip
    _forward, _backward = _operators(_op)
    setattr(ExtensionType, f"__{_name}__", _forward)
    setattr(ExtensionType, f"__r{_name}__", _backward)
