"""tensorflow.python.ops.init_ops: TensorFlow 1's initializers, which know their dtype."""

import math

from tandem import _namespaces
from tandem._core import as_dtype

_get = _namespaces.get


class Initializer:
    """Called with a shape; what it was made of is its configuration."""

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError

    def _kind(self, dtype):
        return as_dtype(self.dtype if dtype is None else dtype)

    def get_config(self):
        return {name: value.name if name == "dtype" else value for name, value in vars(self).items()}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class Zeros(Initializer):
    def __init__(self, dtype="float32"):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return _get("zeros")(shape, self._kind(dtype))


class Ones(Zeros):
    def __call__(self, shape, dtype=None, partition_info=None):
        return _get("ones")(shape, self._kind(dtype))


class Constant(Initializer):
    def __init__(self, value=0, dtype="float32", verify_shape=False):
        self.value, self.dtype, self._verify = value, as_dtype(dtype), verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        from tandem.inside.framework.constant_op import constant_v1

        verify = self._verify if verify_shape is None else verify_shape
        return constant_v1(self.value, self._kind(dtype), shape, verify_shape=verify)

    def get_config(self):
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    def __init__(self, minval=0.0, maxval=None, seed=None, dtype="float32"):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return _get("random.uniform")(shape, self.minval, self.maxval, self._kind(dtype), seed=self.seed)


class RandomNormal(Initializer):
    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype="float32"):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return _get("random.normal")(shape, self.mean, self.stddev, self._kind(dtype), seed=self.seed)


class TruncatedNormal(RandomNormal):
    def __call__(self, shape, dtype=None, partition_info=None):
        return _get("random.truncated_normal")(shape, self.mean, self.stddev, self._kind(dtype), seed=self.seed)


def _fans(shape):
    """The numbers of inputs and outputs of a unit of weights."""
    shape = [int(size) for size in shape]
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


class VarianceScaling(Initializer):
    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype="float32"):
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Argument `mode` should be one of fan_in, fan_out, fan_avg. Received: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Argument `distribution` is none of the known ones. Received: {distribution}")
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        kind, (ins, outs) = self._kind(dtype), _fans(shape)
        fan = {"fan_in": ins, "fan_out": outs, "fan_avg": (ins + outs) / 2}[self.mode]
        scale = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return _get("random.uniform")(shape, -limit, limit, kind, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return _get("random.normal")(shape, 0.0, math.sqrt(scale), kind, seed=self.seed)
        # The standard deviation of a normal distribution that is cut off at two of its own.
        return _get("random.truncated_normal")(shape, 0.0, math.sqrt(scale) / 0.87962566103423978, kind, seed=self.seed)


class UniformUnitScaling(Initializer):
    def __init__(self, factor=1.0, seed=None, dtype="float32"):
        self.factor, self.seed, self.dtype = factor, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        size = max(1.0, float(math.prod(int(n) for n in shape[:-1])))
        limit = math.sqrt(3 / size) * self.factor
        return _get("random.uniform")(shape, -limit, limit, self._kind(dtype), seed=self.seed)


class GlorotUniform(VarianceScaling):
    def __init__(self, seed=None, dtype="float32"):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self):
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(GlorotUniform):
    def __init__(self, seed=None, dtype="float32"):
        VarianceScaling.__init__(self, 1.0, "fan_avg", "truncated_normal", seed, dtype)


class Orthogonal(Initializer):
    def __init__(self, gain=1.0, seed=None, dtype="float32"):
        self.gain, self.seed, self.dtype = gain, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        if len(shape) < 2:
            raise ValueError(f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received shape={shape}")
        columns = int(shape[-1])
        rows = math.prod(int(n) for n in shape[:-1])
        drawn = _get("random.normal")([max(rows, columns), min(rows, columns)], dtype=self._kind(dtype), seed=self.seed)
        q, r = _get("linalg.qr")(drawn, full_matrices=False)
        q *= _get("sign")(_get("linalg.diag_part")(r))
        if rows < columns:
            q = _get("transpose")(q)
        return self.gain * _get("reshape")(q, shape)


class Identity(Initializer):
    def __init__(self, gain=1.0, dtype="float32"):
        self.gain, self.dtype = gain, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        if len(shape) != 2:
            raise ValueError(f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received shape={shape}")
        return self.gain * _get("eye")(*shape, dtype=self._kind(dtype))


zeros_initializer, ones_initializer, constant_initializer = Zeros, Ones, Constant
random_uniform_initializer, random_normal_initializer = RandomUniform, RandomNormal
truncated_normal_initializer, uniform_unit_scaling_initializer = TruncatedNormal, UniformUnitScaling
variance_scaling_initializer, orthogonal_initializer = VarianceScaling, Orthogonal
identity_initializer = Identity
glorot_uniform_initializer, glorot_normal_initializer = GlorotUniform, GlorotNormal


def lecun_normal(seed=None):
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed=None):
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed=None):
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed=None):
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
