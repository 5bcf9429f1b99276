"""tensorflow.python.ops.sparse_ops."""

from tandem import _namespaces


def sparse_to_dense(
    sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None
):
    """A dense tensor with values at places; indices are numbers, rows, or one place."""
    get = _namespaces.get
    indices = get("cast")(get("convert_to_tensor")(sparse_indices), "int64")
    if indices.shape.rank == 0:
        indices = indices[None, None]
    elif indices.shape.rank == 1:
        indices = indices[:, None]
    values = get("convert_to_tensor")(sparse_values)
    if values.shape.rank == 0:
        values = get("repeat")(values, get("shape")(indices)[0])
    made = get("SparseTensor")(indices, values, get("cast")(output_shape, "int64"))
    return get("sparse.to_dense")(made, default_value, validate_indices)
