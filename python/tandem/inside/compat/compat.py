"""tensorflow.python.compat.compat: saved models are read by the version that wrote them."""

import contextlib


def forward_compatible(year, month, day):
    return True


@contextlib.contextmanager
def forward_compatibility_horizon(year, month, day):
    yield
