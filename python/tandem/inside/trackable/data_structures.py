"""tensorflow.python.trackable.data_structures. Tandem leaves lists and dicts of the program as they are."""

from tandem.framework.trackable import DictWrapper, ListWrapper  # noqa: F401

_DictWrapper = DictWrapper


class NoDependency:
    """A value that is no child of what it is an attribute of."""

    def __init__(self, value):
        self.value = value


def wrap_or_unwrap(value):
    return value.value if isinstance(value, NoDependency) else value


def sticky_attribute_assignment(trackable, name, value):
    return wrap_or_unwrap(value)
