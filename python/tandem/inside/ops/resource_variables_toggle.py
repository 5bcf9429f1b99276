"""tensorflow.python.ops.resource_variables_toggle: what is always on."""


def enable_resource_variables():
    """They are."""


def resource_variables_enabled():
    return True
