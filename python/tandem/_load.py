"""Loads the native module, with what its libraries read from the environment when they are loaded.

OpenBLAS starts a pool of threads, which Tandem has no use for (its own teams own the cores) and which nobody wants at an
import. NumPy's own copy is loaded first, so that it stays as it is.

OpenMP's threads wait for each other by spinning for milliseconds, which is a waste where an input pipeline wants the
same cores: a training step beside a busy `map` took three times as long. They spin for tens of microseconds instead,
longer than the gaps between kernels, and sleep then. A user's own OMP_WAIT_POLICY or GOMP_SPINCOUNT is left alone.
"""

import os

from tandem import _processor

if _processor.missing():
    raise ImportError(_processor.missing())

import numpy  # noqa: E402, F401

_wanted = {"OPENBLAS_NUM_THREADS": "1"}
if "OMP_WAIT_POLICY" not in os.environ and "GOMP_SPINCOUNT" not in os.environ:
    _wanted["GOMP_SPINCOUNT"] = "10000"
_given = {name: os.environ.get(name) for name in _wanted}
os.environ.update(_wanted)
try:
    from tandem import _core
finally:
    for _name, _value in _given.items():
        if _value is None:
            del os.environ[_name]
        else:
            os.environ[_name] = _value

# Lines of the user's program are named in profiles and errors; these are not the user's.
_package = os.path.dirname(__file__)
_core.add_library_folders(
    [folder + os.sep for folder in {_package, os.path.realpath(_package), os.path.dirname(os.__file__)}]
)
