"""tf.zeros_initializer and its kind: functions of a shape that make first values of variables."""

import numpy as np

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import float32
from tandem.framework.shape import as_shape
from tandem.ops import array, random


class Initializer:
    """Base of initializers: call one with a shape and a dtype."""

    def __call__(self, shape, dtype=None, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no __call__")

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**{k: v for k, v in config.items() if k != "dtype"})


class zeros_initializer(Initializer):
    """Zeros."""

    def __call__(self, shape, dtype=float32, **kwargs):
        return array.zeros(shape, dtype)


class ones_initializer(Initializer):
    """Ones."""

    def __call__(self, shape, dtype=float32, **kwargs):
        return array.ones(shape, dtype)


class constant_initializer(Initializer):
    """One number everywhere, or these values in the wanted shape."""

    def __init__(self, value=0, support_partition=False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, list or tuple of "
                "values, or numpy.ndarray."
            )
        self.value = value

    def __call__(self, shape, dtype=None, **kwargs):
        dtype = None if dtype is None else as_dtype(dtype)
        if np.isscalar(self.value):
            return execute("Fill", as_shape(shape).as_list(), convert_to_tensor(self.value, dtype))
        values = np.asarray(self.value)
        wanted = as_shape(shape)
        if values.size != wanted.num_elements():
            raise TypeError(
                f"Eager execution of tf.constant with unsupported shape. Tensor: value has {values.size} elements, "
                f"shape is {wanted} with {wanted.num_elements()} elements"
            )
        return execute("Reshape", convert_to_tensor(self.value, dtype), wanted.as_list())

    def get_config(self):
        return {"value": self.value}


class random_uniform_initializer(Initializer):
    """Uniform numbers."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape, dtype=float32, **kwargs):
        return random.uniform(shape, self.minval, self.maxval, dtype, self.seed)

    def get_config(self):
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


class random_normal_initializer(Initializer):
    """Numbers of a normal distribution."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape, dtype=float32, **kwargs):
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)

    def get_config(self):
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}
