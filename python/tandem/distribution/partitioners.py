"""tf.distribute.experimental.partitioners: into how many parts variables would be cut along an axis."""

import math

from tandem._core import as_dtype
from tandem.framework.shape import as_shape


class Partitioner:
    """Says for a shape how many parts each axis has: one axis may have more than one."""

    def __call__(self, shape, dtype, axis=0):
        raise NotImplementedError


def _along(shape, axis, parts):
    found = [1] * len(as_shape(shape))
    found[axis] = max(1, min(parts, as_shape(shape)[axis]))
    return found


def _bytes(shape, dtype, string_bytes=16):
    dtype = as_dtype(dtype)
    return as_shape(shape).num_elements() * (string_bytes if dtype.name == "string" else dtype.size)


class FixedShardsPartitioner(Partitioner):
    """A fixed number of parts."""

    def __init__(self, num_shards):
        self._shards = num_shards

    def __call__(self, shape, dtype, axis=0):
        return _along(shape, axis, self._shards)


class MinSizePartitioner(Partitioner):
    """As many parts as have a least size, and not more than a number of them."""

    def __init__(self, min_shard_bytes=256 << 10, max_shards=1, bytes_per_string=16):
        if min_shard_bytes < 1:
            raise ValueError(f"Argument `min_shard_bytes` must be positive. Received: {min_shard_bytes}")
        if max_shards < 1:
            raise ValueError(f"Argument `max_shards` must be positive. Received: {max_shards}")
        if bytes_per_string < 1:
            raise ValueError(f"Argument `bytes_per_string` must be positive. Received: {bytes_per_string}")
        self._least, self._most, self._string = min_shard_bytes, max_shards, bytes_per_string

    def __call__(self, shape, dtype, axis=0):
        return _along(shape, axis, min(self._most, math.ceil(_bytes(shape, dtype, self._string) / self._least)))


class MaxSizePartitioner(Partitioner):
    """As few parts as are not larger than a size."""

    def __init__(self, max_shard_bytes, max_shards=None, bytes_per_string=16):
        if max_shard_bytes < 1:
            raise ValueError(f"Argument `max_shard_bytes` must be positive. Received {max_shard_bytes}")
        if max_shards and max_shards < 1:
            raise ValueError(f"Argument `max_shards` must be positive. Received {max_shards}")
        if bytes_per_string < 1:
            raise ValueError(f"Argument `bytes_per_string` must be positive. Received: {bytes_per_string}")
        self._largest, self._most, self._string = max_shard_bytes, max_shards, bytes_per_string

    def __call__(self, shape, dtype, axis=0):
        row = _bytes(shape, dtype, self._string) / as_shape(shape)[axis]
        rows = max(1, math.floor(self._largest / row))
        parts = math.ceil(as_shape(shape)[axis] / rows)
        return _along(shape, axis, min(parts, self._most) if self._most else parts)
