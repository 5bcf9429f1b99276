"""tensorflow.python.framework.constant_op."""

import numpy as np

from tandem import _namespaces


def constant_v1(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """TensorFlow 1's: values that are too few for the shape go on with the last one."""
    constant = _namespaces.get("constant")
    if shape is not None and not verify_shape:
        flat = np.reshape(np.asarray(value), [-1])
        wanted = int(np.prod([int(n) for n in shape]))
        if 1 < flat.size < wanted:
            value = np.concatenate([flat, np.repeat(flat[-1:], wanted - flat.size)]).reshape(shape)
            dtype = dtype or constant(flat.tolist()).dtype
    return constant(value, dtype=dtype, shape=shape, name=name)
