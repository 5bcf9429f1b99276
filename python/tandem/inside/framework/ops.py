"""tensorflow.python.framework.ops: tensors, graphs and what is registered for ops."""

import contextlib
import itertools

from tandem import _core
from tandem._core import EagerTensor, Tensor  # noqa: F401
from tandem.framework.device import device
from tandem.framework.graph import init_scope, inside_function, name_scope  # noqa: F401
from tandem.ops.array import convert_to_tensor as _convert

device_v2, name_scope_v2 = device, name_scope
_uids = itertools.count(1)


def uid():
    """A number that no other caller gets."""
    return next(_uids)


def tensor_id(tensor):
    return id(tensor)


def get_default_graph():
    """The graph that is traced into; outside of one, a graph that nothing is put into."""
    from tandem.graph_mode import graph

    return graph.default_graph()


def has_default_graph():
    return _core.current_graph() is not None


def executing_eagerly_outside_functions():
    with init_scope():
        return _core.executing_eagerly()


def convert_to_tensor(value, dtype=None, name=None, as_ref=False, preferred_dtype=None, dtype_hint=None, **ignored):
    return _convert(value, dtype=dtype, dtype_hint=preferred_dtype or dtype_hint, name=name)


internal_convert_to_tensor = convert_to_tensor


def _is_composite(value):
    return hasattr(type(value), "_tf_components")


def convert_to_tensor_or_composite(value, dtype=None, name=None):
    return value if _is_composite(value) else convert_to_tensor(value, dtype, name)


def convert_n_to_tensor_or_composite(values, dtype=None, name=None):
    return [None if value is None else convert_to_tensor_or_composite(value, dtype) for value in values]


def convert_n_to_tensor(values, dtype=None, name=None, preferred_dtype=None):
    return [None if value is None else convert_to_tensor(value, dtype) for value in values]


def strip_name_scope(name, export_scope):
    return name.removeprefix(export_scope + "/") if export_scope else name


def prepend_name_scope(name, import_scope):
    return f"{import_scope.rstrip('/')}/{name}" if import_scope else name


def name_from_scope_name(name):
    return name.removesuffix("/")


def get_name_scope():
    from tandem.framework.graph import current_name_scope

    return current_name_scope()


def colocate_with(op, ignore_existing=False):
    """Ops are put where their inputs are; there is nothing to ask for."""
    return contextlib.nullcontext()


_colocate_with_for_gradient = colocate_with


def is_dense_tensor_like(value):
    return isinstance(value, (_core.Tensor, _core.VariableBase))


def register_dense_tensor_like_type(tensor_type):
    """What is like a tensor has `__tf_tensor__`."""


def raise_from_not_ok_status(error, name):
    raise error


class RegisterGradient:
    """Notes the gradient of an op. Tandem's ops have their own: it is used for none of them."""

    def __init__(self, op_type):
        self._op_type = op_type

    def __call__(self, f):
        _GRADIENTS[self._op_type] = f
        return f


_GRADIENTS = {}


def NotDifferentiable(op_type):  # noqa: N802
    _GRADIENTS[op_type] = None


no_gradient = NoGradient = NotDifferentiable


class NullContextmanager(contextlib.nullcontext):
    def __init__(self, *args, **kwargs):
        super().__init__()


def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    """Ops outside of functions run at once."""
    from tandem.graph_mode import graph

    graph.enable_eager()


_colocate_with = colocate_with


@contextlib.contextmanager
def container(container_name):
    """Resources have no containers."""
    yield container_name
