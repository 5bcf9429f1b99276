"""tensorflow.python.ops.ragged.ragged_map_ops."""

from tandem import _namespaces


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None):
    """tf.map_fn under its older arguments: `dtype` says what `fn` returns."""
    return _namespaces.get("map_fn")(fn, elems, fn_output_signature=dtype, infer_shape=infer_shape, name=name)
