"""tensorflow.python.ops.tensor_getitem_override: a part of a tensor, as a function."""

from tandem import _core
from tandem.inside.util.dispatch import add_dispatch_support
from tandem.inside.util.tf_export import tf_export


@tf_export("__operators__.getitem", v1=[])
@add_dispatch_support
def _slice_helper(tensor, slice_spec, var=None):
    """tensor[slice_spec]"""
    if not hasattr(tensor, "dtype") or not isinstance(tensor, (_core.Tensor, _core.VariableBase)):
        tensor = _core.convert_to_tensor(tensor)
    return tensor[slice_spec]
