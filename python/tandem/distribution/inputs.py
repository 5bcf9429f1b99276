"""Datasets whose batches are cut for replicas."""

from tandem import _core
from tandem.distribution.rows import row_count, rows_of, spec_of_rows, without_rows
from tandem.distribution.values import PerReplica, PerReplicaSpec
from tandem.framework import nest
from tandem.ops import control_flow
from tandem.pipeline import structure as elements_of
from tandem.pipeline.traced import staged_for, take


class InputContext:
    """What a function that makes a dataset knows about who reads it."""

    def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size):
        if global_batch_size % self.num_replicas_in_sync != 0:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync}."
            )
        return global_batch_size // self.num_replicas_in_sync

    def __repr__(self):
        return (
            f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"
        )


class ValueContext:
    """What a function that makes a value for a replica knows."""

    def __init__(self, replica_id_in_sync_group=0, num_replicas_in_sync=1):
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync

    def __repr__(self):
        return (
            f"tf.distribute.experimental.ValueContext(replica id {self.replica_id_in_sync_group}, "
            f"total: {self.num_replicas_in_sync})"
        )


def cut_batch(element, count):
    """A global batch cut for `count` replicas: rows in order, equally many but for the last ones."""
    if count == 1:
        return element

    def cut(value):
        if value is None:
            return None
        rows = row_count(value)
        share = (rows + count - 1) // count
        least = min if isinstance(rows, int) else lambda a, b: _core.execute("Minimum", a, b)
        return PerReplica([rows_of(value, least(i * share, rows), least((i + 1) * share, rows)) for i in range(count)])

    return nest.map_structure(cut, element)


def cut_spec(spec, count):
    """What a replica gets of a global batch: its rows, where they can be counted."""
    if count == 1:
        return spec

    def cut(leaf):
        if isinstance(leaf, elements_of.NoneTensorSpec):
            return leaf
        rows = leaf.shape[0] if leaf.shape.rank else None
        share = rows // count if rows is not None and rows % count == 0 else None
        return PerReplicaSpec(*[spec_of_rows(leaf, share)] * count)

    return nest.map_structure(cut, spec)


class DistributedIterator:
    """Gives the next global batch, cut."""

    def __init__(self, dataset, elements, count):
        self._dataset = dataset
        self._elements = iter(elements)
        self._steps = dataset._steps
        # With one replica nothing is cut: who reads batches in C++ takes those of the dataset.
        self._native = getattr(self._elements, "_native", None) if count == 1 else None

    @property
    def element_spec(self):
        return self._dataset.element_spec

    def _close(self):
        self._elements._close()

    def __iter__(self):
        return self

    def __next__(self):
        return self._steps.next(self._elements)

    def get_next(self):
        return self._steps.next(self._elements, staged=True)

    def _staged_next(self):
        return self.get_next()

    def _autograph_for(self, extra_test, body, get_state, set_state, symbol_names, opts):
        self._steps.staged_for(self, self._elements, extra_test, body, get_state, set_state, symbol_names, opts)

    def get_next_as_optional(self):
        from tandem.pipeline.iterator import Optional

        try:
            return Optional.from_value(next(self))
        except StopIteration:
            return Optional.empty(self.element_spec)


class DistributedDataset:
    """A dataset of global batches, cut for the replicas of a strategy."""

    def __init__(self, dataset, strategy):
        self._dataset = dataset
        self._strategy = strategy

    def __iter__(self):
        return DistributedIterator(self, self._dataset, self._strategy.num_replicas_in_sync)

    @property
    def _steps(self):
        return _GlobalBatches(self._strategy.num_replicas_in_sync)

    def _autograph_for(self, extra_test, body, get_state, set_state, symbol_names, opts):
        self._steps.staged_for(self, self._dataset, extra_test, body, get_state, set_state, symbol_names, opts)

    def __len__(self):
        return len(self._dataset)

    def cardinality(self):
        return self._dataset.cardinality()

    @property
    def element_spec(self):
        return cut_spec(self._dataset.element_spec, self._strategy.num_replicas_in_sync)


class DistributedDatasetFromFunction(DistributedDataset):
    """A dataset whose batches are for one replica each: a step takes one for each."""

    def __init__(self, dataset_fn, strategy):
        count = strategy.num_replicas_in_sync
        super().__init__(dataset_fn(InputContext(num_replicas_in_sync=count)), strategy)

    @property
    def _steps(self):
        return _ReplicaBatches(self._strategy.num_replicas_in_sync)

    @property
    def element_spec(self):
        count = self._strategy.num_replicas_in_sync
        one = self._dataset.element_spec
        if count == 1:
            return one
        none = elements_of.NoneTensorSpec
        return nest.map_structure(lambda leaf: leaf if isinstance(leaf, none) else PerReplicaSpec(*[leaf] * count), one)

    def __len__(self):
        return -(-len(self._dataset) // self._strategy.num_replicas_in_sync)


def _next_of(elements, staged):
    return elements.get_next() if staged and not _core.executing_eagerly() else next(elements)


class _GlobalBatches:
    """What a step takes of a dataset whose batches are cut."""

    def __init__(self, count):
        self._count = count

    def next(self, elements, staged=False):
        return cut_batch(_next_of(elements, staged), self._count)

    def staged_for(self, whole, elements, extra_test, body, get_state, set_state, symbol_names, opts):
        """`for` over `whole`; in a graph a loop over `elements`."""
        from tandem.staging.loops import _over_python

        if _core.executing_eagerly():
            return _over_python(whole, extra_test, body, get_state, set_state, symbol_names)
        self._loop_over(elements, extra_test, body, get_state, set_state, symbol_names, opts)

    def _loop_over(self, elements, extra_test, body, *loop):
        elements._autograph_for(extra_test, lambda batch: body(cut_batch(batch, self._count)), *loop)


class _ReplicaBatches(_GlobalBatches):
    """What a step takes of a dataset with a batch for each replica."""

    def next(self, elements, staged=False):
        if self._count > 1 and not _core.executing_eagerly():
            if not staged:
                elements._unrolled.count()
            iterator, structure = elements._traced_iterator(), elements._structure
            _, *first = take(iterator, structure, True)
            parts = list(first)
            for _ in range(self._count - 1):
                parts += self._next_or_no_rows(iterator, structure, first)
            return self._element(structure, parts)
        batches = [_next_of(elements, staged)]
        while len(batches) < self._count:
            try:
                batches.append(_next_of(elements, staged))
            except StopIteration:
                break
        return self._joined(batches)

    def _joined(self, batches):
        # When the data ends in the middle of a step, the last replicas get no rows.
        while len(batches) < self._count:
            batches.append(nest.map_structure(without_rows, batches[0]))
        if self._count == 1:
            return batches[0]
        return nest.map_structure(lambda *values: None if values[0] is None else PerReplica(values), *batches)

    def _loop_over(self, elements, extra_test, body, *loop):
        if self._count == 1:
            return elements._autograph_for(extra_test, body, *loop)
        iterator, structure = elements._traced_iterator(), elements._structure
        staged_for(lambda: self._take(iterator, structure), lambda parts: body(self._element(structure, parts)),
                   extra_test, *loop)  # fmt: skip

    def _take(self, iterator, structure):
        """[whether there is another step, the components of its batches]: of those that are not there, no rows."""
        more, *first = take(iterator, structure, False)
        parts = [more, *first]
        for _ in range(self._count - 1):
            parts += control_flow.cond(
                more, lambda: self._next_or_no_rows(iterator, structure, first), lambda: _no_rows(structure, first)
            )
        return parts

    def _next_or_no_rows(self, iterator, structure, first):
        there, *batch = take(iterator, structure, False)
        return control_flow.cond(there, lambda: list(batch), lambda: _no_rows(structure, first))

    def _element(self, structure, parts):
        width = len(parts) // self._count
        return self._joined(
            [structure.element(tuple(parts[i * width : (i + 1) * width])) for i in range(self._count)]
        )


def _no_rows(structure, components):
    """The components of a batch like this one without rows."""
    return elements_of.parts_of(elements_of.map_structure(without_rows, structure.element(tuple(components))))
