"""tf.feature_column: the dense columns of categorical ones, and the functions that make columns."""

import collections

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.gfile import GFile
from tandem.framework.shape import TensorShape
from tandem.ops import feature_column as _fc, io
from tandem.ops.feature_column import CategoricalColumn, DenseColumn, SequenceCategoricalColumn, SequenceDenseColumn, TensorSequenceLengthPair


def _not_sequence(column, what):
    if isinstance(column.categorical_column, SequenceCategoricalColumn):
        raise ValueError(f"In {what}: {column.name}. categorical_column must not be of type SequenceCategoricalColumn.")


class IndicatorColumn(DenseColumn, SequenceDenseColumn, collections.namedtuple("IndicatorColumn", "categorical_column")):
    """How often each id is there."""

    name = property(lambda self: f"{self.categorical_column.name}_indicator")
    parents = property(lambda self: [self.categorical_column])
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: TensorShape([1, self.categorical_column.num_buckets]))

    def transform_feature(self, transformation_cache, state_manager):
        column = self.categorical_column
        sequence = isinstance(column, SequenceCategoricalColumn)
        ids, weights = (column.get_sequence_sparse_tensors if sequence else column.get_sparse_tensors)(transformation_cache, state_manager)
        inside = execute("Where", execute("GreaterEqual", ids.values, 0))[:, 0]
        values = execute("GatherV2", ids.values, inside)
        rows = execute("GatherV2", ids.indices, inside)[:, :-1]
        places = execute("ConcatV2", [rows, execute("Cast", values, dtype="int64")[:, None]], axis=1)
        counts = execute("OnesLike", execute("Cast", values, dtype="float32")) if weights is None else execute("GatherV2", weights.values, inside)
        size = convert_to_tensor([column.num_buckets], "int64")
        return execute("ScatterNd", places, counts, execute("ConcatV2", [ids.dense_shape[:-1], size], axis=0))

    def get_dense_tensor(self, transformation_cache, state_manager):
        _not_sequence(self, "indicator_column")
        return transformation_cache.get(self, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        ids = self.categorical_column.get_sequence_sparse_tensors(transformation_cache, state_manager).id_tensor
        return TensorSequenceLengthPair(transformation_cache.get(self, state_manager), _lengths(ids))


def _lengths(ids):
    """How many steps each row has."""
    rows, steps = ids.indices[:, 0], ids.indices[:, 1] + 1
    return execute("Maximum", execute("UnsortedSegmentMax", steps, rows, ids.dense_shape[0]), convert_to_tensor(0, "int64"))


_EMBEDDING = "categorical_column dimension combiner initializer ckpt_to_load_from tensor_name_in_ckpt max_norm trainable use_safe_embedding_lookup"


class EmbeddingColumn(DenseColumn, SequenceDenseColumn, collections.namedtuple("EmbeddingColumn", _EMBEDDING)):
    """The rows of a table by ids, brought together."""

    name = property(lambda self: f"{self.categorical_column.name}_embedding")
    parents = property(lambda self: [self.categorical_column])
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: TensorShape([self.dimension]))

    def create_state(self, state_manager):
        state_manager.create_variable(
            self, name="embedding_weights", shape=(self.categorical_column.num_buckets, self.dimension), dtype="float32",
            trainable=self.trainable, use_resource=True, initializer=self.initializer,
        )  # fmt: skip

    def _weights(self, state_manager):
        return state_manager.get_variable(self, name="embedding_weights")

    def transform_feature(self, transformation_cache, state_manager):
        return transformation_cache.get(self.categorical_column, state_manager)

    def get_dense_tensor(self, transformation_cache, state_manager):
        _not_sequence(self, "embedding_column")
        ids, weights = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return self._looked_up(ids, weights, state_manager)

    def _looked_up(self, ids, weights, state_manager):
        from tandem.ops.nn_more import safe_embedding_lookup_sparse

        return safe_embedding_lookup_sparse(self._weights(state_manager), ids, weights, combiner=self.combiner, max_norm=self.max_norm)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        ids, weights = self.categorical_column.get_sequence_sparse_tensors(transformation_cache, state_manager)
        return TensorSequenceLengthPair(self._looked_up(ids, weights, state_manager), _lengths(ids))


class _Shared:
    """The table that several columns share, made with the first."""

    def __init__(self, size, dimension, initializer, trainable, name):
        self.made, self.size, self.dimension, self.initializer, self.trainable, self.name = None, size, dimension, initializer, trainable, name

    def variable(self):
        if self.made is None:
            from tandem.framework.variable import Variable

            self.made = Variable(self.initializer((self.size, self.dimension), "float32"), trainable=self.trainable, name=self.name)
        return self.made


class SharedEmbeddingColumn(EmbeddingColumn):
    """An embedding column whose table is another's, too."""

    name = property(lambda self: f"{self.categorical_column.name}_shared_embedding")

    def create_state(self, state_manager):
        """The table is not the layer's."""

    def _weights(self, state_manager):
        return self.shared_embedding_column_creator.variable()


class SequenceNumericColumn(SequenceDenseColumn, collections.namedtuple("SequenceNumericColumn", "key shape default_value dtype normalizer_fn")):
    """Numbers for each step of a sequence."""

    name = property(lambda self: self.key)
    parents = property(lambda self: [self.key])
    parse_example_spec = property(lambda self: {self.key: io.VarLenFeature(as_dtype(self.dtype))})
    variable_shape = property(lambda self: TensorShape(self.shape))

    def transform_feature(self, transformation_cache, state_manager):
        found = transformation_cache.get(self.key, state_manager)
        return found if self.normalizer_fn is None else self.normalizer_fn(found)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        from tandem.framework import sparse

        found = transformation_cache.get(self, state_manager)
        dense = sparse.to_dense(found, default_value=self.default_value)
        size = 1
        for n in self.shape:
            size *= n
        shape = execute("ConcatV2", [execute("Shape", dense)[:1], [-1], list(self.shape)], axis=0)
        values = found.indices[:, 1] // size + 1 if found.shape.rank == 2 else found.indices[:, 1] + 1
        lengths = execute("UnsortedSegmentMax", values, found.indices[:, 0], found.dense_shape[0])
        return TensorSequenceLengthPair(execute("Reshape", dense, shape), execute("Maximum", lengths, convert_to_tensor(0, "int64")))


# ---- The functions


def numeric_column(key, shape=(1,), default_value=None, dtype="float32", normalizer_fn=None):
    """Numbers of a feature."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Given: {key}")
    dtype = as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    shape = _fc._tuple(shape)
    if isinstance(default_value, (int, float)):
        import numpy as np

        default_value = tuple(np.full(shape, default_value).tolist())
    return _fc.NumericColumn(key, shape, default_value, dtype, normalizer_fn)


def bucketized_column(source_column, boundaries):
    """The ranges between boundaries."""
    if not isinstance(source_column, _fc.NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries or list(boundaries) != sorted(set(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return _fc.BucketizedColumn(source_column, tuple(boundaries))


def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype="string"):
    """Buckets of a hash of a feature."""
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be set and at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    return _fc.HashedCategoricalColumn(key, hash_bucket_size, as_dtype(dtype))


def categorical_column_with_identity(key, num_buckets, default_value=None):
    """Whole numbers of a feature."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return _fc.IdentityCategoricalColumn(key, num_buckets, default_value)


def categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
    """Places of a feature in a list."""
    if not vocabulary_list:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    if num_oov_buckets and default_value != -1:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if dtype is None:
        dtype = "string" if isinstance(vocabulary_list[0], (str, bytes)) else "int64"
    return _fc.VocabularyListCategoricalColumn(key, tuple(vocabulary_list), as_dtype(dtype), default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, dtype="string", default_value=None,
                                            num_oov_buckets=0, file_format=None):  # fmt: skip
    """Lines of a file in which a feature stands."""
    if file_format == "tfrecord_gzip":
        raise NotImplementedError("categorical_column_with_vocabulary_file reads text files in Tandem: pass file_format=None.")
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        with GFile(vocabulary_file, "rb") as file:
            vocabulary_size = sum(1 for _ in file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    if num_oov_buckets and default_value is not None:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    default_value = -1 if default_value is None else default_value
    return _fc.VocabularyFileCategoricalColumn(key, vocabulary_file, vocabulary_size, num_oov_buckets, as_dtype(dtype), default_value)


def weighted_categorical_column(categorical_column, weight_feature_key, dtype="float32"):
    """Ids with weights."""
    return _fc.WeightedCategoricalColumn(categorical_column, weight_feature_key, as_dtype(dtype))


def crossed_column(keys, hash_bucket_size, hash_key=None):
    """Combinations of features."""
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(f"Unsupported key type. All keys must be either string, or categorical column except HashedCategoricalColumn. Given: {key}")
        if isinstance(key, _fc.HashedCategoricalColumn):
            raise ValueError(f"categorical_column_with_hash_bucket is not supported for crossing: use its key {key.key!r} itself.")
    return _fc.CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


def _embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt):
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if ckpt_to_load_from is not None:
        from tandem import train

        return lambda shape, dtype=None, **options: convert_to_tensor(train.load_checkpoint(ckpt_to_load_from).get_tensor(tensor_name_in_ckpt))
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")
    return initializer or _fc.scaled_initializer(dimension)


def embedding_column(categorical_column, dimension, combiner="mean", initializer=None, ckpt_to_load_from=None,
                     tensor_name_in_ckpt=None, max_norm=None, trainable=True, use_safe_embedding_lookup=True):  # fmt: skip
    """A vector for each id, learned."""
    initializer = _embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    return EmbeddingColumn(categorical_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, use_safe_embedding_lookup)


def shared_embeddings(categorical_columns, dimension, combiner="mean", initializer=None, shared_embedding_collection_name=None,
                      ckpt_to_load_from=None, tensor_name_in_ckpt=None, max_norm=None, trainable=True,
                      use_safe_embedding_lookup=True):  # fmt: skip
    """Embedding columns with one table."""
    initializer = _embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    columns = sorted(categorical_columns, key=lambda c: c.name)
    if len({c.num_buckets for c in columns}) > 1:
        raise ValueError("To use shared_embeddings, all categorical_columns must have the same number of buckets.")
    name = shared_embedding_collection_name or "_".join(c.name for c in columns) + "_shared_embedding"
    shared, found = _Shared(columns[0].num_buckets, dimension, initializer, trainable, name), []
    for column in categorical_columns:
        made = SharedEmbeddingColumn(column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable, use_safe_embedding_lookup)
        made.shared_embedding_column_creator = shared
        found.append(made)
    return found


def indicator_column(categorical_column):
    """How often each id is there."""
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(f"Unsupported input type. Input must be a CategoricalColumn. Given: {categorical_column}")
    return IndicatorColumn(categorical_column)


def sequence_categorical_column_with_hash_bucket(key, hash_bucket_size, dtype="string"):
    """The same for each step."""
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_identity(key, num_buckets, default_value=None):
    """The same for each step."""
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0,
                                                     default_value=None, dtype="string"):  # fmt: skip
    """The same for each step."""
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets))


def sequence_categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
    """The same for each step."""
    return SequenceCategoricalColumn(categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets))


def sequence_numeric_column(key, shape=(1,), default_value=0.0, dtype="float32", normalizer_fn=None):
    """Numbers for each step."""
    dtype = as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    return SequenceNumericColumn(key, _fc._tuple(shape), default_value, dtype, normalizer_fn)


def make_parse_example_spec(feature_columns):
    """The features that columns need, for tf.io.parse_example."""
    spec = {}
    for column in feature_columns:
        if not isinstance(column, _fc.FeatureColumn):
            raise ValueError(f"All feature_columns must be FeatureColumn instances. Given: {column}")
        for key, value in column.parse_example_spec.items():
            if spec.get(key, value) != value:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}. Given {value} and {spec[key]}")
            spec[key] = value
    return spec


# ---- As dicts, for configurations of layers


def _plain(value, name):
    if isinstance(value, _fc.FeatureColumn):
        return serialize_feature_column(value)
    if isinstance(value, tuple) and name == "keys":
        return [serialize_feature_column(v) for v in value]
    if name == "dtype":
        return as_dtype(value).name
    if callable(value):
        if name == "initializer" and hasattr(value, "get_config"):
            return {"class_name": type(value).__name__, "config": value.get_config()}
        return value.__name__
    return value


def serialize_feature_column(fc):
    """A column as its class's name and its fields."""
    if isinstance(fc, str):
        return fc
    if not isinstance(fc, _fc.FeatureColumn):
        raise ValueError(f"Instance: {fc} is not a FeatureColumn")
    return {"class_name": type(fc).__name__, "config": {name: _plain(getattr(fc, name), name) for name in fc._fields}}


def _classes():
    return {c.__name__: c for place in (vars(_fc), globals()) for c in place.values() if isinstance(c, type) and issubclass(c, _fc.FeatureColumn)}


def deserialize_feature_column(config, custom_objects=None, columns_by_name=None):
    """The column of what serialize_feature_column gave; columns of one name are one object."""
    if isinstance(config, str):
        return config
    kinds = {**_classes(), **(custom_objects or {})}
    if config["class_name"] not in kinds:
        raise ValueError(f"Unknown feature column: {config['class_name']}")
    fields = {}
    for name, value in config["config"].items():
        if isinstance(value, dict) and value.get("class_name") in kinds:
            value = deserialize_feature_column(value, custom_objects, columns_by_name)
        elif name == "keys":
            value = tuple(deserialize_feature_column(v, custom_objects, columns_by_name) for v in value)
        elif name == "dtype":
            value = as_dtype(value)
        elif name == "initializer" and value is not None:
            value = _initializer(value, fields, custom_objects)
        elif isinstance(value, list):
            value = tuple(value)
        elif isinstance(value, str) and name == "normalizer_fn":
            value = (custom_objects or {})[value]
        fields[name] = value
    made = kinds[config["class_name"]](**fields)
    return made if columns_by_name is None else columns_by_name.setdefault(made.name, made)


def _initializer(value, fields, custom_objects):
    from tandem import keras

    if isinstance(value, str) and value not in (custom_objects or {}):
        return _fc.scaled_initializer(fields["dimension"])  # that of a column to which none was given
    return keras.initializers.deserialize(value, custom_objects)
