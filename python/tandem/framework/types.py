"""Marker classes of tf.__internal__: plain Python classes, because Keras mixes them into its own."""


class Tensor:
    """Base of values that behave like tensors and are not tf.Tensor."""


class CompositeTensor:
    """Base of values made of several tensors."""


class _HasTraces(type):
    def __instancecheck__(cls, value):
        return hasattr(type(value), "_list_all_concrete_functions")


class GenericFunction(metaclass=_HasTraces):
    """What tf.function makes, and functions of loaded models: for isinstance only."""
