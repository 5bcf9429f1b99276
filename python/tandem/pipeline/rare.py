"""Names of tf.data.experimental that few programs use, made of datasets' own methods."""

import collections
import sqlite3

import numpy as np

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework import nest
from tandem.framework.dtypes import string
from tandem.framework.errors import InvalidArgumentError, OutOfRangeError
from tandem.framework.spec import TensorSpec
from tandem.pipeline.dataset import Dataset
from tandem.pipeline.readers import TFRecordDataset, TFRecordWriter as _Writer

SHARD_HINT = -1
HasherSpec = collections.namedtuple("HasherSpec", ["hasher", "key"])
FastHashSpec = HasherSpec("fasthash", None)


class Reducer:
    """How group_by_reducer brings the elements of a group together: init_func(key), reduce_func(state, element) and
    finalize_func(state)."""

    def __init__(self, init_func, reduce_func, finalize_func):
        self._functions = init_func, reduce_func, finalize_func

    init_func = property(lambda self: self._functions[0])
    reduce_func = property(lambda self: self._functions[1])
    finalize_func = property(lambda self: self._functions[2])


def group_by_reducer(key_func, reducer):
    """One element for each key, in the order in which keys first appear."""

    def apply(dataset):
        return _on_the_way(dataset, lambda: _reduced(dataset, key_func, reducer), lambda: next(_reduced(dataset, key_func, reducer)))

    return apply


def _reduced(dataset, key_func, reducer):
    states = {}
    for element in dataset:
        parts = element if isinstance(element, tuple) else (element,)
        key = int(key_func(*parts))
        if key not in states:
            states[key] = reducer.init_func(convert_to_tensor(key, "int64"))
        states[key] = reducer.reduce_func(states[key], element)
    for state in states.values():
        yield reducer.finalize_func(state)


def _on_the_way(dataset, make, first):
    """A dataset of what a generator gives; the elements' kind is that of the first."""
    try:
        one = first()
    except StopIteration:
        return Dataset.from_tensor_slices(convert_to_tensor([], "int64"))
    spec = nest.map_structure(lambda x: TensorSpec([None] * convert_to_tensor(x).shape.rank, convert_to_tensor(x).dtype), one)
    return Dataset.from_generator(make, output_signature=spec)


def from_list(elements, name=None):
    """A dataset of the elements of a list, which have one structure."""
    elements = list(elements)
    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty.")
    if not isinstance(elements, list):
        raise ValueError("Invalid `elements`. `elements` must be a list.")
    rows = nest.map_structure(lambda *leaves: execute("Pack", list(map(convert_to_tensor, leaves)), axis=0), *elements)
    return Dataset.from_tensor_slices(rows, name=name)


def at(dataset, index):
    """The element at a place."""
    index = int(index)
    if index < 0:
        raise OutOfRangeError(None, None, f"Index out of range [0, size):{index}")
    for element in dataset.skip(index).take(1):
        return element
    raise OutOfRangeError(None, None, f"Index out of range [0, size):{index}")


class TFRecordWriter:
    """Writes the strings of a dataset to a file of records."""

    def __init__(self, filename, compression_type=None):
        self._filename, self._compression = filename, compression_type

    def write(self, dataset):
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Invalid `dataset.` Expected a `tf.data.Dataset` object but got {type(dataset)}.")
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype.name != "string" or spec.shape.rank not in (0, None):
            raise TypeError(f"Invalid `dataset`. Expected a dataset that produces scalar strings, got {spec}.")
        filename = self._filename.numpy().decode() if hasattr(self._filename, "numpy") else self._filename
        with _Writer(filename, self._compression) as writer:
            for record in dataset:
                writer.write(record.numpy())


def dense_to_sparse_batch(batch_size, row_shape):
    """Batches as sparse tensors; elements may be smaller than `row_shape`, of which unknown sizes are the largest's."""

    def apply(dataset):
        return dataset.ragged_batch(batch_size).map(lambda rows: _sparse_rows(rows, row_shape))

    return apply


def _sparse_rows(rows, row_shape):
    from tandem.framework.sparse import SparseTensor

    sparse = rows.to_sparse() if hasattr(rows, "to_sparse") else None
    if sparse is None:  # all of one size
        indices = execute("Where", execute("OnesLike", execute("Cast", rows, dtype="bool")) | True)
        sparse = SparseTensor(indices, execute("GatherNd", rows, indices), execute("Shape", rows, out_type="int64"))
    sizes = [sparse.dense_shape[i + 1] if d is None or d == -1 else convert_to_tensor(d, "int64") for i, d in enumerate(list(row_shape))]
    return SparseTensor(sparse.indices, sparse.values, execute("Pack", [sparse.dense_shape[0], *sizes], axis=0))


def pad_to_cardinality(cardinality, mask_key="valid"):
    """Elements of zeros after the last, up to so many; `mask_key` says which elements are the dataset's own."""

    def apply(dataset):
        if not isinstance(dataset.element_spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        if mask_key in dataset.element_spec:
            raise ValueError(f"Element already contains key {mask_key}.")
        if int(dataset.cardinality()) < 0:
            raise ValueError("The dataset passed into `pad_to_cardinality` must have a known cardinality, but has cardinality "
                             f"{int(dataset.cardinality())}")  # fmt: skip
        missing = cardinality - int(dataset.cardinality())
        if missing < 0:
            raise ValueError(f"The dataset passed into `pad_to_cardinality` must have a cardinality less than the target cardinality ({cardinality}).")
        marked = dataset.map(lambda x: {**x, mask_key: True})
        empty = nest.map_structure(lambda s: execute("Fill", s.shape.as_list(), convert_to_tensor("" if s.dtype.name == "string" else 0, s.dtype)),
                                   dict(dataset.element_spec))  # fmt: skip
        return marked.concatenate(Dataset.from_tensors({**empty, mask_key: False}).repeat(missing))

    return apply


def parse_example_dataset(features, num_parallel_calls=1, deterministic=None):
    """Vectors of serialized examples as features by name."""
    if not features:
        raise ValueError("Missing: `features` was `None` or empty.")
    from tandem.ops.io import parse_example

    return lambda dataset: dataset.map(lambda x: parse_example(x, features), num_parallel_calls, deterministic)


def make_batched_features_dataset(
    file_pattern, batch_size, features, reader=None, label_key=None, reader_args=None, num_epochs=None, shuffle=True,
    shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None, reader_num_threads=None,
    parser_num_threads=None, sloppy_ordering=False, drop_final_batch=False,
):  # fmt: skip
    """Batches of features of the examples in files."""
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    reader, arguments = reader or TFRecordDataset, list(reader_args or [])
    rows = files.interleave(lambda name: reader(name, *arguments), cycle_length=reader_num_threads or 1)
    spec = rows.element_spec
    if isinstance(spec, tuple) and len(spec) == 2:  # keys and values
        rows = rows.map(lambda _, value: value)
    if shuffle:
        rows = rows.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        rows = rows.repeat(num_epochs)
    rows = rows.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    rows = rows.apply(parse_example_dataset(features, parser_num_threads or 1))
    if label_key:
        if label_key not in features:
            raise ValueError(f"Invalid `label_key`. `label_key` {label_key!r} is not one of the features {sorted(features)}.")
        rows = rows.map(lambda x: (x, x.pop(label_key)))
    return rows.prefetch(prefetch_buffer_size or 2)


class DatasetInitializer:
    """The entries of a table, from a dataset of pairs."""

    def __init__(self, dataset):
        spec = dataset.element_spec
        if not isinstance(spec, tuple) or len(spec) != 2:
            raise ValueError(f"Invalid `dataset`: expected pairs of keys and values, got {spec}.")
        self._dataset = dataset

    dataset = property(lambda self: self._dataset)
    key_dtype = property(lambda self: self._dataset.element_spec[0].dtype)
    value_dtype = property(lambda self: self._dataset.element_spec[1].dtype)

    def initialize(self, table):
        pairs = [(key.numpy(), value.numpy()) for key, value in self._dataset]
        keys, values = zip(*pairs) if pairs else ((), ())
        flat = lambda rows, dtype: convert_to_tensor(list(rows), dtype)  # noqa: E731
        table.fill(flat(keys, self.key_dtype), flat(values, self.value_dtype))


def table_from_dataset(dataset=None, num_oov_buckets=0, vocab_size=None, default_value=None, hasher_spec=FastHashSpec, key_dtype=string, name=None):
    """A table of a dataset of pairs."""
    from tandem.ops.lookup import StaticHashTable, StaticVocabularyTable

    key_dtype = as_dtype(key_dtype)
    if not isinstance(dataset, Dataset):
        raise TypeError(f"Invalid `dataset`. Expected a `tf.data.Dataset` but got {dataset!r}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid `num_oov_buckets`. Expected a non-negative integer but got {num_oov_buckets}.")
    if vocab_size is not None and (vocab_size < 1):
        raise ValueError(f"Invalid `vocab_size`. Expected a positive integer but got {vocab_size}.")
    if vocab_size is not None:
        dataset = dataset.take(vocab_size)
    initializer = DatasetInitializer(dataset)
    if num_oov_buckets:
        return StaticVocabularyTable(initializer, num_oov_buckets, key_dtype)
    if default_value is None:
        default_value = "" if initializer.value_dtype.name == "string" else -1
    return StaticHashTable(initializer, default_value)


def index_table_from_dataset(dataset=None, num_oov_buckets=0, vocab_size=None, default_value=-1, hasher_spec=FastHashSpec, key_dtype=string, name=None):
    """A table from the elements of a dataset to their numbers."""
    pairs = dataset.enumerate().map(lambda i, key: (key, i))
    return table_from_dataset(pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name)


class _Variant:
    """A dataset as one value; only from_variant looks inside."""

    def __init__(self, dataset):
        self._dataset = dataset


def to_variant(dataset):
    """A dataset as one value, which from_variant takes."""
    return _Variant(dataset)


def from_variant(variant, structure):
    """The dataset of such a value."""
    if not isinstance(variant, _Variant):
        raise InvalidArgumentError(None, None, f"from_variant takes what to_variant gave, got {variant!r}.")
    return variant._dataset


class SqlDataset(Dataset):
    """The rows of a query of an SQLite file."""

    def __new__(cls, driver_name, data_source_name, query, output_types):
        text = lambda x: x.numpy().decode() if hasattr(x, "numpy") else x  # noqa: E731
        driver, source, query = text(driver_name), text(data_source_name), text(query)
        if driver != "sqlite":
            raise InvalidArgumentError(None, None, f"The database type, {driver}, is not supported by SqlDataset. The set of supported databases is: {{'sqlite'}}.")
        kinds = tuple(as_dtype(t) for t in output_types)

        def rows():
            with sqlite3.connect(source) as connection:
                try:
                    for row in connection.execute(query):
                        yield tuple(_column(value, kind) for value, kind in zip(row, kinds))
                except sqlite3.Error as error:
                    raise InvalidArgumentError(None, None, f"SqlDataset: {error}") from None

        return Dataset.from_generator(rows, output_signature=tuple(TensorSpec([], k) for k in kinds))

    def __init__(self, *args, **kwargs):
        pass


def _column(value, kind):
    if kind.name == "string":
        return value if isinstance(value, bytes) else "" if value is None else str(value)
    return np.asarray(0 if value is None else value).astype(kind.as_numpy_dtype)
