"""tensorflow.python.ops.ragged.ragged_getitem: a part of a ragged tensor, as a function."""

from tandem.framework.ragged import RaggedTensor
from tandem.inside.util.dispatch import add_dispatch_support
from tandem.inside.util.tf_export import tf_export


@tf_export("__operators__.ragged_getitem", v1=[])
@add_dispatch_support
def ragged_tensor_getitem(rt_input, key):
    """rt_input[key]"""
    if not isinstance(rt_input, RaggedTensor):
        raise TypeError(f"Expected a RaggedTensor, got {type(rt_input).__name__}.")
    return rt_input[key]
