"""The optimizers of tf.compat.v1.train, by the formulas in TensorFlow's documentation."""

from tandem import _core
from tandem._namespaces import get
from tandem.graph_mode import graph as graphs, ops
from tandem.graph_mode.optimizer import Optimizer, _present


class GradientDescentOptimizer(Optimizer):
    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _change(self, gradient, value, dtype):
        return value - gradient * self._number(self._learning_rate, dtype), {}


class MomentumOptimizer(Optimizer):
    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _create_slots(self, variables):
        for v in variables:
            self._zeros_slot(v, "momentum", self._name)

    def _change(self, gradient, value, dtype, momentum):
        rate, decay = self._number(self._learning_rate, dtype), self._number(self._momentum, dtype)
        momentum = decay * momentum + gradient
        step = gradient * rate + momentum * decay * rate if self._use_nesterov else rate * momentum
        return value - step, {"momentum": momentum}


class AdagradOptimizer(Optimizer):
    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value

    def _create_slots(self, variables):
        for v in variables:
            self._slot(v, "accumulator", self._name, self._initial)

    def _change(self, gradient, value, dtype, accumulator):
        accumulator = accumulator + gradient * gradient
        step = self._number(self._learning_rate, dtype) * gradient / get("sqrt")(accumulator)
        return value - step, {"accumulator": accumulator}


class AdamOptimizer(Optimizer):
    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _create_slots(self, variables):
        first = min(variables, key=lambda v: v.name)
        for beta, name in ((self._beta1, "beta1_power"), (self._beta2, "beta2_power")):
            value = beta() if callable(beta) else beta
            self._create_non_slot_variable(_core.convert_to_tensor(value, "float32"), name, first)
        for v in variables:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _powers(self):
        return self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power")

    def _change(self, gradient, value, dtype, m, v):
        power1, power2 = (self._number(p, dtype) for p in self._powers())
        beta1, beta2 = self._number(self._beta1, dtype), self._number(self._beta2, dtype)
        rate = self._number(self._lr, dtype) * get("sqrt")(1 - power2) / (1 - power1)
        m = m + (gradient - m) * (1 - beta1)
        v = v + (gradient * gradient - v) * (1 - beta2)
        step = rate * m / (get("sqrt")(v) + self._number(self._epsilon, dtype))
        return value - step, {"m": m, "v": v}

    def _update_rows(self, slices, variable):
        """Moments of all rows decay, so that all rows move."""
        return self._update(_core.convert_to_tensor(slices), variable)

    def _finish(self, update_ops, name_scope):
        with graphs.control_dependencies(_present(update_ops)):
            power1, power2 = self._powers()
            one = power1.assign(power1 * self._number(self._beta1, power1.dtype), read_value=False)
            two = power2.assign(power2 * self._number(self._beta2, power2.dtype), read_value=False)
        return ops.group(*_present([*update_ops, one, two]), name=name_scope)


class AdadeltaOptimizer(Optimizer):
    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, variables):
        for v in variables:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _change(self, gradient, value, dtype, accum, accum_update):
        rho, epsilon, sqrt = self._number(self._rho, dtype), self._number(self._epsilon, dtype), get("sqrt")
        accum = accum * rho + gradient * gradient * (1 - rho)
        step = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * gradient
        after = {"accum": accum, "accum_update": accum_update * rho + step * step * (1 - rho)}
        return value - step * self._number(self._lr, dtype), after


class RMSPropOptimizer(Optimizer):
    def __init__(
        self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False, name="RMSProp"
    ):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._centered = epsilon, centered

    def _create_slots(self, variables):
        for v in variables:
            self._slot(v, "rms", self._name, 1.0)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _change(self, gradient, value, dtype, rms, momentum, mg=None):
        decay = self._number(self._decay, dtype)
        rms = rms + (gradient * gradient - rms) * (1 - decay)
        after, spread = {"rms": rms}, rms
        if mg is not None:
            after["mg"] = mg = mg + (gradient - mg) * (1 - decay)
            spread = rms - mg * mg
        step = self._number(self._learning_rate, dtype) * gradient / get("sqrt")(
            spread + self._number(self._epsilon, dtype))  # fmt: skip
        after["momentum"] = momentum = momentum * self._number(self._momentum, dtype) + step
        return value - momentum, after


class FtrlOptimizer(Optimizer):
    def __init__(
        self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
        l2_regularization_strength=0.0, use_locking=False, name="Ftrl", accum_name=None, linear_name=None,
        l2_shrinkage_regularization_strength=0.0, beta=None,
    ):  # fmt: skip
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value {initial_accumulator_value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        for given in (l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength):
            if given < 0.0:
                raise ValueError(f"The regularization strength {given} needs to be positive or zero")
        super().__init__(use_locking, name)
        self._learning_rate, self._power, self._initial = learning_rate, learning_rate_power, initial_accumulator_value
        self._l1, self._l2, self._shrinkage = (
            l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength)  # fmt: skip
        self._beta, self._names = beta or 0.0, (accum_name, linear_name)

    def _create_slots(self, variables):
        for v in variables:
            self._slot(v, "accum", self._names[0] or self._name, self._initial)
            self._zeros_slot(v, "linear", self._names[1] or self._name)

    def _change(self, gradient, value, dtype, accum, linear):
        rate, power = self._number(self._learning_rate, dtype), self._number(-self._power, dtype)
        l2 = self._number(self._l2, dtype) + self._number(self._beta, dtype) / (2 * rate)
        shrunk = gradient + 2 * self._number(self._shrinkage, dtype) * value
        new_accum = accum + gradient * gradient
        raised = get("sqrt") if self._power == -0.5 else lambda x: get("pow")(x, power)
        linear = linear + shrunk - (raised(new_accum) - raised(accum)) / rate * value
        quadratic = raised(new_accum) / rate + 2 * l2
        l1 = self._number(self._l1, dtype)
        clipped = get("clip_by_value")(linear, -l1, l1)
        return (clipped - linear) / quadratic, {"accum": new_accum, "linear": linear}


def _shrink(value, l1, l2, rate, dtype, number):
    """The proximal step: towards zero by l1, divided by l2's part."""
    scale = 1 + number(l2, dtype) * rate
    if not isinstance(l1, (int, float)) or l1 > 0:
        value = get("sign")(value) * get("nn.relu")(get("abs")(value) - rate * number(l1, dtype))
    return value / scale


class ProximalGradientDescentOptimizer(Optimizer):
    def __init__(
        self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
        name="ProximalGradientDescent",
    ):  # fmt: skip
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _change(self, gradient, value, dtype):
        rate = self._number(self._learning_rate, dtype)
        return _shrink(value - rate * gradient, self._l1, self._l2, rate, dtype, self._number), {}


class ProximalAdagradOptimizer(Optimizer):
    def __init__(
        self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
        l2_regularization_strength=0.0, use_locking=False, name="ProximalAdagrad",
    ):  # fmt: skip
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, variables):
        for v in variables:
            self._slot(v, "accumulator", self._name, self._initial)

    def _change(self, gradient, value, dtype, accumulator):
        accumulator = accumulator + gradient * gradient
        rate = self._number(self._learning_rate, dtype) / get("sqrt")(accumulator)
        return _shrink(value - gradient * rate, self._l1, self._l2, rate, dtype, self._number), {
            "accumulator": accumulator
        }


class AdagradDAOptimizer(Optimizer):
    def __init__(
        self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1, l1_regularization_strength=0.0,
        l2_regularization_strength=0.0, use_locking=False, name="AdagradDA",
    ):  # fmt: skip
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError("initial_gradient_squared_accumulator_value must be positive: "
                             f"{initial_gradient_squared_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step = learning_rate, global_step
        self._initial = initial_gradient_squared_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, variables):
        for v in variables:
            self._zeros_slot(v, "gradient_accumulator", self._name)
            self._slot(v, "gradient_squared_accumulator", self._name, self._initial)

    def _change(self, gradient, value, dtype, gradient_accumulator, gradient_squared_accumulator):
        rate = self._number(self._learning_rate, dtype)
        step = self._number(_core.convert_to_tensor(self._global_step) + 1, dtype)
        total = gradient_accumulator + gradient
        squares = gradient_squared_accumulator + gradient * gradient
        moved = total
        if self._l1 > 0:
            moved = get("sign")(total) * get("nn.relu")(get("abs")(total) - self._number(self._l1, dtype) * step)
        value = -rate * moved / (self._number(self._l2, dtype) * step * rate + get("sqrt")(squares))
        return value, {"gradient_accumulator": total, "gradient_squared_accumulator": squares}
