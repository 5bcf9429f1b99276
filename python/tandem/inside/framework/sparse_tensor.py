"""tensorflow.python.framework.sparse_tensor: values of sparse tensors."""

import collections

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


def is_sparse(x):
    from tandem.framework.sparse import SparseTensor

    return isinstance(x, (SparseTensor, SparseTensorValue))
