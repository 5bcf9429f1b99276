"""Values with a part per replica, and what describes them."""

from tandem import _core
from tandem.distribution import context
from tandem.framework import nest
from tandem.framework.spec import TypeSpec


class DistributedValues:
    """One value per replica."""

    @property
    def values(self):
        return self._values


class PerReplica(DistributedValues):
    """A tensor (or another value) for each replica, in order."""

    def __init__(self, values):
        self._values = tuple(values)

    def __str__(self):
        return self._shown(str)

    def __repr__(self):
        return self._shown(repr)

    def _shown(self, how):
        parts = ",\n".join(f"  {i}: {how(value)}" for i, value in enumerate(self._values))
        return f"{type(self).__name__}:{{\n{parts}\n}}"

    # How a function's arguments and results are taken apart and put together again.
    def _tf_components(self):
        return list(self._values)

    def _tf_rebuild(self, components):
        return PerReplica(components)

    @property
    def _type_spec(self):
        from tandem.framework.spec import type_spec_from_value

        return PerReplicaSpec(*map(type_spec_from_value, self._values))


class PerReplicaSpec(TypeSpec):
    """The specs of the parts, in order of replicas."""

    value_type = PerReplica

    def __init__(self, *value_specs):
        self._value_specs = tuple(value_specs)

    @classmethod
    def from_value(cls, value):
        return value._type_spec

    def is_compatible_with(self, other):
        return self == (other if isinstance(other, TypeSpec) else getattr(other, "_type_spec", None))

    def __eq__(self, other):
        return type(self) is type(other) and self._value_specs == other._value_specs

    def __hash__(self):
        return hash(self._value_specs)

    def __repr__(self):
        return f"PerReplicaSpec({', '.join(map(repr, self._value_specs))})"


class Mirrored(DistributedValues):
    """A value that is the same on every replica."""


def _parts_in_merge(value, count):
    """Inside merge_call, where a tensor stands for that of every replica: the tensors of all of them."""
    flat = nest.flatten(value)
    parts = [
        _core.execute("Unpack", _core.execute("AllGather", _core.execute("ExpandDims", v, axis=0), axis=0, replicas=count),
                      num=count, axis=0) if isinstance(v, _core.Tensor) else [v] * count
        for v in flat
    ]  # fmt: skip
    return tuple(nest.pack_sequence_as(value, [p[i] for p in parts]) for i in range(count))


def local_results(value):
    """The parts of this process: all of them. Of a structure, the structure of each replica."""
    now = context.place()
    if now is not None and now.merging:
        return _parts_in_merge(value, now.strategy.num_replicas_in_sync)
    if isinstance(value, DistributedValues):
        return value.values
    count = max((len(v.values) for v in nest.flatten(value) if isinstance(v, DistributedValues)), default=1)
    if count == 1:
        return (value,)
    return tuple(
        nest.map_structure(lambda v, i=i: v.values[i] if isinstance(v, DistributedValues) else v, value)
        for i in range(count)
    )
