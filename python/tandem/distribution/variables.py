"""Variables with a copy per replica.

The variable itself is the copy of replica 0. A replica's function is traced with it; joining the replicas puts every
replica's own copy in its place. Across replicas a write goes to all copies.
"""

import weakref

from tandem import _core
from tandem.distribution import context
from tandem.distribution.values import DistributedValues
from tandem.framework import variable
from tandem.framework.variable import Variable, VariableAggregation, VariableSynchronization

_COPIES = weakref.WeakValueDictionary()  # handle id of the first copy → the variable


def copies_of(handle_id):
    """The copies of the variable whose first copy has this handle, or None."""
    found = _COPIES.get(handle_id)
    return None if found is None else found._copies()


class DistributedVariable(Variable, DistributedValues):
    """A variable with a copy on the device of every replica of a strategy."""

    def __init__(self, *args, **kwargs):
        if self.__dict__.pop("_was_created", False):
            return
        self._strategy = kwargs.pop("distribute_strategy", None) or context.get_strategy()
        devices = self._strategy.extended.parameter_devices
        with _core.DeviceScope(devices[0]):
            super().__init__(*args, **kwargs)
        others = []
        with _core.init_scope():
            first = _first_read(self)
            for i, device in enumerate(devices[1:], 1):
                name = f"{self._plain_name}/replica_{i}"
                with _core.DeviceScope(device):
                    others.append(_Copy(first, trainable=self.trainable, name=name, shape=self.shape))
        self._others = tuple(others)
        if self._synchronization is VariableSynchronization.AUTO:
            self._synchronization = VariableSynchronization.ON_WRITE
        self._joined = self._reads_all = self._synchronization is VariableSynchronization.ON_READ and bool(others)
        _COPIES[self.handle._id] = self

    def _copies(self):
        return (self, *self._others)

    @property
    def values(self):
        return self._copies()

    @property
    def _values(self):
        return self._copies()

    @property
    def distribute_strategy(self):
        return self._strategy

    # ---- Reading

    def read_value(self):
        if not self._reads_all:
            return _first_read(self)
        if context.tracing_replica():
            return self._read_together() if context.reads_together() else _first_read(self)
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return _first_read(self)
        if self._aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"Variable '{self.name}' has a value per replica and no aggregation, so it cannot be read outside "
                "replicas. Create it with an aggregation, or read strategy.experimental_local_results(variable)."
            )
        total = _core.execute("AddN", [_first_read(v) for v in self._copies()])
        return total / len(self._copies()) if self._aggregation is VariableAggregation.MEAN else total

    def _read_together(self):
        """In a replica: what the copies of all replicas make together."""
        own, count = _first_read(self), len(self._copies())
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return _core.execute("Broadcast", own, replicas=count)
        if self._aggregation is VariableAggregation.NONE:
            return own
        return _core.execute("AllReduce", own, reduction=self._aggregation.name.lower(), replicas=count)

    # ---- Writing

    def _update(self, op, *values):
        if context.tracing_replica():
            super()._update(op, *self._meet(values))
            return
        if self._reads_all and self._aggregation is VariableAggregation.SUM:
            # The copies add up to what is read.
            if op in ("AssignAddVariableOp", "AssignSubVariableOp"):
                delta = _core.convert_to_tensor(values[0], self.dtype)
                values = (self.read_value() + (delta if op == "AssignAddVariableOp" else -delta),)
                op = "AssignVariableOp"
            first = _core.convert_to_tensor(values[0], self.dtype)
            super()._update(op, first)
            for copy in self._others:
                copy._update(op, _core.execute("ZerosLike", first))
            return
        super()._update(op, *values)
        for copy in self._others:
            copy._update(op, *values)

    def _meet(self, values):
        """What all replicas write: values of replicas become one where an aggregation says so."""
        now = context.place()
        if self._reads_all or now.merging or len(values) != 1:
            return values
        value = _core.convert_to_tensor(values[0], self.dtype)
        count = len(self._copies())
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return (_core.execute("Broadcast", value, replicas=count),)
        if self._aggregation in (VariableAggregation.SUM, VariableAggregation.MEAN):
            reduction = self._aggregation.name.lower()
            return (_core.execute("AllReduce", value, reduction=reduction, replicas=count),)
        return values

    def __repr__(self):
        parts = ",\n".join(f"  {i}: {Variable.__repr__(copy)}" for i, copy in enumerate(self._copies()))
        return f"{type(self).__name__}:{{\n{parts}\n}}"

    def __deepcopy__(self, memo):
        with self._strategy.scope():
            copy = type(self)(
                self.read_value(), trainable=self.trainable, name=self._plain_name, shape=self.shape,
                constraint=self._constraint, synchronization=self._synchronization, aggregation=self._aggregation,
            )  # fmt: skip
        memo[id(self)] = copy
        return copy


class MirroredVariable(DistributedVariable):
    """Copies that are kept the same."""


class SyncOnReadVariable(DistributedVariable):
    """Copies that each replica writes by itself and that become one value when it is read across replicas."""


class _Copy(Variable):
    """The copy of one replica; never itself distributed."""


def _first_read(copy):
    return _core.VariableBase.read_value(copy)


def class_of_new(synchronization):
    """What tf.Variable(…) makes now: None for an ordinary variable."""
    if not context.get_strategy().extended._mirrors_variables:
        return None
    return SyncOnReadVariable if synchronization is VariableSynchronization.ON_READ else MirroredVariable


variable._choose_class = class_of_new
