"""What the code of a replica can ask and do."""

from tandem import _core
from tandem.distribution import context
from tandem.distribution.context import ReduceOp
from tandem.framework import nest
from tandem.framework.indexed_slices import IndexedSlices

# Gradients up to this size travel together: many small ones as one bucket, large ones alone.
_BUCKET_BYTES = 4 << 20


class ReplicaContext:
    """Inside a replica's function."""

    def __init__(self, strategy):
        self._strategy = strategy
        self._started = _core.convert_to_tensor(0)._id  # numbers of tensors grow
        self._merged = []  # tensors that merge_call made: one for all replicas

    @property
    def strategy(self):
        return self._strategy

    @property
    def num_replicas_in_sync(self):
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self):
        """The replica's number. With several replicas a tensor: their function is traced once."""
        count = self.num_replicas_in_sync
        return 0 if count == 1 else _core.execute("ReplicaId", replicas=count)

    @property
    def devices(self):
        return list(self._strategy.extended.worker_devices[:1])

    def __bool__(self):
        return True

    def all_reduce(self, reduce_op, value, options=None):
        """The sum or mean over replicas, on every replica. Small tensors of a list are sent together."""
        return _all_reduce(ReduceOp.of(reduce_op), value, self.num_replicas_in_sync, self._started)

    def all_gather(self, value, axis, options=None):
        """The values of all replicas joined along an axis, on every replica."""
        count = self.num_replicas_in_sync
        if count == 1:
            return value
        return nest.map_structure(lambda v: _core.execute("AllGather", v, axis=axis, replicas=count), value)

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """Calls merge_fn(strategy, …) as if across replicas: what it reduces is reduced over them."""
        kwargs = kwargs or {}
        with context.entered(context.Place(self._strategy, merging=self.num_replicas_in_sync > 1)):
            result = merge_fn(self._strategy, *args, **kwargs)
        given = {id(v) for v in nest.flatten((args, kwargs))}
        self._merged += [v for v in nest.flatten(result) if isinstance(v, _core.Tensor) and id(v) not in given]
        return result


def _all_reduce(op, value, count, started):
    if count == 1:
        return value
    flat = nest.flatten(value)
    reduced = [None] * len(flat)
    buckets = {}
    for i, item in enumerate(flat):
        if item is None:
            continue
        if isinstance(item, _core.EagerTensor) and item._id < started:
            # Made before the replicas' function began: one value that they share, which TensorFlow counts once.
            reduced[i] = item
            continue
        if isinstance(item, IndexedSlices):
            reduced[i] = _reduce_slices(op, item, count)
            continue
        tensor = _core.convert_to_tensor(item)
        elements = tensor.shape.num_elements()
        if elements is None or elements * tensor.dtype.size > _BUCKET_BYTES // 2:
            reduced[i] = _reduce_one(op, tensor, count)
        else:
            buckets.setdefault(tensor.dtype, []).append((i, tensor, elements))
    for items in buckets.values():
        for bucket in _cut(items):
            for i, tensor in zip((i for i, _, _ in bucket), _reduce_bucket(op, bucket, count)):
                reduced[i] = tensor
    return nest.pack_sequence_as(value, reduced) if nest.is_nested(value) else reduced[0]


def _cut(items):
    """Lists of at most the size of a bucket, in order."""
    bucket, filled = [], 0
    for item in items:
        size = item[2] * item[1].dtype.size
        if bucket and filled + size > _BUCKET_BYTES:
            yield bucket
            bucket, filled = [], 0
        bucket.append(item)
        filled += size
    if bucket:
        yield bucket


def _reduce_bucket(op, bucket, count):
    if len(bucket) == 1:
        return [_reduce_one(op, bucket[0][1], count)]
    joined = _core.execute("ConcatV2", [_core.execute("Reshape", t, [-1]) for _, t, _ in bucket], axis=0)
    total = _reduce_one(op, joined, count)
    parts = _core.execute("SplitV", total, sizes=[elements for _, _, elements in bucket], axis=0)
    return [_core.execute("Reshape", part, t.shape.as_list()) for part, (_, t, _) in zip(parts, bucket)]


def _reduce_one(op, tensor, count):
    return _core.execute("AllReduce", tensor, reduction=op.value.lower(), replicas=count)


def _reduce_slices(op, slices, count):
    """The sum of slices is all of them, one after the other."""
    values = slices.values / count if op is ReduceOp.MEAN else slices.values
    return IndexedSlices(
        _core.execute("AllGather", values, axis=0, replicas=count),
        _core.execute("AllGather", slices.indices, axis=0, replicas=count),
        slices.dense_shape,
    )
