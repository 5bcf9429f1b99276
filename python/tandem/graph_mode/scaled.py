"""Optimizers whose loss is scaled, so that small gradients are no zeros in float16."""

from tandem import _core
from tandem._namespaces import get
from tandem.graph_mode import graph as graphs, ops
from tandem.graph_mode.optimizer import Optimizer


class LossScale:
    """A factor of the loss; update() says from the gradients what it is next."""

    def __call__(self):
        raise NotImplementedError

    def update(self, grads):
        """(operation, whether the gradients are to be applied)."""
        raise NotImplementedError

    def get_config(self):
        raise NotImplementedError

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class FixedLossScale(LossScale):
    def __init__(self, loss_scale_value):
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._value = float(loss_scale_value)

    def __call__(self):
        return get("convert_to_tensor")(self._value)

    def update(self, grads):
        return ops.no_op(), True

    def get_config(self):
        return {"loss_scale_value": self._value}

    def __repr__(self):
        return f"FixedLossScale({self._value})"


class DynamicLossScale(LossScale):
    """Doubled after many steps with finite gradients, halved after one without."""

    def __init__(self, initial_loss_scale=2**15, increment_period=2000, multiplier=2.0):
        self._initial, self._period, self._factor = float(initial_loss_scale), int(increment_period), float(multiplier)
        self._variables = {}

    initial_loss_scale = property(lambda self: self._initial)
    increment_period = property(lambda self: self._period)
    multiplier = property(lambda self: self._factor)

    def _own(self):
        from tandem.inside.ops.variable_v1 import VariableV1

        graph = graphs.current()
        if graph not in self._variables:
            scale = VariableV1(self._initial, trainable=False, name="current_loss_scale", dtype="float32")
            good = VariableV1(0, trainable=False, name="good_steps", dtype="int64")
            self._variables[graph] = scale, good
        return self._variables[graph]

    def __call__(self):
        return self._own()[0].read_value()

    def update(self, grads):
        scale, good = self._own()
        flat = [_core.convert_to_tensor(g) for g in grads if g is not None]
        finite = get("reduce_all")(get("stack")([get("reduce_all")(get("math.is_finite")(g)) for g in flat]))
        where, counted = get("where"), good.read_value() + 1
        grows = counted >= self._period
        grown = scale.read_value() * self._factor
        grown = where(get("math.is_finite")(grown), grown, scale.read_value())
        less = get("maximum")(scale.read_value() / self._factor, 1.0)
        new = where(finite, where(grows, grown, scale.read_value()), less)
        count = where(get("logical_and")(finite, get("logical_not")(grows)), counted, get("zeros_like")(counted))
        written = [scale.assign(new, read_value=False), good.assign(count, read_value=False)]
        return ops.group(*[w for w in written if w is not None]), finite

    def get_config(self):
        return {"initial_loss_scale": self._initial, "increment_period": self._period, "multiplier": self._factor}


def _scale_of(given):
    if isinstance(given, LossScale):
        return given
    return DynamicLossScale() if given == "dynamic" else FixedLossScale(given)


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Scales the loss, and the gradients back; steps whose gradients are not finite change nothing."""

    def __init__(self, opt, loss_scale):
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(False, opt._name)
        self._optimizer, self._loss_scale = opt, _scale_of(loss_scale)

    def compute_gradients(self, loss, var_list=None, *args, **kwargs):
        scale = self._loss_scale()
        if callable(loss):
            plain = loss
            scaled = lambda: plain() * get("cast")(scale, "float32")  # noqa: E731
        else:
            scaled = loss * get("cast")(scale, loss.dtype)
        pairs = self._optimizer.compute_gradients(scaled, var_list, *args, **kwargs)
        return [(None if g is None else _core.convert_to_tensor(g) / get("cast")(scale, g.dtype), v) for g, v in pairs]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = list(grads_and_vars)
        update, good = self._loss_scale.update([g for g, _ in pairs])
        if good is True:
            applied = self._optimizer.apply_gradients(pairs, global_step, name)
        else:
            with graphs.control_dependencies(None):
                self._optimizer._create_slots([v for g, v in pairs if g is not None])
            applied = get("cond")(good, lambda: self._applied(pairs, global_step, name), lambda: ops.no_op())
        return ops.group(*[op for op in (applied, update) if op is not None])

    def _applied(self, pairs, global_step, name):
        self._optimizer.apply_gradients(pairs, global_step, name)

    def get_slot(self, var, name):
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self):
        return self._optimizer.get_slot_names()

    def variables(self):
        return self._optimizer.variables()


def enable_mixed_precision_graph_rewrite(opt, loss_scale="dynamic"):
    """The optimizer with a scaled loss. Ops keep their dtypes: Keras's mixed_float16 policy chooses others."""
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite():
    """There is no rewriting."""
