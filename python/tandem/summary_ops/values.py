"""tf.summary.scalar, image, histogram, text and audio: tensors with the marks by which TensorBoard knows them."""

from tandem import _core
from tandem.summary_ops import state
from tandem.summary_ops.metadata import serialized

# Numbers of SummaryMetadata.DataClass.
_SCALAR, _TENSOR, _BLOBS = 1, 2, 3


def write(tag, tensor, step=None, metadata=None, name=None):
    """Writes a tensor to the default writer: True where it was written."""
    writer = state.STATE.writer
    if writer is None:
        return False
    if step is None:
        step = state.get_step()
    if step is None:
        raise ValueError("No step set. Please specify one either through the `step` argument or through "
                         "tf.summary.experimental.set_step()")  # fmt: skip
    if writer.native is None:
        return False
    record = state.should_record_summaries()
    if record is False:
        return False

    def emit():
        value = tensor() if callable(tensor) else tensor
        _core.execute(
            "WriteSummary", _as_int64(step), _core.convert_to_tensor(value), tag, serialized(metadata),
            writer=writer.native.number,
        )  # fmt: skip
        return _core.convert_to_tensor(True)

    if record is True:
        emit()
        return True
    from tandem.ops.control_flow import cond

    return cond(record, emit, lambda: _core.convert_to_tensor(False))


def _as_int64(step):
    tensor = _core.convert_to_tensor(step)
    return tensor if tensor.dtype.name == "int64" else _core.execute("Cast", tensor, dtype=_core.as_dtype("int64"))


def _summary(name, default_name, plugin, data_class, make, step, description, content=b""):
    metadata = _core.summary_metadata(plugin, content, description or "", data_class)
    with state.summary_scope(name, default_name) as (tag, _):
        return write(tag, make, step, metadata)


def scalar(name, data, step=None, description=None):
    """A number over the steps."""

    def make():
        tensor = _core.convert_to_tensor(data)
        if tensor.shape.rank is not None and tensor.shape.rank != 0:
            raise _core_error(f"scalar summary '{name}': expected a scalar, got shape {tensor.shape}")
        if tensor.dtype.name != "float32":
            tensor = _core.execute("Cast", tensor, dtype=_core.as_dtype("float32"))
        return tensor

    return _summary(name, "scalar_summary", "scalars", _SCALAR, make, step, description)


def histogram(name, data, step=None, buckets=None, description=None):
    """How the values of a tensor are spread."""
    buckets = 30 if buckets is None else int(buckets)
    return _summary(
        name, "histogram_summary", "histograms", _TENSOR,
        lambda: _core.execute("SummaryHistogram", data, buckets=buckets), step, description,
    )  # fmt: skip


def image(name, data, step=None, max_outputs=3, description=None):
    """Images: [n, height, width, channels], floats from 0 to 1 or uint8."""

    def make():
        tensor = _core.convert_to_tensor(data)
        if tensor.shape.rank is not None and tensor.shape.rank != 4:
            raise _core_error(f"image summary '{name}': expected rank 4, got shape {tensor.shape}")
        return _core.execute("SummaryImage", tensor, max_outputs=int(max_outputs))

    return _summary(name, "image_summary", "images", _BLOBS, make, step, description)


def text(name, data, step=None, description=None):
    """Text, which TensorBoard shows as Markdown."""

    def make():
        tensor = _core.convert_to_tensor(data)
        if tensor.dtype.name != "string":
            raise ValueError(f"Expected a string tensor for the text summary '{name}', got {tensor.dtype!r}.")
        return tensor

    return _summary(name, "text_summary", "text", _TENSOR, make, step, description)


def audio(name, data, sample_rate, step=None, max_outputs=3, encoding=None, description=None):
    """Sound: [n, frames, channels], floats from -1 to 1."""
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}. Only 'wav' is there.")
    return _summary(
        name, "audio_summary", "audio", _BLOBS,
        lambda: _core.execute("SummaryAudio", data, sample_rate=int(sample_rate), max_outputs=int(max_outputs)),
        step, description, content=b"\x10\x0b",  # AudioPluginData: encoding WAV
    )  # fmt: skip


def _core_error(message):
    from tandem.framework.errors import InvalidArgumentError

    return InvalidArgumentError(None, None, message)


def write_raw_pb(tensor, step=None, name=None):
    """Writes a Summary message that is already serialised."""
    writer = state.STATE.writer
    if writer is None or writer.native is None or not state.should_record_summaries():
        return False
    step = state.get_step() if step is None else step
    if step is None:
        raise ValueError("No step set. Please specify one either through the `step` argument or through "
                         "tf.summary.experimental.set_step()")  # fmt: skip
    value = tensor if isinstance(tensor, bytes) else _core.convert_to_tensor(tensor).numpy()
    writer.native.write_raw(int(step), value)
    return True
