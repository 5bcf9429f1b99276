"""Operators of Keras 2's symbolic tensors.

tf_keras takes them from tf.Tensor. Tandem's are native and refuse other objects; here the same operators are calls of the
functions behind them, which ask Keras what a call with its tensors is (extension/global_dispatch.py).
"""

from tandem import _core, _namespaces

_BINARY = {
    "add": "__operators__.add", "sub": "math.subtract", "mul": "math.multiply", "truediv": "math.truediv",
    "floordiv": "math.floordiv", "mod": "math.floormod", "pow": "math.pow", "matmul": "linalg.matmul",
    "and": "math.logical_and", "or": "math.logical_or", "xor": "math.logical_xor",
}  # fmt: skip
_COMPARED = {
    "lt": "math.less", "le": "math.less_equal", "gt": "math.greater", "ge": "math.greater_equal",
    "eq": "__operators__.eq", "ne": "__operators__.ne", "getitem": "__operators__.getitem",
}  # fmt: skip
_UNARY = {"invert": "math.logical_not", "neg": "math.negative", "abs": "math.abs"}


def _call(full, swapped=False):
    def of_two(self, other):
        if not swapped:
            return _namespaces.get(full)(self, other)
        if not isinstance(other, (_core.Tensor, _core.VariableBase)) and not hasattr(other, "_keras_history"):
            other = _core.convert_to_tensor(other, self.dtype)
        return _namespaces.get(full)(other, self)

    return of_two


def _call_alone(full):
    return lambda self: _namespaces.get(full)(self)


def install(module):
    """tf_keras.src.engine.keras_tensor"""
    from tandem.framework.tensor import Tensor

    for kind in (module.KerasTensor, module.RaggedKerasTensor):
        _install(kind, Tensor)
    module.RaggedKerasTensor.__getitem__ = _call("__operators__.ragged_getitem")


def _install(kind, Tensor):  # noqa: N803
    for name, full in _BINARY.items():
        for method, function in ((f"__{name}__", _call(full)), (f"__r{name}__", _call(full, swapped=True))):
            if method in Tensor.OVERLOADABLE_OPERATORS:
                setattr(kind, method, function)
    for name, full in _COMPARED.items():
        setattr(kind, f"__{name}__", _call(full))
    for name, full in _UNARY.items():
        setattr(kind, f"__{name}__", _call_alone(full))
    kind.__hash__ = object.__hash__
