"""Batches for the loop: Keras's data adapters as sources of tensors, and how many steps an epoch has.

Arrays are gathered and datasets iterated in C++; anything else (generators, PyDataset, loaders of other
libraries) is asked for each batch in Python.
"""

import contextlib

import numpy as np

import tandem as tf
from keras.src import tree
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter
from keras.src.trainers.epoch_iterator import EpochIterator
from tandem import _core
from tandem.framework import nest
from tandem.pipeline.structure import NoneTensorSpec, flatten
from tandem.pipeline.structure import pack as pack_elements

# Keras knows tensors by the name of their module. Taken for an array, a tensor of strings would be objects.
data_adapter_utils.is_tensorflow_tensor = lambda value: isinstance(value, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor))
data_adapter_utils.is_tensorflow_ragged = lambda value: isinstance(value, tf.RaggedTensor)
data_adapter_utils.is_tensorflow_sparse = lambda value: isinstance(value, tf.SparseTensor)


class ArrayPass:
    """Passes over arrays. An iterator of batches; what it is made of is for the loop."""

    def __init__(self, adapter):
        inputs = array_slicing.convert_to_sliceable(adapter._inputs, target_backend="tensorflow")
        # A pandas object has become an array, a list of arrays is a structure of arrays.
        self.structure = tree.lists_to_tuples(inputs)
        arrays = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in leaves_of(self.structure)]
        self._rows = adapter._num_samples
        self._batch_size = adapter.batch_size
        self._shuffle = adapter._shuffle
        self._orders = None
        self.source = _core.ArraySource(arrays, adapter.batch_size)
        self.rows = self._rows
        # As the dataset that Keras makes of arrays: the size of a batch is known when all have it.
        batch = None if self._rows % self._batch_size else self._batch_size
        self.specs = [tf.TensorSpec((batch, *a.shape[1:]), _dtype(a)) for a in arrays]

    def start(self):
        self.source.start(self._order())
        return self

    def _order(self):
        """The rows as Keras orders them on TensorFlow; None: as they are."""
        if not self._shuffle:
            return None
        if self._orders is None:
            self._orders = _orders(self._rows, self._batch_size if self._shuffle == "batch" else None)
        return np.concatenate([rows.numpy() for rows in self._orders])

    def close(self):
        pass

    def __iter__(self):
        return self

    def __next__(self):
        batch = self.source.next()
        if batch is None:
            raise StopIteration
        return pack(self.structure, batch)


def _orders(rows, batch_size):
    """A dataset whose every pass gives the numbers of rows in another order, drawn by the ops and in the functions in
    which Keras draws them, so that seeds give TensorFlow's orders. With a size, rows change places within batches."""
    if batch_size is None:
        return tf.data.Dataset.range(1).map(lambda _: tf.random.shuffle(tf.range(rows, dtype=tf.int64)))
    return tf.data.Dataset.range(rows).batch(batch_size).map(tf.random.shuffle)


class PythonPass:
    """Batches that Python makes, one at a time."""

    source = None
    rows = 0

    def __init__(self, adapter):
        self._adapter = adapter
        self._batches = None

    def start(self):
        self._batches = iter(self._adapter.get_numpy_iterator())
        return self

    def close(self):
        """Ends the workers of a keras.utils.PyDataset. A generator is the user's, who may go on with it."""
        enqueuer = getattr(self._adapter, "enqueuer", None)
        thread = getattr(enqueuer, "run_thread", None)
        if thread is None:
            return
        with contextlib.suppress(Exception):  # of a batch that nobody takes any more
            enqueuer.stop()
        while thread.is_alive() or not enqueuer.future_queue.empty():
            with contextlib.suppress(Exception):
                enqueuer.future_queue.get(timeout=0.1).wait()

    def __iter__(self):
        return self

    def __next__(self):
        return nest.map_structure(_to_tensor, next(self._batches))


class DatasetPass:
    """Passes over a dataset, whose iterator is a source by itself."""

    rows = 0

    def __init__(self, dataset):
        self._dataset = dataset
        self._batches = None
        self.source = None
        leaves = [None if isinstance(leaf, NoneTensorSpec) else leaf for leaf in flatten(dataset.element_spec)]
        self.structure = pack_elements(dataset.element_spec, iter(leaves))
        self.specs = [leaf for leaf in leaves if leaf is not None]
        # Ragged and sparse batches are put together in Python.
        self._native = all(type(leaf) is tf.TensorSpec for leaf in self.specs)

    def start(self):
        self.close()
        self._batches = iter(self._dataset)
        self.source = getattr(self._batches, "_native", None) if self._native else None
        return self

    def close(self):
        """Ends the pass and its workers: an exception keeps the iterator as long as its traceback."""
        if self._batches is not None:
            self._batches._close()
        self._batches = self.source = None

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._batches)


def _to_tensor(value):
    return value if value is None or is_composite(value) else tf.convert_to_tensor(value)


def is_composite(value):
    """Whether a leaf is made of several tensors, as ragged and sparse ones are."""
    return hasattr(type(value), "_tf_components")


def _dtype(array):
    return tf.as_dtype(array.dtype)


def leaves_of(structure):
    """The tensors of what is not None, in the order in which datasets give the components of their elements. Keras's
    own order is another one for OrderedDicts."""
    return [leaf for leaf in nest.flatten(structure, expand_composites=True) if leaf is not None]


def pack(structure, leaves):
    """The structure with new tensors in place of those of what is not None."""
    leaves = iter(leaves)
    flat = [None if leaf is None else next(leaves) for leaf in nest.flatten(structure, expand_composites=True)]
    return nest.pack_sequence_as(structure, flat, expand_composites=True)


class Feed(EpochIterator):
    """The batches of epochs, and where they begin and end.

    `room` says how many executions the epoch still has, `advance` that some ran, `exhausted` that there were
    no more batches. An execution is as many steps as the model was compiled for.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self._step = 0
        self._limit = None
        self._pass = None

    def _get_iterator(self):
        if self._pass is None:
            self._pass = self._make_pass()
        return self._pass.start()

    def _make_pass(self):
        adapter = self.data_adapter
        if isinstance(adapter, ArrayDataAdapter) and _plain(adapter._inputs):
            return ArrayPass(adapter)
        if isinstance(adapter, (ArrayDataAdapter, TFDatasetAdapter)):
            return DatasetPass(adapter.get_tf_dataset())
        return PythonPass(adapter)

    def close(self):
        """No worker of the pass goes on. Another epoch begins a new one."""
        self._current_iterator = self._epoch_iterator = None
        if self._pass is not None:
            self._pass.close()

    def begin_epoch(self):
        """Returns the batches of the epoch."""
        self.data_adapter.on_epoch_begin()
        self._limit = self.steps_per_epoch or self._num_batches or None
        if self._limit is None or self._current_iterator is None or self.steps_per_epoch is None:
            self._restart()
        self._step = 0
        return self._current_iterator

    def _restart(self):
        self._current_iterator = self._get_iterator()
        self._steps_seen = 0

    def room(self):
        """Executions that may begin now; None: as long as there are batches; 0: the epoch is over."""
        if self._limit is None:
            return None
        left = self._executions(self._limit - self._step)
        if left > 0 and self._num_batches:
            in_pass = self._executions(self._num_batches - self._steps_seen)
            if in_pass <= 0 and self.steps_per_epoch:
                self._interrupted_warning()
            left = min(left, in_pass)
        return max(left, 0)

    def _executions(self, steps):
        return -(-steps // self.steps_per_execution)

    @property
    def step(self):
        """The first step of the next execution."""
        return self._step

    def advance(self, executions):
        self._step += executions * self.steps_per_execution
        self._steps_seen += executions * self.steps_per_execution

    def end_epoch(self):
        """All executions of the epoch ran."""
        if self._limit is not None and self._num_batches and self._steps_seen >= self._num_batches:
            # With the order of rows drawn now, as Keras does; an epoch without a number of steps draws again.
            if self.steps_per_epoch is not None:
                self._restart()
        self.data_adapter.on_epoch_end()

    def exhausted(self):
        """An execution found no batch: Keras counts it, and says so."""
        self._steps_seen += self.steps_per_execution
        with self.catch_stop_iteration():
            raise StopIteration

    def __next__(self):
        return next(self._epoch_iterator)


def _plain(inputs):
    """Whether all leaves are arrays or dense tensors."""
    kinds = (
        data_adapter_utils.is_tensorflow_ragged, data_adapter_utils.is_tensorflow_sparse,
        data_adapter_utils.is_scipy_sparse, data_adapter_utils.is_jax_sparse,
    )  # fmt: skip
    return not any(is_kind(leaf) for leaf in tree.flatten(inputs) for is_kind in kinds)
