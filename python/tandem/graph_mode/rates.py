"""Learning rates that change with the step: tf.compat.v1.train.exponential_decay and its like.

In a graph they are tensors; eagerly, functions that read the step when they are called.
"""

import functools
import math

from tandem import _core
from tandem._namespaces import get


def _rate(formula):
    @functools.wraps(formula)
    def made(*args, **kwargs):
        if _core.executing_eagerly():
            return lambda: formula(*args, **kwargs)
        return formula(*args, **kwargs)

    return made


def _numbers(rate, step, *others):
    if step is None:
        raise ValueError("Argument `global_step` must not be None.")
    rate = _core.convert_to_tensor(rate() if callable(rate) else rate)
    return (rate, *(get("cast")(v, rate.dtype) for v in (step, *others)))


@_rate
def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    rate, step, steps, decay = _numbers(learning_rate, global_step, decay_steps, decay_rate)
    part = step / steps
    return get("multiply")(rate, get("pow")(decay, get("floor")(part) if staircase else part), name=name)


@_rate
def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    rate, step, steps, decay = _numbers(learning_rate, global_step, decay_steps, decay_rate)
    part = step / steps
    return rate * get("exp")(-decay * (get("floor")(part) if staircase else part))


@_rate
def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    rate, step, steps, decay = _numbers(learning_rate, global_step, decay_steps, decay_rate)
    part = step / steps
    return rate / (1 + decay * (get("floor")(part) if staircase else part))


@_rate
def polynomial_decay(
    learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, name=None
):
    rate, step, steps, end, power = _numbers(learning_rate, global_step, decay_steps, end_learning_rate, power)
    if cycle:
        times = get("where")(get("equal")(step, 0), get("ones_like")(step), get("math.ceil")(step / steps))
        steps = steps * times
    else:
        step = get("minimum")(step, steps)
    return (rate - end) * get("pow")(1 - step / steps, power) + end


@_rate
def piecewise_constant(x, boundaries, values, name=None):
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    x = _core.convert_to_tensor(x)
    values = [_core.convert_to_tensor(v) for v in values]
    result = values[-1]
    for boundary, value in reversed(list(zip(boundaries, values))):
        result = get("where")(x <= get("cast")(boundary, x.dtype), value, result)
    return result


def _cosine(part):
    return 0.5 * (1.0 + get("cos")(math.pi * part))


@_rate
def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    rate, step, steps = _numbers(learning_rate, global_step, decay_steps)
    return rate * ((1 - alpha) * _cosine(get("minimum")(step, steps) / steps) + alpha)


@_rate
def cosine_decay_restarts(
    learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None
):
    rate, step, first, t, m = _numbers(learning_rate, global_step, first_decay_steps, t_mul, m_mul)
    part, floor, log = step / first, get("floor"), get("math.log")
    if float(t_mul) == 1.0:
        turn = floor(part)
        part = part - turn
    else:
        turn = floor(log(1.0 - part * (1.0 - t)) / log(t))
        done = (1.0 - t**turn) / (1.0 - t)
        part = (part - done) / t**turn
    return rate * ((1 - alpha) * m**turn * _cosine(part) + alpha)


@_rate
def linear_cosine_decay(
    learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None
):
    rate, step, steps = _numbers(learning_rate, global_step, decay_steps)
    step = get("minimum")(step, steps)
    linear = (steps - step) / steps
    return rate * ((alpha + linear) * _cosine(2.0 * num_periods * (step / steps)) + beta)


@_rate
def noisy_linear_cosine_decay(
    learning_rate, global_step, decay_steps, initial_variance=1.0, variance_decay=0.55, num_periods=0.5, alpha=0.0,
    beta=0.001, name=None,
):  # fmt: skip
    rate, step, steps = _numbers(learning_rate, global_step, decay_steps)
    step = get("minimum")(step, steps)
    linear = (steps - step) / steps
    spread = get("sqrt")(initial_variance / get("pow")(1.0 + step, variance_decay))
    noisy = linear + get("random.normal")(linear.shape, stddev=spread)
    return rate * ((alpha + noisy) * _cosine(2.0 * num_periods * (step / steps)) + beta)
