"""tensorflow.python.util.tf_contextlib."""

from contextlib import contextmanager  # noqa: F401
