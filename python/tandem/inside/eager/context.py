"""tensorflow.python.eager.context: whether ops run at once, and on which devices."""

import contextlib

from tandem import _core
from tandem.framework.device import device  # noqa: F401
from tandem.framework.graph import Context, _reset_context, context, executing_eagerly  # noqa: F401

GRAPH_MODE, EAGER_MODE = 0, 1
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN = 0, 1
DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = 2, 3
SYNC, ASYNC = 0, 1

context_safe = context
in_eager_mode = executing_eagerly
executing_eagerly_v1 = executing_eagerly


@contextlib.contextmanager
def eager_mode():
    """Ops of the block run at once, also within a graph."""
    with _core.init_scope():
        yield


@contextlib.contextmanager
def graph_mode():
    """Ops of the block are put into a graph of their own."""
    from tandem.framework.graph import Graph

    with Graph().as_default():
        yield


def ensure_initialized():
    """Opens the devices."""
    _core.config.list_logical_devices()


def num_gpus():
    return len(_core.config.list_logical_devices("GPU"))


def get_device_name():
    return ""


def is_tfrt_enabled():
    return False


def is_custom_device(device_name):
    return False


def async_wait():
    """Waits until all that was asked for is computed."""
    _core.synchronize()


@contextlib.contextmanager
def async_scope():
    """Work on devices is asynchronous in any case; at the end of the block it is done."""
    try:
        yield
    finally:
        async_wait()


def async_clear_error():
    """An op that failed has raised where its result was read."""


def global_seed():
    from tandem.inside.framework.random_seed import global_seed as seed

    return seed()


def set_global_seed(seed):
    from tandem import _namespaces

    _namespaces.get("random.set_seed")(seed)


def get_log_device_placement():
    return _core.config.get_log_device_placement()


def set_log_device_placement(enable):
    _core.config.set_log_device_placement(enable)


def set_soft_device_placement(enable):
    _core.config.set_soft_device_placement(enable)


def get_config():
    """The configuration of sessions; nothing of it configures eager ops."""
    from tandem import _namespaces

    return _namespaces.get("compat.v1.ConfigProto")()


def shared_name(name=None):
    return name or ""
