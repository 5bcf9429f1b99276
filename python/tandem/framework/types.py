"""Marker classes of tf.__internal__ and tf.types: plain Python classes, because Keras mixes them into its own."""

import abc
import typing

import numpy as np

from tandem import _core


class Tensor:
    """Base of values that behave like tensors and are not tf.Tensor."""


class CompositeTensor:
    """Base of values made of several tensors."""


_core.register_tensor_types((Tensor, CompositeTensor))


class _HasTraces(type):
    def __instancecheck__(cls, value):
        return hasattr(type(value), "_list_all_concrete_functions")


class GenericFunction(metaclass=_HasTraces):
    """What tf.function makes, and functions of loaded models: for isinstance only."""


# What TensorFlow's functions take for a tensor.
TensorLike = typing.Union[
    _core.Tensor, _core.VariableBase, int, float, bool, str, bytes, complex, tuple, list, np.ndarray, np.generic
]


class TraceType(abc.ABC):
    """The user's idea of when two arguments of a tf.function need one trace: returned by `__tf_tracing_type__`.

    Arguments whose trace types are equal share a trace, in which `placeholder_value` stands for them.
    """

    @abc.abstractmethod
    def is_subtype_of(self, other):
        """Whether a trace for `other` may be used for this."""

    @abc.abstractmethod
    def most_specific_common_supertype(self, others):
        """A type that takes in this one and others, or None."""

    @abc.abstractmethod
    def placeholder_value(self, placeholder_context=None):
        """What the function is traced with."""

    @abc.abstractmethod
    def __hash__(self):
        """As __eq__."""

    @abc.abstractmethod
    def __eq__(self, other):
        """Whether one trace does for both."""

    def to_tensors(self, value):
        return []

    def from_tensors(self, tensors):
        return self.placeholder_value(None)

    def flatten(self):
        return []

    def cast(self, value, cast_context=None):
        return value


class TracingContext:
    """What is known where an argument's trace type is asked for."""


@typing.runtime_checkable
class SupportsTracingProtocol(typing.Protocol):
    """A class whose objects say their trace type."""

    def __tf_tracing_type__(self, context):
        """The TraceType of this object."""
