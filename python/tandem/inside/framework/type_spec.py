"""tensorflow.python.framework.type_spec."""

from tandem.framework.spec import TypeSpec, type_spec_from_value  # noqa: F401

BatchableTypeSpec = TypeSpec
_CONVERTERS = []


def register_type_spec_from_value_converter(type_object, converter_fn, allow_subclass=False):
    """Notes how the spec of a foreign type is found. Values of it have `_type_spec` for Tandem."""
    _CONVERTERS.append((type_object, converter_fn, allow_subclass))
