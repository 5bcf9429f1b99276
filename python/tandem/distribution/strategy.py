"""Strategies: the default one, one device, and a replica on each of several devices."""

from tandem import _core
from tandem.distribution import cluster_resolvers, context, inputs, run
from tandem.distribution.context import (  # noqa: F401  names of tf.distribute that need the default strategy
    ReduceOp,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
    maybe_merge_call,
    strategy_supports_no_merge_call,
)
from tandem.distribution.options import CommunicationImplementation
from tandem.distribution.replica import ReplicaContext
from tandem.distribution.values import DistributedValues, PerReplica, local_results
from tandem.distribution.variables import DistributedVariable
from tandem.framework import nest


class StrategyExtended:
    """What libraries, rather than users, ask of a strategy."""

    def __init__(self, strategy, devices, mirrors_variables):
        self._strategy = strategy
        self._devices = tuple(devices)
        self._mirrors_variables = mirrors_variables

    @property
    def worker_devices(self):
        return self._devices

    parameter_devices = worker_devices
    steps_per_run = 1
    experimental_require_static_shapes = False
    _global_batch_size = True  # datasets have batches for all replicas together
    should_checkpoint = should_save_summary = experimental_should_init = True  # there are no other workers

    @property
    def _num_replicas_in_sync(self):
        return len(self._devices)

    def _in_multi_worker_mode(self):
        return False

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """Calls fn(var, …) for every copy of a variable."""
        kwargs = kwargs or {}
        if context.tracing_replica() or not isinstance(var, DistributedVariable):
            return fn(var, *args, **kwargs)
        with context.entered(context.Place(self._strategy, ReplicaContext(self._strategy))):
            results = []
            for i, copy in enumerate(var._copies()):
                with _core.DeviceScope(self._devices[i]):
                    results.append(
                        fn(copy, *run.part(args, i), **run.part(kwargs, i))
                    )
        return None if group else PerReplica(results)

    def update_non_slot(self, colocate_with, fn, args=(), kwargs=None, group=True):
        return fn(*args, **(kwargs or {}))

    def colocate_vars_with(self, colocate_with_variable):
        """Variables of the block lie where that one does: with a strategy every variable lies everywhere."""
        if isinstance(colocate_with_variable, DistributedVariable):
            return self._strategy.scope() if context.get_strategy() is not self._strategy else _Nothing()
        return _core.DeviceScope(colocate_with_variable.device)

    def variable_created_in_scope(self, v):
        if isinstance(v, (DistributedVariable, DistributedValues)):
            return v.distribute_strategy is self._strategy
        return not self._mirrors_variables

    def value_container(self, value):
        return value

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        return self._strategy.run(fn, args, kwargs)

    def reduce_to(self, reduce_op, value, destinations, options=None):
        return self._strategy.reduce(reduce_op, value, axis=None)

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        return [self.reduce_to(reduce_op, value, to) for value, to in value_destination_pairs]


class _Nothing:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        pass


class Strategy:
    """Base of strategies, and the one outside every scope: one replica, wherever the program runs."""

    def __init__(self, extended=None):
        self._extended = extended or StrategyExtended(self, (None,), False)

    @property
    def extended(self):
        return self._extended

    @property
    def num_replicas_in_sync(self):
        return self._extended._num_replicas_in_sync

    _should_use_with_coordinator = False  # nothing of Tandem's is given to remote workers

    def configure(self, session_config=None, cluster_spec=None, task_type=None, task_id=None):
        """Sessions and clusters of TensorFlow 1: there is nothing to set."""

    @property
    def cluster_resolver(self):
        return None

    def scope(self):
        """Variables made inside belong to the strategy."""
        now = context.place()
        if now is not None and now.replica is not None and now.strategy is not self:
            raise RuntimeError("Mixing different tf.distribute.Strategy objects: a scope inside another's replica.")
        return context.entered(context.Place(self))

    # ---- Running

    def run(self, fn, args=(), kwargs=None, options=None):
        """Calls fn on every replica. Values per replica among the arguments are handed out, results come back so."""
        if not isinstance(args, (list, tuple)):
            raise ValueError("positional args must be a list or tuple, got {}".format(type(args)))
        return run.run(self, fn, tuple(args), kwargs or {})

    def reduce(self, reduce_op, value, axis=None):
        """Values of replicas become one; `axis`: elements along it, too."""
        op = ReduceOp.of(reduce_op)
        return nest.map_structure(lambda v: _reduce(self, op, v, axis), value)

    def gather(self, value, axis):
        """Values of replicas joined along an axis."""
        if context.tracing_replica():
            return ReplicaContext(self).all_gather(value, axis)
        return nest.map_structure(
            lambda v: _core.execute("ConcatV2", list(v.values), axis=axis) if isinstance(v, PerReplica) else v, value
        )

    def experimental_local_results(self, value):
        return local_results(value)

    # ---- Data

    def experimental_distribute_dataset(self, dataset, options=None):
        """Each global batch of the dataset is cut for the replicas."""
        return inputs.DistributedDataset(dataset, self)

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """dataset_fn(InputContext) makes a dataset of batches for replicas."""
        return inputs.DistributedDatasetFromFunction(dataset_fn, self)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn):
        """value_fn(ValueContext) is called once for each replica."""
        count = self.num_replicas_in_sync
        return run.packed([value_fn(inputs.ValueContext(i, count)) for i in range(count)])

    def experimental_make_numpy_dataset(self, numpy_input):
        from tandem import data

        return data.Dataset.from_tensor_slices(numpy_input)


def _reduce(strategy, op, value, axis):
    if context.tracing_replica():  # in merge_call: the value of the replica that is being traced
        count = strategy.num_replicas_in_sync
        if axis is not None:
            value = _core.execute("Sum" if op is ReduceOp.SUM else "Mean", value, axis=axis)
        return _core.execute("AllReduce", value, reduction=op.value.lower(), replicas=count)
    if not isinstance(value, DistributedValues):
        if op is ReduceOp.SUM and strategy.num_replicas_in_sync > 1 and axis is None:
            raise ValueError(
                f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {op}. "
                "Reduce what strategy.run returned."
            )
        return value if axis is None else _core.execute("Sum" if op is ReduceOp.SUM else "Mean", value, axis=axis)
    parts = [_core.convert_to_tensor(v) for v in value.values]
    counts = None
    if axis is not None:
        if op is ReduceOp.MEAN:
            counts = sum(_core.execute("Cast", _core.execute("Shape", p)[axis], dtype=p.dtype) for p in parts)
        parts = [_core.execute("Sum", p, axis=axis) for p in parts]
    total = _core.execute("AddN", parts) if len(parts) > 1 else parts[0]
    if op is ReduceOp.SUM:
        return total
    return total / (counts if counts is not None else len(parts))


class OneDeviceStrategy(Strategy):
    """Everything on one device."""

    def __init__(self, device):
        name = run.device_name(device)
        super().__init__(StrategyExtended(self, (name,), True))


class MirroredStrategy(Strategy):
    """A replica on each device, with a copy of every variable; gradients are summed over replicas."""

    def __init__(self, devices=None, cross_device_ops=None):
        if devices is None:
            found = _core.config.list_logical_devices("GPU") or _core.config.list_logical_devices("CPU")
            devices = [d.name for d in found]
        if not devices:
            raise ValueError("Got an empty `devices` list.")
        names = [run.device_name(d) for d in devices]
        # As written: what is missing may lie on a device that is there.
        given = [run.kind_and_number(d) for d in devices]
        if len(set(given)) != len(given):
            raise ValueError(f"The devices {names} must not have duplicates.")
        super().__init__(StrategyExtended(self, names, True))


class CentralStorageStrategy(Strategy):
    """A replica on each compute device, with variables in one place.

    With one compute device they lie on the parameter device. With several each device holds a copy, as with
    MirroredStrategy: what is read and written is the same, and no step waits for copies of variables.
    """

    def __init__(self, compute_devices=None, parameter_device=None):
        found = [d.name for d in _core.config.list_logical_devices("GPU")]
        names = [run.device_name(d) for d in compute_devices or found or ["/CPU:0"]]
        if len(set(names)) != len(names):
            raise ValueError(f"The devices {names} must not have duplicates.")
        if parameter_device is None:
            parameter_device = names[0] if len(names) == 1 else "/CPU:0"
        super().__init__(_CentralExtended(self, names, run.device_name(parameter_device)))


class _CentralExtended(StrategyExtended):
    def __init__(self, strategy, devices, parameter_device):
        super().__init__(strategy, devices, True)
        self._parameter_device = parameter_device

    @property
    def parameter_devices(self):
        return (self._parameter_device,) if len(self._devices) == 1 else self._devices


class CollectiveAllReduceStrategy(MirroredStrategy):
    """tf.distribute.MultiWorkerMirroredStrategy: a cluster of this process alone, whose devices hold the replicas."""

    def __init__(self, cluster_resolver=None, communication_options=None):
        self._resolver = cluster_resolver or cluster_resolvers.TFConfigClusterResolver()
        workers = sum(len(tasks) for tasks in self._resolver.cluster_spec().as_dict().values())
        if workers > 1:
            raise NotImplementedError(
                f"tf.distribute.MultiWorkerMirroredStrategy: the cluster has {workers} processes, and training over "
                "several is not there. Use one process with tf.distribute.MirroredStrategy, or one worker in TF_CONFIG."
            )
        super().__init__([d.name for d in _core.config.list_logical_devices("GPU")] or ["/CPU:0"])

    @property
    def cluster_resolver(self):
        return self._resolver


class _CollectiveAllReduceStrategyExperimental(CollectiveAllReduceStrategy):
    def __init__(self, communication=CommunicationImplementation.AUTO, cluster_resolver=None):
        super().__init__(cluster_resolver)


_CollectiveAllReduceStrategyExperimental.__name__ = "CollectiveAllReduceStrategy"


class _DefaultDistributionStrategy(Strategy):
    """The one outside every scope."""


_DEFAULT = _DefaultDistributionStrategy()
context.set_default(_DEFAULT, ReplicaContext(_DEFAULT))
