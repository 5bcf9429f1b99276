"""tensorflow.python.eager.polymorphic_function.polymorphic_function."""

from tandem.framework.function import Function  # noqa: F401
