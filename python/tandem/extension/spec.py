"""The Spec of an extension type: its fields with specs in place of tensors."""

import inspect

from tandem.extension import fields
from tandem.extension.immutable_dict import ImmutableDict
from tandem.framework.shape import TensorShape
from tandem.framework.spec import TensorSpec, TypeSpec, type_spec_from_value


def spec_of_field(value):
    if type(value) is tuple:
        return tuple(map(spec_of_field, value))
    if isinstance(value, ImmutableDict):
        return ImmutableDict((key, spec_of_field(item)) for key, item in value.items())
    if isinstance(value, TypeSpec) or not fields.is_component(value):
        return value
    return type_spec_from_value(value)


def common_field(a, b):
    """The most specific field that takes in both, which have one static part."""
    if type(a) is tuple:
        return tuple(map(common_field, a, b))
    if isinstance(a, ImmutableDict):
        return ImmutableDict((key, common_field(a[key], b[key])) for key in a)
    return a.most_specific_compatible_type(b) if isinstance(a, TypeSpec) else a


class _Closing(type):
    """Converts the fields after a constructor, which may be the user's own."""

    def __call__(cls, *args, **kwargs):
        spec = cls.__new__(cls)
        cls.__init__(spec, *args, **kwargs)
        value_type = cls._tf_value_type
        types = value_type._tf_types()
        for field in value_type._tf_field_names:
            if field not in spec.__dict__:
                raise ValueError(f"{cls.__qualname__} missing required field {field!r}: the constructor does not set it.")
            spec.__dict__[field] = fields.convert(spec.__dict__[field], types[field], field, to_spec=True)
        return spec


class ExtensionTypeSpec(TypeSpec, metaclass=_Closing):
    """Base of all Specs. `_tf_value_type` is the class whose values it describes."""

    _tf_value_type = None

    def __init__(self, *args, **kwargs):
        names = self._tf_value_type._tf_field_names
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        try:
            bound = inspect.Signature(parameters).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__qualname__}.__init__() {error}") from None
        self.__dict__.update(bound.arguments)

    @classmethod
    def _tf_like(cls, values):
        spec = cls.__new__(cls)
        spec.__dict__.update(zip(cls._tf_value_type._tf_field_names, values))
        return spec

    @classmethod
    def from_value(cls, value):
        return value._type_spec

    @property
    def value_type(self):
        return self._tf_value_type

    def _tf_values(self):
        return tuple(self.__dict__[field] for field in self._tf_value_type._tf_field_names)

    # ---- As something made of the specs of tensors

    def _tf_components(self):
        return fields.components(self._tf_values())

    def _tf_key(self):
        return fields.static_part(self._tf_values())

    def _tf_rebuild(self, parts):
        """A spec of other specs, or the value of such tensors."""
        parts = list(parts)
        kind = type(self) if all(isinstance(part, TypeSpec) for part in parts) and parts else self._tf_value_type
        return kind._tf_like(fields.rebuilt(self._tf_values(), iter(parts)))

    @property
    def _component_specs(self):
        return tuple(self._tf_components())

    def _to_components(self, value):
        return tuple(value._tf_components())

    def _from_components(self, components):
        return self._tf_value_type._tf_like(fields.rebuilt(self._tf_values(), iter(components)))

    # ---- Comparing

    def is_compatible_with(self, spec_or_value):
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else getattr(spec_or_value, "_type_spec", None)
        return (
            isinstance(other, ExtensionTypeSpec)
            and other._tf_value_type is self._tf_value_type
            and self._tf_key() == other._tf_key()
            and all(a.is_compatible_with(b) for a, b in zip(self._tf_components(), other._tf_components()))
        )

    def is_subtype_of(self, other):
        return self.most_specific_common_supertype([other]) == other

    def most_specific_common_supertype(self, others):
        result = self
        for other in others:
            if type(other) is not type(self) or other._tf_key() != result._tf_key():
                return None
            try:
                result = type(self)._tf_like(common_field(result._tf_values(), other._tf_values()))
            except ValueError:
                return None
        return result

    def most_specific_compatible_type(self, other):
        found = self.most_specific_common_supertype([other])
        if found is None:
            self._refuse(other)
        return found

    def __eq__(self, other):
        return type(other) is type(self) and self._tf_values() == other._tf_values()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((self._tf_value_type, self._tf_key()))

    def __repr__(self):
        given = ", ".join(f"{field}={self.__dict__[field]!r}" for field in self._tf_value_type._tf_field_names)
        return f"{self._tf_value_type.__name__}.Spec({given})"

    def __reduce__(self):
        return _unpickled, (self._tf_value_type, self._tf_values())

    # ---- Batches

    def _batch(self, batch_size):
        return self._encoder().batch(self, batch_size)

    def _unbatch(self):
        return self._encoder().unbatch(self)

    def _encoder(self):
        encoder = getattr(self._tf_value_type, "__batch_encoder__", None)
        if encoder is None:
            raise NotImplementedError(
                f"{self._tf_value_type.__name__} cannot be batched: derive it from tf.experimental.BatchableExtensionType."
            )
        return encoder


def _unpickled(value_type, values):
    return value_type.Spec._tf_like(values)


def batched_field(value, change):
    """A field with `change(shape)` in place of each shape."""
    if type(value) is tuple:
        return tuple(batched_field(item, change) for item in value)
    if isinstance(value, ImmutableDict):
        return ImmutableDict((key, batched_field(item, change)) for key, item in value.items())
    if isinstance(value, TensorShape):
        return change(value)
    if isinstance(value, TensorSpec):
        return TensorSpec(change(value.shape), value.dtype)
    if isinstance(value, ExtensionTypeSpec):
        return type(value)._tf_like(batched_field(item, change) for item in value._tf_values())
    if isinstance(value, TypeSpec):
        raise NotImplementedError(f"A batch of values with a field of {value!r} is not available in Tandem.")
    return value
