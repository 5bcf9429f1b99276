"""Values of extension types in signatures and results of saved functions.

A type is found again by its name: `__name__` in its class, or the class's own. Where the program does not have it, an
anonymous type with the same fields stands in for it.
"""

from tandem import _core
from tandem.extension import extension_type, fields
from tandem.extension.extension_type import ExtensionType
from tandem.extension.immutable_dict import ImmutableDict
from tandem.extension.spec import ExtensionTypeSpec
from tandem.framework.log import log as _log

_anonymous = {}


class NumberedFields:
    """A result with the numbers of tensors in place of its tensors."""

    def __init__(self, kind, names, values):
        self.kind, self.names, self.values = kind, names, values

    @classmethod
    def of(cls, value, number):
        """`number(part)` is the stored form of each part."""
        numbers = iter([_Part(number(part)) for part in value._tf_components()])
        return cls(type(value), type(value)._tf_field_names, fields.rebuilt(value._tf_values(), numbers))

    def _pack_results(self, flat):
        from tandem.framework.composites import unpack

        return self.kind._tf_like(_filled(self.values, lambda part: unpack(part.form, flat)))


class _Part:
    """A part of a result, as its number or as the form of something made of several."""

    _tf_part = True

    def __init__(self, form):
        self.form = form


def _filled(value, change):
    if type(value) is tuple:
        return tuple(_filled(item, change) for item in value)
    if isinstance(value, ImmutableDict):
        return ImmutableDict((key, _filled(item, change)) for key, item in value.items())
    return change(value) if isinstance(value, _Part) else value


def registered_name(kind):
    return kind.__dict__.get("__name__", kind.__qualname__)


def extension_json(item, encode):
    """A value, a spec or a numbered result."""
    if isinstance(item, NumberedFields):
        return _row("result", item.kind, item.names, item.values, encode)
    kind = item._tf_value_type if isinstance(item, ExtensionTypeSpec) else type(item)
    what = "spec" if isinstance(item, ExtensionTypeSpec) else "value"
    return _row(what, kind, kind._tf_field_names, item._tf_values(), encode)


def _row(what, kind, names, values, encode):
    return {"extension": registered_name(kind), "what": what, "fields": list(names),
            "items": [_field_json(value, encode) for value in values]}  # fmt: skip


def _field_json(value, encode):
    if isinstance(value, _Part):
        return {"part": encode(value.form)}
    if type(value) is tuple:
        return {"fields": [_field_json(item, encode) for item in value]}
    if isinstance(value, ImmutableDict):
        return {"mapping": [[key, _field_json(item, encode)] for key, item in value.items()]}
    return {"field": encode(value)}


def extension_from(row, decode):
    kind = _found(row["extension"], tuple(row["fields"]))
    values = tuple(_field_from(item, decode) for item in row["items"])
    if row["what"] == "result":
        return NumberedFields(kind, kind._tf_field_names, values)
    return (kind.Spec if row["what"] == "spec" else kind)._tf_like(values)


def _field_from(row, decode):
    if "part" in row:
        return _Part(decode(row["part"]))
    if "fields" in row:
        return tuple(_field_from(item, decode) for item in row["fields"])
    if "mapping" in row:
        return ImmutableDict((key, _field_from(item, decode)) for key, item in row["mapping"])
    return decode(row["field"])


def _defined(kind=ExtensionType):
    """All types that the program has defined, the newest first: several may have one bare name."""
    for sub in reversed(kind.__subclasses__()):
        yield from _defined(sub)
        yield sub


def _found(name, names):
    for kind in _defined():
        if registered_name(kind) == name and kind._tf_field_names == names:
            return kind
    if (name, names) not in _anonymous:
        _log.warning(
            "The saved model uses the extension type %s, which the program does not define: its values are of an "
            "anonymous type with the same fields.", name
        )  # fmt: skip
        annotations = {field: _core.Tensor for field in names}
        kind = type(ExtensionType)("AnonymousExtensionType", (ExtensionType,), {"__annotations__": annotations})
        extension_type._known.pop("AnonymousExtensionType", None)
        _anonymous[(name, names)] = kind
    return _anonymous[(name, names)]
