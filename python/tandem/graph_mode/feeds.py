"""What a session is given: values for tensors of the graph, checked as TensorFlow does."""

import numpy as np

from tandem import _core


class Feed:
    """The tensors that one key of a feed_dict stands for, and how its value is split among them."""

    def __init__(self, tensors, split=None):
        self.tensors, self.split = tensors, split
        self.only = tensors[0] if split is None else None
        if self.only is not None:
            self.numpy = np.dtype(self.only.dtype.as_numpy_dtype)
            shape = self.only.shape
            self._dims = None if shape.rank is None else tuple(shape.as_list())
            self._seen = None

    def fits(self, shape):
        if shape == self._seen:
            return True
        dims = self._dims
        good = dims is None or (len(dims) == len(shape) and all(d is None or d == s for d, s in zip(dims, shape)))
        if good:
            self._seen = shape
        return good


def feed_parts(graph, fed):
    from tandem.framework.indexed_slices import IndexedSlices
    from tandem.framework.ragged import RaggedTensor
    from tandem.framework.sparse import SparseTensor

    if isinstance(fed, SparseTensor):
        return Feed([_element(graph, t) for t in (fed.indices, fed.values, fed.dense_shape)], _split_sparse)
    if isinstance(fed, IndexedSlices):
        parts = [fed.values, fed.indices] + ([] if fed.dense_shape is None else [fed.dense_shape])
        return Feed([_element(graph, t) for t in parts], tuple)
    if isinstance(fed, RaggedTensor):
        return Feed([_element(graph, t) for t in (fed.flat_values, *fed.nested_row_splits)], _split_ragged)
    return Feed([_element(graph, fed)])


def _element(graph, fed):
    try:
        return graph.as_graph_element(fed, allow_operation=False)
    except (KeyError, ValueError, TypeError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None


def _split_sparse(value):
    return value.indices, value.values, value.dense_shape if hasattr(value, "indices") else tuple(value)


def _split_ragged(value):
    return [value.flat_values, *value.nested_row_splits]


def fit(tensor, value):
    """A value as an array of the tensor's dtype; its shape has to fit."""
    if isinstance(value, _core.Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
            "lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
            f"{value} which was passed to the argument `feed_dict` with key {tensor}."
        )
    dtype = tensor.dtype.as_numpy_dtype
    if isinstance(value, int) and np.issubdtype(dtype, np.integer) and int(dtype(value)) != value:
        raise TypeError(f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {dtype}. "
                        "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64).")
    array = np.asarray(value, dtype=dtype)
    if not tensor.shape.is_compatible_with(array.shape):
        raise ValueError(f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape "
                         f"{tensor.shape}")
    return array if tensor.dtype.name == "string" else _core.convert_to_tensor(array, tensor.dtype)
