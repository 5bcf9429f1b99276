"""tf.experimental.numpy.random: NumPy's first names for random numbers."""

import numpy as np

from tandem import _core
from tandem.ops import random as _random
from tandem.ops.numpy_api import _default, _dtype


def seed(s):
    """All sequences start over from this seed."""
    _core.functions.set_seed(int(s))


def randn(*args):
    """Normal numbers in these sizes."""
    return _random.normal(list(args), dtype=_default(np.float64))


def standard_normal(size=None):
    """Normal numbers in a shape."""
    return _random.normal([] if size is None else size, dtype=_default(np.float64))


def rand(*size):
    """Uniform numbers in these sizes."""
    return _random.uniform(list(size), dtype=_default(np.float64))


def uniform(low=0.0, high=1.0, size=None):
    """Uniform numbers between two."""
    return _random.uniform([] if size is None else size, low, high, dtype=_default(np.float64))


def randint(low, high=None, size=None, dtype=int):
    """Uniform whole numbers."""
    low, high = (0, low) if high is None else (low, high)
    return _random.uniform([] if size is None else size, low, high, dtype=_dtype(dtype))


def random(size=None):
    """Uniform numbers in [0, 1) in a shape."""
    return uniform(size=size)


def poisson(lam=1.0, size=None):
    """Numbers of a Poisson distribution."""
    from tandem.ops.random_generator import poisson as drawn

    kind = _default(np.float64)
    size = [] if size is None else [size] if isinstance(size, int) else list(size)
    lam = _core.convert_to_tensor(lam, kind)
    return _core.execute("Cast", drawn(size, lam, dtype=kind), dtype=_default(np.int64))
