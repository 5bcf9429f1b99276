"""Values with a part per replica."""


class DistributedValues:
    """One value per replica."""

    @property
    def values(self):
        return self._values


class PerReplica(DistributedValues):
    """A tensor (or another value) for each replica, in order."""

    def __init__(self, values):
        self._values = tuple(values)

    def __repr__(self):
        parts = ",\n".join(f"  {i}: {value!r}" for i, value in enumerate(self._values))
        return f"PerReplica:{{\n{parts}\n}}"

    # How a function's arguments and results are taken apart and put together again.
    def _tf_components(self):
        return list(self._values)

    def _tf_rebuild(self, components):
        return PerReplica(components)


class Mirrored(DistributedValues):
    """A value that is the same on every replica."""


def local_results(value):
    """The parts of this process: all of them."""
    return value.values if isinstance(value, DistributedValues) else (value,)
