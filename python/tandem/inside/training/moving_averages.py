"""tensorflow.python.training.moving_averages."""

from tandem import _core
from tandem.ops.moving_average import ExponentialMovingAverage  # noqa: F401


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
    """variable ← decay · variable + (1 − decay) · value."""
    if zero_debias:
        raise NotImplementedError("assign_moving_average is there with zero_debias=False: use that, or ExponentialMovingAverage.")
    decay = _core.convert_to_tensor(decay)
    part = _core.execute("Cast", 1.0 - _core.execute("Cast", decay, dtype="float32"), dtype=variable.dtype)
    change = (variable - _core.execute("Cast", _core.convert_to_tensor(value), dtype=variable.dtype)) * part
    return variable.assign_sub(change)
