"""tensorflow.python.pywrap_tfe: TensorFlow's native functions that libraries call."""


def TF_ListPluggablePhysicalDevices():  # noqa: N802
    """There are no devices of plugins beside CPUs and GPUs."""
    return []
