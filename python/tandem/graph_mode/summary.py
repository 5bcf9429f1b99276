"""tf.compat.v1.summary: tensors with Summary messages, and the writer of event files."""

import numpy as np

from tandem import _core
from tandem._namespaces import get
from tandem.framework import gfile
from tandem.graph_mode import graph as graphs
from tandem.graph_mode.collections import GraphKeys, add_to_collections, get_collection
from tandem.inside.platform import tf_logging as logging


def _clean(name):
    """A name as operations have them: other characters become lines."""
    import re

    made = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    if made != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, made)
    return made


def _tag(name, family):
    from tandem.framework.graph import _scope_in

    name = _clean(name)
    graph = graphs.current()
    scope = "" if graph is None else _scope_in(graph)
    full = f"{family}/{scope}{family}/{name}" if family else scope + name
    return full if graph is None else graph._unique_name(full)


def _made(tag, collections, tensors, fill):
    """A string tensor: the message that fill(message, arrays) fills when it is run."""

    def serialized(*arrays):
        message = get("compat.v1.Summary")()
        fill(message, tag, *arrays)
        return message.SerializeToString()

    inputs = [_core.convert_to_tensor(t) for t in tensors]
    made = get("numpy_function")(serialized, inputs, "string")
    made.set_shape([])
    if not _core.executing_eagerly():
        add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def scalar(name, tensor, collections=None, family=None):
    def fill(message, tag, value):
        if value.size != 1:
            raise ValueError(f"The tag and the value of summary.scalar must have one element; {tag} has {value.shape}.")
        message.value.add(tag=tag, simple_value=float(value.reshape(())))

    return _made(_tag(name, family), collections, [tensor], fill)


def _limits():
    """The borders of TensorFlow's histograms: from ±1e-12 in steps of a tenth."""
    positive, v = [], 1e-12
    while v < 1e20:
        positive.append(v)
        v *= 1.1
    largest = float(np.finfo(np.float64).max)
    return np.array([-largest, *(-x for x in reversed(positive)), 0.0, *positive, largest])


def _fill_histogram(message, tag, values):
    values = np.asarray(values, np.float64).reshape(-1)
    histo = message.value.add(tag=tag).histo
    limits = _limits()
    counts = np.bincount(np.searchsorted(limits, values, side="right"), minlength=len(limits))
    if values.size:
        histo.min, histo.max = float(values.min()), float(values.max())
    histo.num, histo.sum, histo.sum_squares = float(values.size), float(values.sum()), float((values**2).sum())
    # Of neighbours that are empty, one border is enough.
    i = 0
    while i < len(limits):
        end, count = limits[i], counts[i]
        i += 1
        if count <= 0:
            while i < len(limits) and counts[i] <= 0:
                end = limits[i]
                i += 1
        histo.bucket_limit.append(float(end))
        histo.bucket.append(float(count))
    if not values.size:
        histo.bucket_limit.append(float(limits[-1]))


def histogram(name, values, collections=None, family=None):
    return _made(_tag(name, family), collections, [values], _fill_histogram)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    def fill(message, tag, images):
        count = min(max_outputs, len(images))
        for number in range(count):
            own = f"{tag}/image" if max_outputs == 1 else f"{tag}/image/{number}"
            picture = images[number]
            if picture.dtype != np.uint8:
                picture = _as_bytes(picture)
            made = message.value.add(tag=own).image
            made.height, made.width, made.colorspace = picture.shape
            with _core.init_scope():
                made.encoded_image_string = get("io.encode_png")(picture).numpy()

    return _made(_tag(name, family), collections, [tensor], fill)


def _as_bytes(picture):
    """Floats in the range of bytes: non-negative ones by the largest, others around the middle."""
    low, high = float(picture.min()), float(picture.max())
    if low < 0:
        largest = max(abs(low), abs(high))
        scale, offset = (127.0 / largest if largest else 0.0), 128.0
    else:
        scale, offset = (255.0 / high if high else 0.0), 0.0
    return (picture * scale + offset).astype(np.uint8)


def text(name, tensor, collections=None):
    def fill(message, tag, value):
        made = message.value.add(tag=tag)
        made.metadata.plugin_data.plugin_name = "text"
        with _core.init_scope():
            proto = get("make_tensor_proto")(value)
        made.tensor.CopyFrom(proto)

    tensor = _core.convert_to_tensor(tensor)
    if tensor.dtype.name != "string":
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype!r}")
    return _made(_tag(name, None), collections, [tensor], fill)


def tensor_summary(name, tensor, summary_description=None, collections=None, summary_metadata=None, family=None,
                   display_name=None):  # fmt: skip
    def fill(message, tag, value):
        made = message.value.add(tag=tag)
        with _core.init_scope():
            made.tensor.CopyFrom(get("make_tensor_proto")(value))
        if display_name:
            made.metadata.display_name = display_name
        if summary_description:
            made.metadata.summary_description = summary_description

    return _made(_tag(name, family), collections, [tensor], fill)


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    raise NotImplementedError("Audio summaries of graphs are not in Tandem: write them with tf.summary.audio.")


def merge(inputs, collections=None, name=None):
    """One string tensor with the values of several summaries."""
    if _core.executing_eagerly():
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution.")
    # Messages one after the other are one message with the values of all.
    made = get("strings.join")([_core.convert_to_tensor(i) for i in inputs])
    if collections:
        add_to_collections(collections, made)
    return made


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    if _core.executing_eagerly():
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution.")
    found = get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def):
    raise NotImplementedError("Nodes of Tandem's graphs hold no SummaryDescription.")


class FileWriter:
    """Puts summaries into an event file."""

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None,
                 session=None):  # fmt: skip
        self._logdir = logdir
        self._options = max_queue, flush_secs * 1000, filename_suffix or ""
        self._native = None
        self.reopen()
        if graph is not None:
            self.add_graph(graph)

    def get_logdir(self):
        return self._logdir

    def add_summary(self, summary, global_step=None):
        data = summary if isinstance(summary, bytes) else summary.SerializeToString()
        self._write(data, global_step)

    def _write(self, data, step):
        if self._native is None:
            self.reopen()
        self._native.write_raw(int(step or 0), data)

    def add_value(self, tag, value, step):
        message = get("compat.v1.Summary")()
        message.value.add(tag=tag, simple_value=float(value))
        self.add_summary(message, step)

    def add_event(self, event):
        if event.HasField("summary"):
            self._write(event.summary.SerializeToString(), event.step)

    def add_graph(self, graph, global_step=None, graph_def=None):
        if graph is not None and len(graph):
            self._native.write_graph(int(global_step or 0), _core.graph_def(graph))

    def add_session_log(self, session_log, global_step=None):
        """Sessions leave no logs."""

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Runs are recorded by tf.profiler.experimental."""

    add_meta_graph = add_session_log

    def flush(self):
        if self._native is not None:
            self._native.flush()

    def close(self):
        if self._native is not None:
            self._native.close()
            self._native = None

    def reopen(self):
        if self._native is None:
            self._native = _core.SummaryWriterBase(gfile.local_path(self._logdir), *self._options)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class FileWriterCache:
    """One writer for each folder."""

    _writers = {}

    @staticmethod
    def clear():
        for writer in FileWriterCache._writers.values():
            writer.close()
        FileWriterCache._writers.clear()

    @staticmethod
    def get(logdir):
        found = FileWriterCache._writers.get(logdir)
        if found is None:
            found = FileWriterCache._writers[logdir] = FileWriter(logdir)
        return found


def all_v2_summary_ops():
    """Summaries of tf.summary are written where they are made: none waits in a collection."""
    return None if _core.executing_eagerly() else []


def initialize(graph=None, session=None):
    """Writers of tf.summary are ready when they are made."""
