"""tensorflow.python.compat.v2_compat."""


def enable_v2_behavior():
    """It is TensorFlow 2's."""
