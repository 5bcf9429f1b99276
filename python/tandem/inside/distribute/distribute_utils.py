"""tensorflow.python.distribute.distribute_utils."""

import contextlib


@contextlib.contextmanager
def cache_variable_reads():
    """Copies of variables that lie elsewhere are kept for the block. All of Tandem's lie in this process."""
    yield
