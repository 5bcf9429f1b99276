"""Settings of TensorFlow that mean nothing, or something else, in Tandem: kept, so that they read back."""

from tandem import _core
from tandem.framework.log import get_logger  # noqa: F401  tf.get_logger

_KEPT = {"options": {}, "jit": "", "synchronous": True}


def get_experimental_options():
    """What set_experimental_options was given."""
    return dict(_KEPT["options"])


def set_experimental_options(options):
    """Tandem's passes over graphs are always on; the names are TensorFlow's."""
    _KEPT["options"].update(options)


def get_jit():
    """What set_jit was given."""
    return _KEPT["jit"]


def set_jit(enabled):
    """Functions are always compiled."""
    _KEPT["jit"] = {True: "autoclustering", False: ""}.get(enabled, enabled)


def enable_tensor_float_32_execution(enabled):
    """Whether products may round their factors to 10 bits on a GPU that can."""
    _core.enable_tensor_float_32_execution(bool(enabled))


def tensor_float_32_execution_enabled():
    """Whether they may; True unless TANDEM_TF32=0 or enable_tensor_float_32_execution(False) said otherwise."""
    return _core.tensor_float_32_execution_enabled()


def get_synchronous_execution():
    """Whether an op is done when its call returns."""
    return _KEPT["synchronous"]


def set_synchronous_execution(enable):
    """A host read waits in any case; the wish is kept."""
    _KEPT["synchronous"] = bool(enable)


def enable_check_numerics(stack_height_limit=30, path_length_limit=50):
    """From now on an op that gives an infinity or a NaN raises, and says which one it was."""
    _core.set_check_numerics(True)


def disable_check_numerics():
    """The results of ops are not looked at any more."""
    _core.set_check_numerics(False)
