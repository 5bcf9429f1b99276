"""tensorflow.python.compat.v2_compat."""


def enable_v2_behavior():
    """TensorFlow 2's: ops run at once."""
    from tandem.graph_mode import switches

    switches.enable_v2_behavior()
