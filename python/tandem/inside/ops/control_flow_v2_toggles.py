"""tensorflow.python.ops.control_flow_v2_toggles: what is always on."""


def enable_control_flow_v2():
    """It is on."""


def control_flow_v2_enabled():
    return True
