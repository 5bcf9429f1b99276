"""One step of each of TensorFlow's optimizers, as its raw ops take it: new values of the variable and of its slots.

The first parameters of a formula are the variables that it changes, in the order of its results.
"""

import inspect

from tandem._core import convert_to_tensor, execute
from tandem.framework.variable import variable_of


def _sqrt(x):
    return execute("Sqrt", x)


def _square(x):
    return execute("Square", x)


def _sign(x):
    return execute("Sign", x)


def _shrunk(x, by):
    """Towards zero by so much, and not beyond."""
    return _sign(x) * execute("Maximum", execute("Abs", x) - by, convert_to_tensor(0, x.dtype))


def gradient_descent(var, *, alpha, delta):
    return (var - alpha * delta,)


def proximal_gradient_descent(var, *, alpha, l1, l2, delta=None, grad=None):
    delta = grad if delta is None else delta
    return (_shrunk(var - alpha * delta, alpha * l1) / (1 + alpha * l2),)


def adadelta(var, accum, accum_update, *, lr, rho, epsilon, grad):
    accum = accum * rho + _square(grad) * (1 - rho)
    update = grad * _sqrt(accum_update + epsilon) / _sqrt(accum + epsilon)
    return var - update * lr, accum, accum_update * rho + _square(update) * (1 - rho)


def adagrad(var, accum, *, lr, grad, update_slots):
    accum = accum + _square(grad) if update_slots else accum
    return var - lr * grad * execute("Rsqrt", accum), accum


def adagrad_v2(var, accum, *, lr, epsilon, grad, update_slots):
    accum = accum + _square(grad) if update_slots else accum
    return var - lr * grad / (_sqrt(accum) + epsilon), accum


def proximal_adagrad(var, accum, *, lr, l1, l2, grad):
    accum = accum + _square(grad)
    rate = lr * execute("Rsqrt", accum)
    return _shrunk(var - grad * rate, rate * l1) / (1 + rate * l2), accum


def adagrad_da(var, gradient_accumulator, gradient_squared_accumulator, *, grad, lr, l1, l2, global_step):
    step = execute("Cast", convert_to_tensor(global_step), dtype=var.dtype)
    total, squares = gradient_accumulator + grad, gradient_squared_accumulator + _square(grad)
    return -lr * _shrunk(total, l1 * step) / (lr * l2 * step + _sqrt(squares)), total, squares


def ftrl(var, accum, linear, *, grad, lr, l1, l2, lr_power, multiply_linear_by_lr, l2_shrinkage=0):
    new = accum + _square(grad)
    power = lambda x: execute("Pow", x, -lr_power)  # noqa: E731
    pulled = grad + 2 * l2_shrinkage * var
    if multiply_linear_by_lr:
        linear = linear + pulled * lr - (power(new) - power(accum)) * var
        bound, divisor = l1 * lr, power(new) + 2 * l2 * lr
    else:
        linear = linear + pulled - (power(new) - power(accum)) / lr * var
        bound, divisor = l1, power(new) / lr + 2 * l2
    return -_shrunk(linear, bound) / divisor, new, linear


def momentum(var, accum, *, lr, grad, momentum, use_nesterov):
    accum = accum * momentum + grad
    return var - (grad * lr + accum * momentum * lr if use_nesterov else accum * lr), accum


def keras_momentum(var, accum, *, lr, grad, momentum, use_nesterov):
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if use_nesterov else accum), accum


def adam(var, m, v, *, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov):
    rate = lr * _sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = m + (grad - m) * (1 - beta1), v + (_square(grad) - v) * (1 - beta2)
    towards = grad * (1 - beta1) + beta1 * m if use_nesterov else m
    return var - towards * rate / (_sqrt(v) + epsilon), m, v


def amsgrad(var, m, v, vhat, *, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    rate = lr * _sqrt(1 - beta2_power) / (1 - beta1_power)
    m, v = m + (grad - m) * (1 - beta1), v + (_square(grad) - v) * (1 - beta2)
    vhat = execute("Maximum", vhat, v)
    return var - m * rate / (_sqrt(vhat) + epsilon), m, v, vhat


def adamax(var, m, v, *, beta1_power, lr, beta1, beta2, epsilon, grad):
    m, v = m + (grad - m) * (1 - beta1), execute("Maximum", beta2 * v, execute("Abs", grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def rms_prop(var, ms, mom, *, lr, rho, momentum, epsilon, grad):
    ms = ms + (_square(grad) - ms) * (1 - rho)
    mom = mom * momentum + lr * grad / _sqrt(ms + epsilon)
    return var - mom, ms, mom


def centered_rms_prop(var, mg, ms, mom, *, lr, rho, momentum, epsilon, grad):
    ms, mg = ms + (_square(grad) - ms) * (1 - rho), mg + (grad - mg) * (1 - rho)
    mom = mom * momentum + lr * grad / _sqrt(ms - _square(mg) + epsilon)
    return var - mom, mg, ms, mom


def add_sign(var, m, *, lr, alpha, sign_decay, beta, grad):
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + sign_decay * _sign(m) * _sign(grad)) * grad, m


def power_sign(var, m, *, lr, logbase, sign_decay, beta, grad):
    m = m * beta + grad * (1 - beta)
    return var - lr * execute("Exp", logbase * sign_decay * _sign(m) * _sign(grad)) * grad, m


def _sorted(formula, given):
    """The variables, and the other arguments as tensors of their dtype; flags stay."""
    names = inspect.signature(formula).parameters.values()
    slots = [variable_of(given[p.name]) for p in names if p.kind is p.POSITIONAL_OR_KEYWORD]
    rest = {p.name: given[p.name] for p in names if p.kind is p.KEYWORD_ONLY and p.name in given}
    kind = slots[0].dtype
    rest = {n: x if isinstance(x, bool) or n == "global_step" else convert_to_tensor(x, kind) for n, x in rest.items()}
    return slots, rest


def step(formula, given):
    """Changes whole variables."""
    slots, rest = _sorted(formula, given)
    for variable, value in zip(slots, formula(*(s.read_value() for s in slots), **rest)):
        variable.assign(value, read_value=False)


def sparse_step(formula, given):
    """Changes the rows that are named, one after the other where a row is named twice."""
    slots, rest = _sorted(formula, given)
    indices = convert_to_tensor(given["indices"])
    if indices._symbolic or len(set(indices.numpy().tolist())) < indices.shape[0]:
        from tandem.ops.control_flow import while_loop

        count = execute("Size", indices)

        def one(i):
            _rows(formula, slots, dict(rest, grad=rest["grad"][i : i + 1]), indices[i : i + 1])
            return (i + 1,)

        while_loop(lambda i: i < count, one, [convert_to_tensor(0)])
    else:
        _rows(formula, slots, rest, indices)


def _rows(formula, slots, rest, indices):
    before = [execute("GatherV2", s.read_value(), indices, axis=0) for s in slots]
    for variable, value in zip(slots, formula(*before, **rest)):
        execute("ResourceScatterUpdate", variable, indices, value)
