"""tensorflow.python.platform.test."""

import tempfile

_folder = []


def get_temp_dir():
    """A folder of this process for tests."""
    if not _folder:
        _folder.append(tempfile.mkdtemp())
    return _folder[0]


def disable_with_predicate(pred, skip_message):
    def decorate(function):
        def call(self, *args, **kwargs):
            if pred():
                self.skipTest(skip_message)
            return function(self, *args, **kwargs)

        call.__name__ = function.__name__
        return call

    return decorate


def test_src_dir_path(relative_path):
    import os

    return os.path.abspath(relative_path)

from unittest import mock  # noqa: E402, F401  (tf.compat.v1.test.mock)
