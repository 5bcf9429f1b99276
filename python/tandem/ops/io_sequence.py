"""tf.io.parse_sequence_example: features of messages tf.train.SequenceExample, of the whole and of each step.

The context has the place and form of an Example's features and is parsed by the same op. The lists of steps are read
by the protobuf package, when the call runs.
"""

import numpy as np

from tandem._core import as_dtype, convert_to_tensor, execute
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.ragged import RaggedTensor
from tandem.framework.sparse import SparseTensor
from tandem.ops import io
from tandem.ops.script import numpy_function, with_own_errors

_LISTS = {"string": "bytes_list", "int64": "int64_list", "float32": "float_list"}


def _list_of(dtype, key):
    name = as_dtype(dtype).name
    if name not in _LISTS:
        raise ValueError(f"Invalid dtype for feature {key}: {name}; int64, float32 and string are there.")
    return _LISTS[name]


def _kinds(features):
    """(key, list, feature, whether it may be missing) in order."""
    for key, feature in sorted(features.items()):
        if isinstance(feature, (io.VarLenFeature, io.RaggedFeature)):
            yield key, _list_of(feature.dtype, key), feature, True
        elif isinstance(feature, io.FixedLenSequenceFeature):
            yield key, _list_of(feature.dtype, key), feature, feature.allow_missing
        else:
            raise ValueError(f"Unsupported sequence feature {key}: {feature}; take VarLenFeature, RaggedFeature or FixedLenSequenceFeature.")


def _read(serialized, wanted):
    """Of each key: all values, how many each step has, and how many steps each message has."""
    from tandem.framework.messages import SequenceExample

    found = [([], [], []) for _ in wanted]
    for text in np.reshape(serialized, -1).tolist():
        try:
            lists = SequenceExample.FromString(text).feature_lists.feature_list
        except Exception as error:  # noqa: BLE001  (of several classes, by the package's own implementation)
            raise InvalidArgumentError(None, None, f"Invalid protocol message input: {error}") from None
        for (key, kind, feature, optional), (values, lengths, steps) in zip(wanted, found):
            if key not in lists and not optional:
                raise InvalidArgumentError(
                    None, None, f"Name: <unknown>, Feature list '{key}' is required but could not be found.  Did you mean to "
                    "include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
                )  # fmt: skip
            rows = lists[key].feature if key in lists else []
            steps.append(len(rows))
            for row in rows:
                if row.WhichOneof("kind") not in (None, kind):
                    raise InvalidArgumentError(None, None, f"Feature list '{key}' has another type: {row.WhichOneof('kind')}, expected {kind}.")
                here = list(getattr(row, kind).value)
                values.extend(here)
                lengths.append(len(here))
    arrays = []
    for (_, _, feature, _), (values, lengths, steps) in zip(wanted, found):
        dtype = as_dtype(feature.dtype)
        arrays.append(np.array(values, object) if dtype.name == "string" else np.array(values, dtype.as_numpy_dtype))
        arrays += [np.array(lengths, np.int64), np.array(steps, np.int64)]
    return arrays


def _form(key, feature, values, lengths, steps):
    """The tensor of a feature, and the numbers of steps where it is padded."""
    if isinstance(feature, io.RaggedFeature):
        inner = RaggedTensor.from_row_lengths(values, execute("Cast", lengths, dtype=feature.row_splits_dtype), validate=False)
        return RaggedTensor.from_row_lengths(inner, execute("Cast", steps, dtype=feature.row_splits_dtype), validate=False), None
    if isinstance(feature, io.VarLenFeature):
        count, rows, turns = io._coordinates(steps)
        _, places, columns = io._coordinates(lengths)
        most = lambda x: execute("Max", execute("ConcatV2", [x, convert_to_tensor([0], "int64")], axis=0))  # noqa: E731
        indices = [execute("GatherV2", rows, places), execute("GatherV2", turns, places), columns]
        return SparseTensor(execute("Pack", indices, axis=1), values, execute("Pack", [count, most(steps), most(lengths)], axis=0)), None
    sizes = io._dims(feature.shape)
    from tandem.ops import check

    size = int(np.prod(sizes)) if sizes else 1
    check.assert_equal(lengths, convert_to_tensor(size, "int64"), message=f"Key: {key}. Number of values of a step != expected. Shape: {sizes}.")
    rows = execute("Reshape", values, [-1, *sizes])
    default = feature.default_value
    return RaggedTensor.from_row_lengths(rows, steps, validate=False).to_tensor(default), steps


def parse_sequence_example(serialized, context_features=None, sequence_features=None, example_names=None, name=None):
    """(features of the whole, features of steps, numbers of steps of those that are padded), each by name."""
    if not (context_features or sequence_features):
        raise ValueError("Both `context_features` and `sequence_features` argument are None, but at least one should have values.")
    serialized = convert_to_tensor(serialized, "string")
    context = io.parse_example(serialized, context_features) if context_features else {}
    wanted = list(_kinds(sequence_features or {}))
    sequences, counts = {}, {}
    if wanted:
        kinds = [t for _, _, f, _ in wanted for t in (as_dtype(f.dtype), as_dtype("int64"), as_dtype("int64"))]
        arrays = numpy_function(with_own_errors(lambda texts: _read(texts, wanted)), [serialized], kinds)
        for i, (key, _, feature, _) in enumerate(wanted):
            parts = [execute("Reshape", a, [-1]) for a in arrays[3 * i : 3 * i + 3]]
            sequences[key], steps = _form(key, feature, *parts)
            if steps is not None:
                counts[key] = steps
    return context, sequences, counts


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None, name=None):
    """The features of one message, without the dimension of messages."""
    serialized = convert_to_tensor(serialized, "string")
    if serialized.shape.rank not in (0, None):
        raise ValueError(f"The input serialized must be a scalar, got shape {serialized.shape}.")
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = io.parse_single_example(serialized, context_features) if context_features else {}
    if not sequence_features:
        return context, {}
    _, found, _ = parse_sequence_example(execute("ExpandDims", serialized, axis=0), None, sequence_features)
    sequences = {}
    for key, value in found.items():
        if isinstance(value, SparseTensor):
            sequences[key] = SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
        elif isinstance(value, RaggedTensor):
            sequences[key] = value.values
        else:
            sequences[key] = execute("Squeeze", value, axis=0)
    return context, sequences
