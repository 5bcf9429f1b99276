"""The logger of warnings: TensorFlow's, so that tf.get_logger() raises its level or takes it away."""

import logging
import sys


class _ToStandardError(logging.StreamHandler):
    """Writes to what sys.stderr is now, not to what it was."""

    def __init__(self):
        logging.Handler.__init__(self)

    stream = property(lambda self: sys.stderr)


def _logger():
    logger = logging.getLogger("tensorflow")
    if not logger.handlers and not logging.getLogger().handlers:
        handler = _ToStandardError()
        handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        logger.addHandler(handler)
    return logger


log = _logger()


def get_logger():
    """The logger of Tandem's warnings, under TensorFlow's name."""
    return log
