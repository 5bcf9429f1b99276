"""A step of a model (train_step, test_step, predict_step) as compiled functions."""

import collections

import tandem as tf
from tandem import _core
from tandem.framework import nest
from tandem.framework.function import functions_run_eagerly
from tandem.framework.function_type import skeleton
from tandem.keras_backend.feed import is_composite, leaves_of, pack


# Kinds of batches that one step keeps traces for, as tf.function does.
_MOST_KINDS = 128


class _Trace:
    """The step for one kind of batch: a compiled function from the batch's tensors to those of the result."""

    def __init__(self, step, structure, specs, device, like=None):
        self.structure = structure
        self.specs = specs
        self.device = device
        graph = _core.FuncGraph(getattr(step, "__name__", "step"))
        try:
            graph._enter_function()
            arguments = [graph.placeholder(s.dtype, s.shape, s.name) for s in specs]
            result = step(pack(structure, arguments))
            self.result = nest.map_structure(_as_tensor, result)
        finally:
            graph._exit()
        flat = leaves_of(self.result)
        self.compiled = graph._finish(flat, like.compiled if like is not None else None)

    def fits(self, specs, device):
        return device == self.device and all(
            mine.dtype == given.dtype and _includes(mine.shape, given.shape) for mine, given in zip(self.specs, specs)
        )

    def pack(self, results):
        """The step's result with these tensors."""
        return pack(self.result, results)

    @property
    def has_composites(self):
        """Whether there are results whose rows are not those of their tensors."""
        return any(map(is_composite, nest.flatten(self.result)))

    def index_of(self, name):
        """The number of a result that a dict names; -1: there is none."""
        if not isinstance(self.result, dict) or not isinstance(self.result.get(name), tf.Tensor):
            return -1
        tensors = leaves_of(self.result)
        return next(i for i, t in enumerate(tensors) if t is self.result[name])


def _as_tensor(value):
    return value if value is None or is_composite(value) else tf.convert_to_tensor(value)


def _includes(general, special):
    if general.rank is None:
        return True
    return special.rank == general.rank and all(g in (None, s) for g, s in zip(general.as_list(), special.as_list()))


def _generalized(before, now):
    """Specs that include both; None: they differ in more than sizes."""
    specs = []
    for a, b in zip(before, now):
        if a.dtype != b.dtype or a.shape.rank != b.shape.rank or a.shape.rank is None:
            return None
        sizes = [m if m == n else None for m, n in zip(a.shape.as_list(), b.shape.as_list())]
        specs.append(tf.TensorSpec(sizes, a.dtype, a.name))
    return specs


class EagerStep:
    """A step that runs as it is. Called with an iterator or a list of batches, it runs one execution.

    `joins`: the results of an execution's steps are put together; otherwise they are those of the last.
    """

    def __init__(self, step, steps_per_execution=1, joins=False):
        self.step = step
        self.steps_per_execution = steps_per_execution
        self._joins = joins

    def on_batch(self, data):
        return self.step(nest.map_structure(_as_tensor, data))

    def __call__(self, batches):
        results = [self.on_batch(data) for _, data in zip(range(self.steps_per_execution), batches)]
        if not results:
            raise StopIteration
        return join_rows(results) if self._joins else results[-1]


def read_logs(logs):
    """The logs with arrays in the place of tensors. Keras's own conversion to numbers takes an error for a value that
    is no number, and a GPU raises the errors of a step when its results are read."""
    return nest.map_structure(lambda value: value.numpy() if isinstance(value, _core.EagerTensor) else value, logs)


def join_rows(results):
    """One structure with the rows of all."""
    if len(results) == 1:
        return results[0]
    joined = [_join(parts) for parts in zip(*map(nest.flatten, results))]
    return nest.pack_sequence_as(results[0], joined)


def _join(parts):
    """The rows of one leaf of all results."""
    if parts[0] is None:
        return None
    if isinstance(parts[0], tf.SparseTensor):
        return tf.sparse.concat(0, list(parts))
    if is_composite(parts[0]):
        return tf.concat(list(parts), 0)
    rows = _core.OutputRows()
    for part in parts:
        rows.append([part])
    return rows.finish()[0]


class StepFunction(EagerStep):
    """A step that is traced and compiled.

    A batch of another structure or dtype is traced anew; one of another size makes the sizes that differ
    unknown in a second trace, which then serves all sizes.
    """

    def __init__(self, step, steps_per_execution=1, joins=False):
        super().__init__(step, steps_per_execution, joins)
        self._traces = collections.OrderedDict()  # kind of batch → its traces; the kind that came last is last
        self.last_trace = None  # the one made last; for explanations

    def trace(self, structure, specs):
        """The compiled step for batches like these."""
        device = _core.device_scope()
        traces = self._traces_for(structure)
        for trace in reversed(traces):
            if trace.fits(specs, device):
                return trace
        before = [trace.specs for trace in reversed(traces) if trace.device == device]
        specs = next(filter(None, (_generalized(known, specs) for known in before)), specs)
        self.last_trace = _Trace(self.step, structure, specs, device, self.last_trace)
        traces.append(self.last_trace)
        return self.last_trace

    def _traces_for(self, structure):
        """Those of batches of this structure. The kinds that did not come for longest are dropped."""
        key = _structure_key(structure)
        traces = self._traces.setdefault(key, [])
        self._traces.move_to_end(key)
        if len(self._traces) > _MOST_KINDS:
            self._traces.popitem(last=False)
        return traces

    def on_batch(self, data):
        if functions_run_eagerly():
            return super().on_batch(data)
        data = nest.map_structure(_as_tensor, data)
        tensors = leaves_of(data)
        specs = [tf.TensorSpec(t.shape, t.dtype) for t in tensors]
        trace = self.trace(nest.map_structure(_of_any_batch, data), specs)
        return trace.pack(trace.compiled(tensors))


def _of_any_batch(leaf):
    """A sparse batch as its spec: layers want all sizes but that of the batch, which the tensors do not tell."""
    if not isinstance(leaf, tf.SparseTensor) or not leaf.shape.rank:
        return leaf
    return tf.SparseTensorSpec([None, *leaf.shape[1:]], leaf.dtype)


def _structure_key(structure):
    """Equal for structures of the same classes, keys and metadata whose leaves are of the same kinds."""

    def kind(leaf):
        if isinstance(leaf, tf.SparseTensorSpec):
            return leaf, str(leaf.shape)
        return leaf if is_composite(leaf) else leaf is not None

    return skeleton(nest.map_structure(kind, structure), [])
