"""tf.lookup: tables from keys to values. The entries are the native table's."""

import weakref

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.dtypes import int32, int64, string
from tandem.framework.graph import session_graph
from tandem.framework.trackable import AutoTrackable
from tandem.ops.check import Assert


class TextFileIndex:
    """What a column of a text file is taken to be."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def _known(values, dtype):
    """A tensor; of a constant of a session's graph, its value: tables are filled when they are made."""
    tensor = convert_to_tensor(values, dtype)
    value = _core.static_value(tensor) if tensor._symbolic and session_graph() is not None else None
    return tensor if value is None else convert_to_tensor(value, tensor.dtype)


class KeyValueTensorInitializer:
    """The entries of a table, as two tensors."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        self._keys, self._values = _known(keys, key_dtype), _known(values, value_dtype)

    key_dtype = property(lambda self: self._keys.dtype)
    value_dtype = property(lambda self: self._values.dtype)

    def initialize(self, table):
        table.fill(self._keys, self._values)


class TextFileInitializer:
    """The entries of a table, from the lines of a file."""

    def __init__(
        self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None, delimiter="\t", name=None,
        value_index_offset=0,
    ):  # fmt: skip
        for what, index in (("key", key_index), ("value", value_index)):
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(
                    f"Invalid {what} index {index}: give a column, or WHOLE_LINE or LINE_NUMBER of tf.lookup.TextFileIndex."
                )
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._filename, self._columns = filename, (key_index, value_index)
        self._most, self._delimiter, self._offset = vocab_size, delimiter, value_index_offset

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: self._value_dtype)

    def _text(self, line, number, index):
        from tandem.framework.errors import InvalidArgumentError

        fields = line.split(self._delimiter.encode())
        if index >= len(fields):
            raise InvalidArgumentError(
                None, None, f"Invalid number of columns in {self._filename} line {number} "
                f"({line.decode(errors='replace')}) : expected at least {max(self._columns) + 1} got {len(fields)}"
            )  # fmt: skip
        return fields[index]

    def _column(self, lines, index, dtype, offset):
        if index == TextFileIndex.LINE_NUMBER:
            return convert_to_tensor([i + offset for i in range(len(lines))], dtype)
        texts = lines
        if index != TextFileIndex.WHOLE_LINE:
            texts = [self._text(line, number, index) for number, line in enumerate(lines)]
        column = convert_to_tensor(texts, string) if texts else convert_to_tensor([], string)
        return column if dtype is string else execute("StringToNumber", column, out_type=dtype)

    def initialize(self, table):
        from tandem.framework.gfile import GFile

        with GFile(self._filename, "rb") as file:
            lines = file.read().replace(b"\r", b"").split(b"\n")  # as TensorFlow reads lines: bytes
        if not lines[-1]:
            lines.pop()
        if self._most is not None:
            lines = lines[: self._most]
        key_index, value_index = self._columns
        table.fill(
            self._column(lines, key_index, self._key_dtype, 0),
            self._column(lines, value_index, self._value_dtype, self._offset),
        )


_tables = weakref.WeakValueDictionary()  # by the number that graphs know a table by


def table_of(number):
    """The table; None: it is gone."""
    return _tables.get(number)


class Table(AutoTrackable):
    """A native table; int32 keys are kept as int64."""

    def __init__(self, key_dtype, value_dtype, default_value, name):
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default = convert_to_tensor(default_value, self._value_dtype)
        self._name = name
        self._table = _core.functions.make_table(self._stored_key, self._value_dtype)
        _tables[self._table] = self
        graph = _core.current_graph()
        if graph is not None:  # made while a function is traced, it lives as long as what was traced
            graph.tables.append(self)
        weakref.finalize(self, _core.functions.drop_table, self._table)

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: self._value_dtype)
    default_value = property(lambda self: self._default)
    name = property(lambda self: self._name)
    resource_handle = property(lambda self: self._table)

    @property
    def _stored_key(self):
        return string if self._key_dtype is string else int64

    def _keys(self, keys):
        keys = convert_to_tensor(keys, None, self._key_dtype)
        if keys.dtype is not self._key_dtype and not (keys.dtype is int32 and self._key_dtype is int64):
            raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype!r}, received: {keys.dtype!r}")
        return keys if keys.dtype is self._stored_key else execute("Cast", keys, dtype=self._stored_key)

    def size(self, name=None):
        """How many entries there are."""
        return execute("LookupTableSizeV2", table=self._table)

    def lookup(self, keys, name=None):
        """The values of keys; the default where there is none."""
        if hasattr(keys, "flat_values"):  # ragged
            return keys.with_flat_values(self.lookup(keys.flat_values))
        if hasattr(keys, "dense_shape"):
            return keys.with_values(self.lookup(keys.values))
        return execute("LookupTableFindV2", self._keys(keys), self._default, table=self._table)

    def __getitem__(self, keys):
        return self.lookup(keys)

    __iter__ = None  # every number is a key: asking for one after the other would not end

    def export(self, name=None):
        """All keys and values."""
        keys, values = execute("LookupTableExportV2", table=self._table)
        return keys if self._key_dtype is self._stored_key else execute("Cast", keys, dtype=self._key_dtype), values

    def _insert(self, keys, values):
        values = convert_to_tensor(values, self._value_dtype)
        execute("LookupTableInsertV2", self._keys(keys), values, table=self._table)


class StaticHashTable(Table):
    """A table whose entries are fixed when it is made."""

    def __init__(self, initializer, default_value, name=None, experimental_is_anonymous=False):
        super().__init__(initializer.key_dtype, initializer.value_dtype, default_value, name or "hash_table")
        with _core.init_scope():
            initializer.initialize(self)

    def fill(self, keys, values):
        """Called by the initializer, once."""
        self._check_unique(keys, values)
        self._insert(keys, values)

    def _check_unique(self, keys, values):
        from tandem.framework.errors import InvalidArgumentError

        if keys._symbolic or values._symbolic:
            raise ValueError("tf.lookup: the entries of a table must be known when a function that makes it is traced.")
        seen = {}
        for key, value in zip(*(np.reshape(t.numpy(), -1).tolist() for t in (keys, values))):
            if seen.setdefault(key, value) != value:
                raise InvalidArgumentError(
                    None, None,
                    f"HashTable has different value for same key. Key {key} has {seen[key]} and trying to add value {value}",
                )  # fmt: skip


class StaticVocabularyTable(AutoTrackable):
    """Numbers of strings: those of a table, and buckets by hash for all others."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None, experimental_is_anonymous=False):
        if num_oov_buckets <= 0:
            raise ValueError(f"oov_buckets must be > 0; use StaticHashTable. Received: {num_oov_buckets}")
        self._buckets = int(num_oov_buckets)
        self._table = StaticHashTable(initializer, -1) if initializer is not None else None
        self._key_dtype = as_dtype(lookup_key_dtype or (initializer.key_dtype if initializer is not None else string))

    key_dtype = property(lambda self: self._key_dtype)
    value_dtype = property(lambda self: int64)

    def size(self, name=None):
        inner = self._table.size() if self._table is not None else convert_to_tensor(0, int64)
        return inner + self._buckets

    def lookup(self, keys, name=None):
        """The number of each string."""
        if hasattr(keys, "flat_values"):
            return keys.with_flat_values(self.lookup(keys.flat_values))
        keys = convert_to_tensor(keys)
        texts = keys if keys.dtype is string else execute("AsString", keys)
        hashed = execute("StringToHashBucketFast", texts, num_buckets=self._buckets)
        if self._table is None:
            return hashed
        if self._table.key_dtype is not keys.dtype:
            keys = execute("Cast", keys, dtype=self._table.key_dtype)
        found = self._table.lookup(keys)
        return execute("SelectV2", found >= 0, found, hashed + self._table.size())

    def __getitem__(self, keys):
        return self.lookup(keys)

    __iter__ = None  # every number is a key: asking for one after the other would not end


class MutableHashTable(Table):
    """A table whose entries can be added, replaced and removed."""

    def __init__(
        self, key_dtype, value_dtype, default_value, name="MutableHashTable", checkpoint=True,
        experimental_is_anonymous=False,
    ):  # fmt: skip
        super().__init__(key_dtype, value_dtype, default_value, name)
        self._checkpoint = bool(checkpoint)

    # In a checkpoint, under TensorFlow's names.
    def _serialize_to_tensors(self):
        if not self._checkpoint:
            raise NotImplementedError
        keys, values = self.export()
        return {"-keys": keys, "-values": values}

    def _restore_from_tensors(self, restored_tensors):
        if not self._checkpoint:
            raise NotImplementedError
        keys, values = restored_tensors["-keys"], restored_tensors["-values"]
        self._check_entries(keys, values)
        self.remove(self.export()[0])
        self._insert(keys, values)

    def _check_entries(self, keys, values):
        """Before anything is removed: what a checkpoint holds may be damaged or another table's."""
        from tandem.framework.errors import InvalidArgumentError

        given, wanted = (keys.dtype, values.dtype), (self._key_dtype, self._value_dtype)
        if given != wanted or keys.shape.rank != 1 or values.shape.as_list() != keys.shape.as_list():
            raise InvalidArgumentError(
                None, None, f"Entries of {given[0]!r} {keys.shape} to {given[1]!r} {values.shape} are not those of a "
                f"table from {wanted[0]!r} to {wanted[1]!r}."
            )  # fmt: skip

    def lookup(self, keys, dynamic_default_values=None, name=None):
        """The values of keys; the default, or one for each key, where there is none."""
        if dynamic_default_values is None:
            return super().lookup(keys)
        stored = self._keys(keys)
        present = execute("Any", execute("Equal", stored[..., None], self._keys(self.export()[0])), axis=[-1])
        return execute("SelectV2", present, super().lookup(keys), convert_to_tensor(dynamic_default_values, self._value_dtype))

    def insert(self, keys, values, name=None):
        """Adds entries, and replaces those that are there."""
        self._insert(keys, values)

    def remove(self, keys, name=None):
        """Takes entries out."""
        execute("LookupTableRemoveV2", self._keys(keys), table=self._table)

    erase = remove

    def __setitem__(self, keys, values):
        self.insert(keys, values)


class DenseHashTable(MutableHashTable):
    """As MutableHashTable; the two special keys are refused."""

    def __init__(
        self, key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets=None,
        name="MutableDenseHashTable", checkpoint=True, experimental_is_anonymous=False,
    ):  # fmt: skip
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        self._special = {convert_to_tensor(k, self._key_dtype).numpy() for k in (empty_key, deleted_key)}

    def insert(self, keys, values, name=None):
        given = convert_to_tensor(keys, None, self._key_dtype)
        for special in self._special:
            allowed = execute("All", execute("NotEqual", given, convert_to_tensor(special, self._key_dtype)))
            Assert(allowed, ["Using the empty_key or the deleted_key as a table key is not allowed"])
        super().insert(keys, values)
