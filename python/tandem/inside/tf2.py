"""tensorflow.python.tf2: whether TensorFlow 2's behaviour is on. It always is."""

from tandem.framework.graph import tf2_enabled as enabled  # noqa: F401


def enable():
    """It is on."""


def disable():
    raise NotImplementedError("tensorflow.python.tf2.disable is not available in Tandem: it has TensorFlow 2's behaviour.")
