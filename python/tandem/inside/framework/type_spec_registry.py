"""tensorflow.python.framework.type_spec_registry: specs by the names that libraries give them."""

import re

_TYPE_SPEC_TO_NAME, _NAME_TO_TYPE_SPEC = {}, {}


def register(name):
    """Gives a class of specs a name such as "package.Class"."""
    if not re.match(r"^(\w+\.)+\w+$", name):
        raise ValueError(f"Registered name must have the form '{{project_name}}.{{type_name}}'. Received: {name!r}.")

    def decorate(cls):
        if cls in _TYPE_SPEC_TO_NAME:
            raise ValueError(f"Class {cls.__module__}.{cls.__name__} has already been registered with name {_TYPE_SPEC_TO_NAME[cls]}.")
        if name in _NAME_TO_TYPE_SPEC:
            raise ValueError(f"Name {name} has already been registered for class {_NAME_TO_TYPE_SPEC[name]}.")
        _TYPE_SPEC_TO_NAME[cls] = name
        _NAME_TO_TYPE_SPEC[name] = cls
        return cls

    return decorate


def _register_own():
    from tandem.framework.ragged import RaggedTensorSpec
    from tandem.framework.sparse import SparseTensorSpec
    from tandem.framework.spec import TensorSpec

    for cls in (TensorSpec, SparseTensorSpec, RaggedTensorSpec):
        register(f"tf.{cls.__name__}")(cls)


_register_own()


def get_name(cls):
    if cls not in _TYPE_SPEC_TO_NAME:
        raise ValueError(f"TypeSpec {cls.__module__}.{cls.__name__} has not been registered.")
    return _TYPE_SPEC_TO_NAME[cls]


def lookup(name):
    if name not in _NAME_TO_TYPE_SPEC:
        raise ValueError(f"No TypeSpec has been registered with name {name!r}")
    return _NAME_TO_TYPE_SPEC[name]
