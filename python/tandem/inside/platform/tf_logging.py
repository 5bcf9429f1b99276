"""tensorflow.python.platform.tf_logging, tf.compat.v1.logging: the logger `tensorflow` by its levels."""

import logging as _logging
from logging import DEBUG, ERROR, FATAL, INFO, WARN  # noqa: F401

from tandem.framework.log import get_logger

_counts = {}


def log(level, msg, *args, **kwargs):
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
    get_logger().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs):
    get_logger().info(msg, *args, **kwargs)


def warning(msg, *args, **kwargs):
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg, *args, **kwargs):
    get_logger().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
    get_logger().fatal(msg, *args, **kwargs)


def vlog(level, msg, *args, **kwargs):
    get_logger().log(level, msg, *args, **kwargs)


def error_log(error_msg, level=_logging.ERROR):
    get_logger().log(level, error_msg)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def _times(msg):
    _counts[msg] = _counts.get(msg, -1) + 1
    return _counts[msg]


def log_every_n(level, msg, n, *args):
    log_if(level, msg, _times(msg) % n == 0, *args)


def log_first_n(level, msg, n, *args):
    log_if(level, msg, _times(msg) < n, *args)


def get_verbosity():
    return get_logger().getEffectiveLevel()


def set_verbosity(v):
    get_logger().setLevel(v)


def flush():
    for handler in get_logger().handlers:
        handler.flush()


def TaskLevelStatusMessage(msg):  # noqa: N802
    error(msg)
