"""tf.feature_column: what a model is told of its features by name, as columns that turn them into numbers.

A column takes its feature from a FeatureTransformationCache, which keeps what was computed, and its variables from
a StateManager. Categorical columns give sparse ids, dense ones tensors.
"""

import collections
import math

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.shape import TensorShape
from tandem.framework.sparse import SparseTensor
from tandem.ops import io

IdWeightPair = collections.namedtuple("IdWeightPair", ["id_tensor", "weight_tensor"])
TensorSequenceLengthPair = collections.namedtuple("TensorSequenceLengthPair", ["dense_tensor", "sequence_length"])


class FeatureColumn:
    """What all columns are: a name, the features that they need, and how these are turned into a value."""

    _is_v2_column = True

    def create_state(self, state_manager):
        """Makes the column's variables."""

    def __lt__(self, other):
        return str(self) < str(other)

    def __gt__(self, other):
        return str(self) > str(other)


class DenseColumn(FeatureColumn):
    """A column whose value is a dense tensor: get_dense_tensor and variable_shape."""


class CategoricalColumn(FeatureColumn):
    """A column whose value is sparse ids below num_buckets: get_sparse_tensors."""


class SequenceDenseColumn(FeatureColumn):
    """A column whose value is a dense tensor for each step: get_sequence_dense_tensor."""


class FeatureTransformationCache:
    """The features of a batch, and what columns made of them."""

    def __init__(self, features):
        self._features, self._made = dict(features), {}

    def get(self, key, state_manager, training=None):
        """A feature by its name, or a column's value."""
        if key not in self._made:
            self._made[key] = self._feature(key) if isinstance(key, str) else self._of(key, state_manager)
        return self._made[key]

    def _feature(self, key):
        if key not in self._features:
            raise ValueError(f"Feature {key} is not in features dictionary.")
        value = self._features[key]
        if isinstance(value, SparseTensor) or hasattr(value, "row_splits"):
            return value if isinstance(value, SparseTensor) else value.to_sparse()
        value = convert_to_tensor(value)
        if value.shape.rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {value}")
        return value[:, None] if value.shape.rank == 1 else value

    def _of(self, column, state_manager):
        if not isinstance(column, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {column}.')
        found = column.transform_feature(self, state_manager)
        if found is None:
            raise ValueError(f"Column {column.name} is not supported.")
        return found


class StateManager:
    """The variables of columns, by name; they are the layer's attributes where there is a layer."""

    def __init__(self, layer=None, trainable=True):
        self._layer, self._trainable = layer, trainable
        self._variables, self._resources = collections.defaultdict(dict), collections.defaultdict(dict)

    def create_variable(self, feature_column, name, shape, dtype=None, trainable=True, use_resource=True, initializer=None):
        if name in self._variables[feature_column]:
            raise ValueError("Variable already exists.")
        if hasattr(self._layer, "add_weight"):
            made = self._layer.add_weight(name=name, shape=shape, dtype=dtype, initializer=initializer, trainable=self._trainable and trainable)
        else:
            from tandem.framework.variable import Variable

            made = Variable(initializer(shape, as_dtype(dtype or "float32")), trainable=self._trainable and trainable, name=name)
        self._variables[feature_column][name] = made
        return made

    def get_variable(self, feature_column, name):
        if name not in self._variables[feature_column]:
            raise ValueError("Variable does not exist.")
        return self._variables[feature_column][name]

    def add_resource(self, feature_column, name, resource):
        self._resources[feature_column][name] = resource

    def has_resource(self, feature_column, name):
        return name in self._resources[feature_column]

    def get_resource(self, feature_column, name):
        if name not in self._resources[feature_column]:
            raise ValueError("Resource does not exist.")
        return self._resources[feature_column][name]


def to_sparse(value, ignore=None):
    """The elements of a dense feature that are there: not empty strings, and not -1."""
    if isinstance(value, SparseTensor):
        return value
    if ignore is None:
        ignore = "" if value.dtype.name == "string" else -1
    indices = execute("Where", execute("NotEqual", value, convert_to_tensor(ignore, value.dtype)))
    return SparseTensor(indices, execute("GatherNd", value, indices), execute("Shape", value, out_type="int64"))


def _tuple(shape):
    shape = (shape,) if isinstance(shape, int) else tuple(int(s) for s in shape)
    if any(s <= 0 for s in shape):
        raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}")
    return shape


class NumericColumn(DenseColumn, collections.namedtuple("NumericColumn", "key shape default_value dtype normalizer_fn")):
    """Numbers as they are."""

    name = property(lambda self: self.key)
    variable_shape = property(lambda self: TensorShape(self.shape))
    parents = property(lambda self: [self.key])

    @property
    def parse_example_spec(self):
        return {self.key: io.FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(self, transformation_cache, state_manager):
        found = transformation_cache.get(self.key, state_manager)
        if isinstance(found, SparseTensor):
            raise ValueError(f"The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. key: {self.key}")
        found = found if self.normalizer_fn is None else self.normalizer_fn(found)
        return execute("Cast", found, dtype="float32")

    def get_dense_tensor(self, transformation_cache, state_manager):
        return transformation_cache.get(self, state_manager)


class BucketizedColumn(DenseColumn, CategoricalColumn, collections.namedtuple("BucketizedColumn", "source_column boundaries")):
    """The range in which a number lies: as ids, or each as a vector with a one."""

    name = property(lambda self: f"{self.source_column.name}_bucketized")
    parents = property(lambda self: [self.source_column])
    parse_example_spec = property(lambda self: self.source_column.parse_example_spec)
    variable_shape = property(lambda self: TensorShape([*self.source_column.shape, len(self.boundaries) + 1]))
    num_buckets = property(lambda self: (len(self.boundaries) + 1) * self.source_column.shape[0])

    def transform_feature(self, transformation_cache, state_manager):
        from tandem.ops.raw.arrays import bucketize

        return bucketize(transformation_cache.get(self.source_column, state_manager), self.boundaries)

    def get_dense_tensor(self, transformation_cache, state_manager):
        places = transformation_cache.get(self, state_manager)
        return execute("OneHot", places, len(self.boundaries) + 1, 1.0, 0.0, axis=-1)

    def get_sparse_tensors(self, transformation_cache, state_manager):
        places = transformation_cache.get(self, state_manager)
        batch, size = execute("Shape", places)[0], self.source_column.shape[0]
        offsets = execute("Range", 0, size, 1) * (len(self.boundaries) + 1)
        ids = execute("Reshape", execute("Reshape", places, [-1, size]) + offsets, [-1])
        grid = execute("Where", execute("Fill", execute("Pack", [batch, size], axis=0), convert_to_tensor(True)))
        return IdWeightPair(SparseTensor(grid, ids, execute("Cast", execute("Pack", [batch, size], axis=0), dtype="int64")), None)


class _Keyed(CategoricalColumn):
    """A categorical column of one feature."""

    name = property(lambda self: self.key)
    parents = property(lambda self: [self.key])

    @property
    def parse_example_spec(self):
        return {self.key: io.VarLenFeature(as_dtype(getattr(self, "dtype", "int64")))}

    def transform_feature(self, transformation_cache, state_manager):
        return self._ids(to_sparse(transformation_cache.get(self.key, state_manager)))

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


class HashedCategoricalColumn(_Keyed, collections.namedtuple("HashedCategoricalColumn", "key hash_bucket_size dtype")):
    """Buckets of a hash."""

    num_buckets = property(lambda self: self.hash_bucket_size)

    def _ids(self, sparse):
        texts = sparse.values if sparse.dtype.name == "string" else execute("AsString", sparse.values)
        return sparse.with_values(execute("StringToHashBucketFast", texts, num_buckets=self.hash_bucket_size))


class IdentityCategoricalColumn(_Keyed, collections.namedtuple("IdentityCategoricalColumn", "key number_buckets default_value")):
    """Whole numbers as they are; others than those below the number of buckets are the default, or an error."""

    num_buckets = property(lambda self: self.number_buckets)

    def _ids(self, sparse):
        if not sparse.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {sparse.dtype}")
        ids = execute("Cast", sparse.values, dtype="int64")
        inside = execute("LogicalAnd", execute("GreaterEqual", ids, 0), execute("Less", ids, self.number_buckets))
        if self.default_value is None:
            from tandem.ops import check

            check.Assert(execute("All", inside), [f"The ids of feature {self.key} must be in [0, {self.number_buckets}).", ids])
            return sparse.with_values(ids)
        return sparse.with_values(execute("SelectV2", inside, ids, convert_to_tensor(self.default_value, "int64")))


class _Vocabulary(_Keyed):
    """Numbers by a table, which is made when it is first used."""

    def _ids(self, sparse):
        key = ("table", self)
        if key not in _tables:
            _tables[key] = self._table()
        sparse = sparse if sparse.dtype.name == "string" else sparse._cast_values("int64")
        return sparse.with_values(_tables[key].lookup(sparse.values))


class VocabularyListCategoricalColumn(
    _Vocabulary, collections.namedtuple("VocabularyListCategoricalColumn", "key vocabulary_list dtype default_value num_oov_buckets")
):
    """Places in a list; others are the default, or in buckets after it."""

    num_buckets = property(lambda self: len(self.vocabulary_list) + self.num_oov_buckets)

    def _table(self):
        from tandem.ops.lookup import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable

        keys = convert_to_tensor(list(self.vocabulary_list), "string" if as_dtype(self.dtype).name == "string" else "int64")
        initializer = KeyValueTensorInitializer(keys, list(range(len(self.vocabulary_list))), value_dtype="int64")
        if self.num_oov_buckets:
            return StaticVocabularyTable(initializer, self.num_oov_buckets)
        return StaticHashTable(initializer, self.default_value)


class VocabularyFileCategoricalColumn(
    _Vocabulary,
    collections.namedtuple("VocabularyFileCategoricalColumn", "key vocabulary_file vocabulary_size num_oov_buckets dtype default_value"),
):
    """The same of the lines of a file."""

    num_buckets = property(lambda self: self.vocabulary_size + self.num_oov_buckets)

    def _table(self):
        from tandem.ops.lookup import StaticHashTable, StaticVocabularyTable, TextFileIndex, TextFileInitializer

        initializer = TextFileInitializer(
            self.vocabulary_file, self.dtype if as_dtype(self.dtype).name == "string" else "int64", TextFileIndex.WHOLE_LINE, "int64",
            TextFileIndex.LINE_NUMBER, vocab_size=self.vocabulary_size,
        )  # fmt: skip
        if self.num_oov_buckets:
            return StaticVocabularyTable(initializer, self.num_oov_buckets)
        return StaticHashTable(initializer, self.default_value)


_tables = {}


class WeightedCategoricalColumn(CategoricalColumn, collections.namedtuple("WeightedCategoricalColumn", "categorical_column weight_feature_key dtype")):
    """Ids, each with a weight that another feature gives."""

    name = property(lambda self: f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}")
    parents = property(lambda self: [self.categorical_column, self.weight_feature_key])
    num_buckets = property(lambda self: self.categorical_column.num_buckets)

    @property
    def parse_example_spec(self):
        return {**self.categorical_column.parse_example_spec, self.weight_feature_key: io.VarLenFeature(as_dtype(self.dtype))}

    def transform_feature(self, transformation_cache, state_manager):
        weights = to_sparse(transformation_cache.get(self.weight_feature_key, state_manager), 0)
        return transformation_cache.get(self.categorical_column, state_manager), weights._cast_values("float32")

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return IdWeightPair(*transformation_cache.get(self, state_manager))


class CrossedColumn(CategoricalColumn, collections.namedtuple("CrossedColumn", "keys hash_bucket_size hash_key")):
    """Buckets of a hash of every combination of features."""

    parents = property(lambda self: list(self.keys))
    num_buckets = property(lambda self: self.hash_bucket_size)
    name = property(lambda self: "_X_".join(sorted(_leaves(self))))

    @property
    def parse_example_spec(self):
        spec = {}
        for key in self.keys:
            spec.update({key: io.VarLenFeature(as_dtype("string"))} if isinstance(key, str) else key.parse_example_spec)
        return spec

    def transform_feature(self, transformation_cache, state_manager):
        from tandem.framework.sparse_cross import cross_hashed

        features = []
        for key in _collected(self):
            if isinstance(key, str):
                features.append(transformation_cache.get(key, state_manager))
            else:
                found = key.get_sparse_tensors(transformation_cache, state_manager)
                if found.weight_tensor is not None:
                    raise ValueError(f"crossed_column does not support weight_tensor, but the given column populates weight_tensor. Given column: {key.name}")
                features.append(found.id_tensor)
        return cross_hashed(features, self.hash_bucket_size, self.hash_key)

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


def _collected(column):
    """The keys of crosses within crosses, one after the other."""
    return [inner for key in column.keys for inner in (_collected(key) if isinstance(key, CrossedColumn) else [key])]


def _leaves(column):
    return [key if isinstance(key, str) else key.name for key in _collected(column)]


class SequenceCategoricalColumn(CategoricalColumn, collections.namedtuple("SequenceCategoricalColumn", "categorical_column")):
    """A categorical column for each step of a sequence."""

    name = property(lambda self: self.categorical_column.name)
    parents = property(lambda self: [self.categorical_column])
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    num_buckets = property(lambda self: self.categorical_column.num_buckets)

    def transform_feature(self, transformation_cache, state_manager):
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sequence_sparse_tensors(self, transformation_cache, state_manager):
        """Ids with the steps as the second dimension and one id in each step."""
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return IdWeightPair(*(None if s is None else _stepwise(s) for s in pair))


def _stepwise(sparse):
    from tandem.framework import sparse as public

    shape = sparse.dense_shape
    rest = execute("Prod", shape[2:], axis=[0], keepdims=True)
    return public.reshape(sparse, execute("ConcatV2", [shape[:2], rest], axis=0))


def scaled_initializer(dimension):
    from tandem.ops import random

    return lambda shape, dtype=None, **options: random.truncated_normal(shape, 0.0, 1 / math.sqrt(dimension), as_dtype(dtype or "float32"))
