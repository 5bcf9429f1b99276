"""tf.distribute as far as one device goes: the default strategy, which is there outside any scope."""

import contextlib
import enum

from tandem import _core
from tandem.framework import nest


class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


class StrategyExtended:
    """What libraries, rather than users, ask of a strategy."""

    def update(self, var, fn, args=(), kwargs=None, group=True):
        return fn(var, *args, **(kwargs or {}))

    def colocate_vars_with(self, colocate_with_variable):
        return _core.DeviceScope(colocate_with_variable.device)

    def variable_created_in_scope(self, v):
        return True

    def reduce_to(self, reduce_op, value, destinations, options=None):
        return value

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        return [value for value, _ in value_destination_pairs]


class Strategy:
    """Base of strategies. The default one has one replica."""

    @property
    def extended(self):
        return _EXTENDED

    @property
    def num_replicas_in_sync(self):
        return 1

    @contextlib.contextmanager
    def scope(self):
        yield self

    def run(self, fn, args=(), kwargs=None, options=None):
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op, value, axis=None):
        op = "Sum" if ReduceOp(getattr(reduce_op, "value", reduce_op)) is ReduceOp.SUM else "Mean"
        if axis is None:
            return value
        return nest.map_structure(lambda v: _core.execute(op, v, axis=axis), value)

    def experimental_distribute_dataset(self, dataset, options=None):
        return dataset

    def experimental_local_results(self, value):
        return (value,)


class ReplicaContext:
    """What code inside a replica knows."""

    replica_id_in_sync_group = 0
    num_replicas_in_sync = 1

    @property
    def strategy(self):
        return get_strategy()

    def all_reduce(self, reduce_op, value, options=None):
        return value

    def merge_call(self, merge_fn, args=(), kwargs=None):
        return merge_fn(get_strategy(), *args, **(kwargs or {}))


_EXTENDED = StrategyExtended()
_DEFAULT = Strategy()
_CONTEXT = ReplicaContext()


def get_strategy():
    return _DEFAULT


def has_strategy():
    """Whether a strategy other than the default one is in scope; there is no other yet."""
    return False


def in_cross_replica_context():
    return False


def get_replica_context():
    return _CONTEXT


def strategy_supports_no_merge_call():
    return True


def maybe_merge_call(fn, strategy, *args, **kwargs):
    return fn(strategy, *args, **kwargs)


def _absent(name):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"tf.distribute.{name} is not available in Tandem.")

    return type(name, (Strategy,), {"__init__": __init__, "__module__": "tandem.distribute"})


MirroredStrategy = _absent("MirroredStrategy")
MultiWorkerMirroredStrategy = _absent("MultiWorkerMirroredStrategy")
OneDeviceStrategy = _absent("OneDeviceStrategy")
ParameterServerStrategy = _absent("ParameterServerStrategy")
TPUStrategy = _absent("TPUStrategy")


class DistributedValues:
    """One value per replica; there are none with one replica."""


class DistributedDataset:
    """A dataset cut for replicas; there are none with one replica."""


class DistributedIterator:
    """An iterator over one."""
