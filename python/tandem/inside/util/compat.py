"""tensorflow.python.util.compat."""

import collections.abc as collections_abc  # noqa: F401
import numbers
import os

import numpy as np

from tandem.framework.compat import as_bytes, as_text

as_str = as_text
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_str_any(value, encoding="utf-8"):
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path):
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def path_to_bytes(path):
    return as_bytes(os.fspath(path) if hasattr(path, "__fspath__") else path)
