"""A Keras step for several replicas: a batch is cut, every replica runs the step on its part."""

from tandem.distribution.inputs import cut_batch
from tandem.distribution.rows import joined
from tandem.distribution.values import PerReplica
from tandem.framework import nest


def over_replicas(strategy, step, joins):
    """The step for a global batch. `joins`: rows of all replicas; otherwise what the first replica says.

    Metrics are variables that are joined when they are read, so logs that come from them cover the whole batch.
    """

    def run(data):
        with strategy.scope():
            results = strategy.run(step, args=(cut_batch(data, strategy.num_replicas_in_sync),))
        return nest.map_structure(lambda v: _merged(v, joins), results)

    run.__name__ = getattr(step, "__name__", "step")
    return run


def _merged(value, joins):
    if not isinstance(value, PerReplica):
        return value
    return joined(list(value.values)) if joins else value.values[0]
