"""What Keras's own conftest gives to some of its test files; the wheel does not carry it."""

import keras
import pytest


def skip_if_backend(given_backend, reason):
    return pytest.mark.skipif(keras.backend.backend() == given_backend, reason=reason)
