"""tf.data.experimental: functions to be given to apply(), and what has no other place."""

import inspect

from tandem import _core
from tandem.framework.dtypes import int64
from tandem.pipeline.dataset import Dataset
from tandem.pipeline.functions import enable_debug_mode, parallelism  # noqa: F401


def cardinality(dataset):
    return dataset.cardinality()


def assert_cardinality(expected_cardinality):
    def apply(dataset):
        core = _core.data.assert_cardinality(dataset._core, expected_cardinality)
        return dataset._like(core, "_AssertCardinalityDataset", dataset._structure)

    return apply


def Counter(start=0, step=1, dtype=int64):  # noqa: N802
    return Dataset.counter(start, step, dtype)


def RandomDataset(seed=None, rerandomize_each_iteration=None, name=None):  # noqa: N802
    return Dataset.random(seed, rerandomize_each_iteration, name)


def _method(name):
    method = getattr(Dataset, name)

    def function(*args, **kwargs):
        function.__signature__.bind(*args, **kwargs)
        return lambda dataset: getattr(dataset, name)(*args, **kwargs)

    # The method's parameters, without the dataset and the name of the new one.
    parameters = [p for p in inspect.signature(method).parameters.values() if p.name not in ("self", "name")]
    function.__signature__ = inspect.Signature(parameters)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Dataset.{name} as a function for apply()."
    return function


bucket_by_sequence_length = _method("bucket_by_sequence_length")
enumerate_dataset = _method("enumerate")
group_by_window = _method("group_by_window")
ignore_errors = _method("ignore_errors")
rejection_resample = _method("rejection_resample")
scan = _method("scan")
snapshot = _method("snapshot")
take_while = _method("take_while")
unbatch = _method("unbatch")
unique = _method("unique")


def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None):
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("Only one of `num_parallel_batches` and `num_parallel_calls` may be set.")
    parallelism(num_parallel_batches)  # refuses what is no number of them

    def apply(dataset):
        return dataset.map(map_func, num_parallel_calls=num_parallel_calls).batch(batch_size, drop_remainder)

    return apply


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func, cycle_length, block_length=1, sloppy=False, buffer_output_elements=None, prefetch_input_elements=None
):
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, num_parallel_calls=cycle_length)


def copy_to_device(target_device, source_device="/cpu:0"):
    def apply(dataset):
        core = _core.data.copy_to_device(dataset._core, target_device)
        return dataset._like(core, "_CopyToDeviceDataset", dataset._structure)

    return apply


def prefetch_to_device(device, buffer_size=None):
    return lambda dataset: dataset.apply(copy_to_device(device)).prefetch(buffer_size)


def get_single_element(dataset):
    return dataset.get_single_element()


def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=False):
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False):
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def save(dataset, path, compression=None, shard_func=None, checkpoint_args=None):
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(path, element_spec=None, compression=None, reader_func=None):
    return Dataset.load(path, element_spec, compression, reader_func)


def get_structure(dataset_or_iterator):
    return dataset_or_iterator.element_spec


def dense_to_ragged_batch(batch_size, drop_remainder=False, row_splits_dtype=int64):
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)
