"""tf.sparse.cross and tf.sparse.cross_hashed: every combination of the features of each row."""

from tandem._core import convert_to_tensor, execute
from tandem.framework import sparse_checks
from tandem.framework.sparse import SparseTensor

_DEFAULT_KEY = 0xDECAFCAFFE
_MULTIPLIER = 0xC6A4A7935BD1E995


def cross(inputs, name=None, separator=None):
    """Features of a row joined by `separator`, as strings in a sparse tensor."""
    columns, combined = _combinations(inputs)
    texts = [c.values if c.values.dtype.name == "string" else execute("AsString", c.values) for c in columns]
    parts = [execute("GatherV2", text, at) for text, at in zip(texts, combined.features)]
    return combined.sparse(execute("StringJoin", parts, separator="_X_" if separator is None else separator))


def cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """The number of a bucket for each combination, as TensorFlow counts them; all of int64 without `num_buckets`."""
    if num_buckets < 0:
        sparse_checks.refuse(f"tf.sparse.cross_hashed: num_buckets must be >= 0, got {num_buckets}.")
    columns, combined = _combinations(inputs)
    hashed = _unsigned(_DEFAULT_KEY if hash_key is None else hash_key)
    for column, at in zip(columns, combined.features):
        hashed = _joined(hashed, execute("GatherV2", _fingerprints(column.values), at))
    buckets = _unsigned(num_buckets if num_buckets > 0 else 2**63 - 1)
    return combined.sparse(execute("Cast", execute("FloorMod", hashed, buckets), dtype="int64"))


class _Column:
    """The features of all rows one after the other, and how many each row has."""

    def __init__(self, given):
        if isinstance(given, SparseTensor):
            if given.shape.rank not in (None, 2):
                raise ValueError(f"tf.sparse.cross: inputs have two dimensions, got shape {given.shape}.")
            sparse_checks.in_bounds(given)
            values, self.batch = given.values, given.dense_shape[0]
            rows = given.indices[:, 0]
            self.counts = execute("UnsortedSegmentSum", execute("OnesLike", rows), rows, self.batch)
        else:
            given = convert_to_tensor(given)
            given = execute("EnsureShape", given, shape=[None, None]) if given.shape.rank is None else given
            if given.shape.rank != 2:
                raise ValueError(f"tf.sparse.cross: inputs have two dimensions, got shape {given.shape}.")
            shape = execute("Shape", given, out_type="int64")
            values, self.batch = execute("Reshape", given, [-1]), shape[0]
            self.counts = execute("Fill", execute("Reshape", self.batch, [1]), shape[1])
        self.values = values if values.dtype.name == "string" else execute("Cast", values, dtype="int64")
        self.starts = execute("Cumsum", self.counts, axis=0, exclusive=True)


class _Combinations:
    """Where each combination takes its features from. The last column's features change fastest."""

    def __init__(self, columns):
        counts = columns[0].counts
        for column in columns[1:]:
            sparse_checks.same_sizes(column.batch[None], columns[0].batch[None], "Inputs must have one batch size.")
            counts = counts * column.counts
        starts = execute("Cumsum", counts, axis=0, exclusive=True)
        batch = execute("Size", counts, out_type="int64")
        from tandem.ops.array import repeat

        self._rows = repeat(execute("Range", convert_to_tensor(0, "int64"), batch, convert_to_tensor(1, "int64")), counts)
        total = execute("Size", self._rows, out_type="int64")
        everyone = execute("Range", convert_to_tensor(0, "int64"), total, convert_to_tensor(1, "int64"))
        self._number = everyone - execute("GatherV2", starts, self._rows)
        self._shape = execute("Pack", [batch, execute("Maximum", execute("Max", counts, axis=0), convert_to_tensor(0, "int64"))])
        self.features, left = [], self._number
        for column in reversed(columns):
            own = execute("GatherV2", column.counts, self._rows)
            self.features.insert(0, execute("GatherV2", column.starts, self._rows) + left % own)
            left = left // own

    def sparse(self, values):
        return SparseTensor(execute("Pack", [self._rows, self._number], axis=1), values, self._shape)


def _combinations(inputs):
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise TypeError(f"tf.sparse.cross: inputs must be a list, got {inputs!r}.")
    columns = [_Column(given) for given in inputs]
    return columns, _Combinations(columns)


def _unsigned(number):
    return convert_to_tensor(number, "uint64")


def _fingerprints(values):
    """All 64 bits of the strings' hash, which the op gives only as a remainder: the low 62 and the remainder by 5."""
    if values.dtype.name != "string":
        return execute("Cast", values, dtype="uint64")
    low = execute("StringToHashBucketFast", values, num_buckets=2**62)
    fifth = execute("StringToHashBucketFast", values, num_buckets=5)
    high = (4 * (fifth - low % 5)) % 5  # 2**62 is 4 by 5, and 4 is its own inverse
    return execute("Cast", low, dtype="uint64") + execute("Cast", high, dtype="uint64") * _unsigned(2**62)


def _joined(first, second):
    """One hash of two."""
    multiplier = _unsigned(_MULTIPLIER)
    mixed = execute("BitwiseXor", first, multiplier)
    mixed = execute("BitwiseXor", mixed, _shifted(second * multiplier) * multiplier) * multiplier
    return _shifted(_shifted(mixed) * multiplier)


def _shifted(value):
    return execute("BitwiseXor", value, execute("RightShift", value, _unsigned(47)))
