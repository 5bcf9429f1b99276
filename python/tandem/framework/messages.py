"""TensorFlow's messages that programs make and read: tf.train.Example and its parts, events, tf.train.ClusterDef.

They are messages of the protobuf package, described here field by field; nothing is generated. Loaded when one of
their names is first used.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "bytes": _Field.TYPE_BYTES, "float": _Field.TYPE_FLOAT, "int64": _Field.TYPE_INT64,
    "int32": _Field.TYPE_INT32, "string": _Field.TYPE_STRING, "bool": _Field.TYPE_BOOL, "double": _Field.TYPE_DOUBLE,
}  # fmt: skip

# message: fields as (name, number, kind, repeated or the name of a group of which one is set)
_MESSAGES = {
    "BytesList": [("value", 1, "bytes", "repeated")],
    "FloatList": [("value", 1, "float", "repeated")],
    "Int64List": [("value", 1, "int64", "repeated")],
    "Feature": [
        ("bytes_list", 1, "BytesList", "kind"),
        ("float_list", 2, "FloatList", "kind"),
        ("int64_list", 3, "Int64List", "kind"),
    ],
    "Features": [("feature", 1, "map<string, Feature>", "")],
    "FeatureList": [("feature", 1, "Feature", "repeated")],
    "FeatureLists": [("feature_list", 1, "map<string, FeatureList>", "")],
    "Example": [("features", 1, "Features", "")],
    "SequenceExample": [("context", 1, "Features", ""), ("feature_lists", 2, "FeatureLists", "")],
    "JobDef": [("name", 1, "string", ""), ("tasks", 2, "map<int32, string>", "")],
    "ClusterDef": [("job", 1, "JobDef", "repeated")],
    "ServerDef": [
        ("cluster", 1, "ClusterDef", ""),
        ("job_name", 2, "string", ""),
        ("task_index", 3, "int32", ""),
        ("protocol", 5, "string", ""),
        ("port", 6, "int32", ""),
    ],
    "Dim": [("size", 1, "int64", ""), ("name", 2, "string", "")],
    "TensorShapeProto": [("dim", 2, "Dim", "repeated"), ("unknown_rank", 3, "bool", "")],
    "TensorProto": [
        ("dtype", 1, "int32", ""),
        ("tensor_shape", 2, "TensorShapeProto", ""),
        ("tensor_content", 4, "bytes", ""),
        ("string_val", 8, "bytes", "repeated"),
    ],
    "PluginData": [("plugin_name", 1, "string", ""), ("content", 2, "bytes", "")],
    "SummaryMetadata": [
        ("plugin_data", 1, "PluginData", ""),
        ("display_name", 2, "string", ""),
        ("summary_description", 3, "string", ""),
        ("data_class", 4, "int32", ""),
    ],
    "Image": [
        ("height", 1, "int32", ""),
        ("width", 2, "int32", ""),
        ("colorspace", 3, "int32", ""),
        ("encoded_image_string", 4, "bytes", ""),
    ],
    "HistogramProto": [
        ("min", 1, "double", ""),
        ("max", 2, "double", ""),
        ("num", 3, "double", ""),
        ("sum", 4, "double", ""),
        ("sum_squares", 5, "double", ""),
        ("bucket_limit", 6, "double", "repeated"),
        ("bucket", 7, "double", "repeated"),
    ],
    "Value": [
        ("tag", 1, "string", ""),
        ("simple_value", 2, "float", "value"),
        ("image", 4, "Image", "value"),
        ("histo", 5, "HistogramProto", "value"),
        ("node_name", 7, "string", ""),
        ("tensor", 8, "TensorProto", "value"),
        ("metadata", 9, "SummaryMetadata", ""),
    ],
    "Summary": [("value", 1, "Value", "repeated")],
    "Event": [
        ("wall_time", 1, "double", ""),
        ("step", 2, "int64", ""),
        ("file_version", 3, "string", "what"),
        ("graph_def", 4, "bytes", "what"),
        ("summary", 5, "Summary", "what"),
    ],
}


def _set_type(field, kind, package):
    if kind in _KINDS:
        field.type = _KINDS[kind]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{package}.{kind}"


def _add_field(message, name, number, kind, how, package):
    field = message.field.add(name=name, number=number)
    field.label = _Field.LABEL_REPEATED if how == "repeated" else _Field.LABEL_OPTIONAL
    if kind.startswith("map<"):
        key, value = kind[4:-1].split(", ")
        title = "".join(part.capitalize() for part in name.split("_")) + "Entry"
        entry = message.nested_type.add(name=title)
        entry.options.map_entry = True
        for part, part_kind, part_number in (("key", key, 1), ("value", value, 2)):
            _set_type(entry.field.add(name=part, number=part_number, label=_Field.LABEL_OPTIONAL), part_kind, package)
        field.label = _Field.LABEL_REPEATED
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{package}.{message.name}.{title}"
        return
    _set_type(field, kind, package)
    if how and how != "repeated":
        if not message.oneof_decl:
            message.oneof_decl.add(name=how)
        field.oneof_index = 0


def _classes():
    package = "tensorflow"
    file = descriptor_pb2.FileDescriptorProto(name="tandem/messages.proto", package=package, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _add_field(message, *field, package)
    # A pool of its own: a process that has TensorFlow's messages too keeps both.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{n}")) for n in _MESSAGES}


globals().update(_classes())


# Numbers of types.proto.
_TYPE_NAMES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64", 9: "int64",
    10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """A tensor as a message."""
    from tandem import _core
    from tandem.ops.array import constant

    tensor = constant(values, dtype, shape) if shape is not None else _core.convert_to_tensor(values, dtype)
    return TensorProto.FromString(_core.execute("SerializeTensor", tensor).numpy())  # noqa: F821


def make_ndarray(tensor):
    """The array that a message holds."""
    from tandem import _core

    dtype = _TYPE_NAMES.get(tensor.dtype)
    if dtype is None:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}")
    return _core.execute("ParseTensor", tensor.SerializeToString(), out_type=dtype).numpy()
