"""Loads the native module.

OpenBLAS starts a pool of threads when it is loaded, which Tandem has no use for (its own teams own the cores)
and which nobody wants at an import. NumPy's own copy is loaded first, so that it stays as it is.
"""

import os

import numpy  # noqa: F401

_THREADS = "OPENBLAS_NUM_THREADS"
_given = os.environ.get(_THREADS)
os.environ[_THREADS] = "1"
try:
    from tandem import _core  # noqa: F401
finally:
    if _given is None:
        del os.environ[_THREADS]
    else:
        os.environ[_THREADS] = _given
