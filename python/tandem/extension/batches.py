"""Structures with values of extension types, as seen by loops over rows: the row of a batch, the batch of rows."""

from tandem.framework import composites


def rows(structure):
    """The structure with objects whose fields that are no tensors are those of one row. Tensors stay."""
    return _changed(structure, lambda spec: spec._unbatch())


def stacked(structure, count):
    """The opposite: with the fields of `count` rows."""
    return _changed(structure, lambda spec: spec._batch(count))


def _changed(value, change):
    from tandem.extension.extension_type import ExtensionType
    from tandem.extension.spec import ExtensionTypeSpec

    if isinstance(value, ExtensionType):
        return _with_parts(change(value._type_spec), value)
    if isinstance(value, ExtensionTypeSpec):
        return _with_parts(change(value), value)
    parts = composites.opened(value)
    return value if parts is None else parts[1]([_changed(part, change) for part in parts[0]])


def _with_parts(spec, value):
    return spec._from_components(value._tf_components())
