"""tf.io: messages of any kind that a descriptor describes, messages in JSON, and compressed bytes. The protobuf
package and zlib read them, when the call runs."""

import collections
import zlib

import numpy as np

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.errors import DataLossError, InvalidArgumentError, NotFoundError
from tandem.ops.script import numpy_function, with_own_errors

DecodeProtoV2 = collections.namedtuple("DecodeProtoV2", ["sizes", "values"])


def _flat(texts):
    """As a vector: NumPy cuts zeros off the end of a single text."""
    return execute("Reshape", texts, [-1])


def _strings(values):
    """A list of names, which may be an array of them."""
    found = np.asarray(values).reshape(-1).tolist()
    if not all(isinstance(v, (str, bytes)) for v in found):
        raise TypeError(f"field_names must be strings, got {values!r}.")
    return found


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _class(message_type, source):
    """The class of a message: of a serialized FileDescriptorSet, a file with one, or the process's own pool."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    source = source.encode("latin1") if isinstance(source, str) and source.startswith("bytes://") else source
    pool = descriptor_pool.Default()
    data = None
    if isinstance(source, bytes) and source.startswith(b"bytes://"):
        data = source[len(b"bytes://") :]
    elif _text(source) not in ("", "local://"):
        if not isinstance(source, (str, bytes)):
            raise TypeError(f"descriptor_source must be a string, got {source!r}.")
        try:
            with open(_text(source), "rb") as file:
                data = file.read()
        except OSError as error:
            raise NotFoundError(None, None, f"{_text(source)}: {error.strerror}") from None
    if data is not None:
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            pool.Add(file)
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(_text(message_type)))
    except KeyError:
        from tandem.framework import messages

        own = getattr(messages, _text(message_type).rpartition(".")[2], None)
        if own is None:
            raise InvalidArgumentError(None, None, f"No descriptor found for message type {_text(message_type)}") from None
        return own


def _repeated(field):
    found = getattr(field, "is_repeated", None)  # older versions of the package have labels
    return field.label == field.LABEL_REPEATED if found is None else found


def _values_of(message, field):
    if _repeated(field):
        found = list(getattr(message, field.name))
    else:
        found = [getattr(message, field.name)] if not field.has_presence or message.HasField(field.name) else []
    return [v.SerializeToString() if field.message_type is not None else v.encode() if isinstance(v, str) else v for v in found]


def decode_proto(bytes, message_type, field_names, output_types, descriptor_source="local://", message_format="binary",
                 sanitize=False, name=None):  # fmt: skip
    """(how often each field is there, the values of each field), padded to the most of any message."""
    from google.protobuf import text_format

    made, names = _class(message_type, descriptor_source), [_text(n) for n in _strings(field_names)]
    fields = [_field(made, n) for n in names]
    kinds = [as_dtype(t) for t in output_types]

    def read(texts, shape):
        rows, shape = [], shape.tolist()
        for text in texts.tolist():
            message = made()
            try:
                text_format.Parse(text.decode(), message) if _text(message_format) == "text" else message.ParseFromString(text)
            except Exception:  # noqa: BLE001  (of several classes, by the package's own implementation)
                raise DataLossError(None, None, "Unable to parse binary protobuf") from None
            rows.append([_values_of(message, f) for f in fields])
        sizes = np.array([[len(v) for v in row] for row in rows], np.int32).reshape([*shape, len(fields)])
        found = [sizes]
        for i, kind in enumerate(kinds):
            width = max((len(row[i]) for row in rows), default=0)
            empty = b"" if kind.name == "string" else 0
            array = np.full([len(rows), width], empty, object if kind.name == "string" else kind.as_numpy_dtype)
            for at, row in enumerate(rows):
                for column, value in enumerate(row[i]):
                    array[at, column] = value
            found.append(array.reshape([*shape, width]))
        return found

    given = convert_to_tensor(bytes, "string")
    found = numpy_function(with_own_errors(read), [_flat(given), execute("Shape", given)], [as_dtype("int32"), *kinds])
    return DecodeProtoV2(found[0], list(found[1:]))


def _field(made, name):
    field = made.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise InvalidArgumentError(None, None, f"Unknown field: {name} in message type {made.DESCRIPTOR.full_name}")
    return field


def encode_proto(sizes, values, field_names, message_type, descriptor_source="local://", name=None):
    """Messages of fields; `sizes` says how many of each field's values count."""
    made, names = _class(message_type, descriptor_source), [_text(n) for n in _strings(field_names)]
    fields = [_field(made, n) for n in names]

    def write(sizes, *values):
        shape, texts = sizes.shape[:-1], []
        sizes, values = sizes.reshape(-1, len(fields)), [v.reshape(-1, v.shape[-1]) for v in values]
        for row in range(len(sizes)):
            message = made()
            for field, count, column in zip(fields, sizes[row], values):
                here = [_back(field, v) for v in column[row][:count].tolist()]
                if _repeated(field):
                    getattr(message, field.name).extend(here)
                elif here and field.message_type is not None:
                    getattr(message, field.name).CopyFrom(here[-1])
                elif here:
                    setattr(message, field.name, here[-1])
            texts.append(message.SerializeToString())
        return np.array(texts, object).reshape(shape)

    given = [convert_to_tensor(sizes, "int32"), *map(convert_to_tensor, values)]
    return execute("Reshape", numpy_function(with_own_errors(write), given, as_dtype("string")), execute("Shape", given[0])[:-1])


def _back(field, value):
    if field.message_type is not None:
        return field.message_type._concrete_class.FromString(value)
    return value.decode() if field.type == field.TYPE_STRING else value


def decode_json_example(json_examples, name=None):
    """Messages tf.train.Example of their JSON."""
    from google.protobuf import json_format

    from tandem.framework.messages import Example

    def read(texts):
        found = []
        for text in texts.tolist():
            try:
                found.append(json_format.Parse(text.decode(), Example()).SerializeToString())
            except json_format.ParseError as error:
                raise InvalidArgumentError(None, None, f"Error while parsing JSON: {error}") from None
        return np.array(found, object)

    given = convert_to_tensor(json_examples, "string")
    return execute("Reshape", numpy_function(with_own_errors(read), [_flat(given)], as_dtype("string")), execute("Shape", given))


_WINDOWS = {"ZLIB": zlib.MAX_WBITS, "GZIP": 16 + zlib.MAX_WBITS}


def decode_compressed(bytes, compression_type="", name=None):
    """What was compressed by ZLIB or GZIP."""
    if compression_type not in ("", *_WINDOWS):
        raise InvalidArgumentError(None, None, f"Only ZLIB, GZIP or NONE are supported compressions, got {compression_type!r}.")
    given = convert_to_tensor(bytes, "string")
    if not compression_type:
        return execute("Identity", given)

    def read(texts):
        try:
            found = [zlib.decompress(t, _WINDOWS[compression_type]) for t in texts.tolist()]
        except zlib.error as error:
            raise DataLossError(None, None, f"decode_compressed: {error}.") from None
        return np.array(found, object)

    return execute("Reshape", numpy_function(with_own_errors(read), [_flat(given)], as_dtype("string")), execute("Shape", given))
