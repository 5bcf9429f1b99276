"""Marker classes of tf.__internal__: plain Python classes, because Keras mixes them into its own."""


class Tensor:
    """Base of values that behave like tensors and are not tf.Tensor."""


class CompositeTensor:
    """Base of values made of several tensors."""
