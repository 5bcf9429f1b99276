"""tf.print."""

import sys

import numpy as np

from tandem import _core
from tandem.framework import nest


def _shown(value, summarize):
    if isinstance(value, (_core.Tensor, _core.VariableBase)):
        return _array(np.asarray(value), summarize)
    return str(value)


def _array(array, summarize, depth=0):
    if array.ndim == 0:
        item = array.item()
        if isinstance(item, bytes):
            return item.decode("utf-8", "replace") if depth == 0 else '"' + item.decode("utf-8", "replace") + '"'
        if isinstance(item, bool):
            return "1" if item else "0"
        if isinstance(item, float):
            return np.format_float_positional(array, trim="-") if 1e-4 <= abs(item) < 1e6 or item == 0 else f"{item:g}"
        return str(item)
    n = array.shape[0]
    if summarize is None or summarize < 0 or n <= 2 * summarize:
        parts = [_array(row, summarize, depth + 1) for row in array]
    else:
        parts = [_array(row, summarize, depth + 1) for row in array[:summarize]]
        parts += ["..."] + [_array(row, summarize, depth + 1) for row in array[n - summarize :]]
    separator = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (depth + 1)
    return "[" + separator.join(parts) + "]"


def print_v2(*inputs, **kwargs):
    """Prints tensors and other values."""
    stream = kwargs.pop("output_stream", sys.stderr)
    end, sep, summarize = kwargs.pop("end", "\n"), kwargs.pop("sep", " "), kwargs.pop("summarize", 3)
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    if not _core.executing_eagerly():
        _traced_print(inputs, stream, end, sep, summarize)
        return
    parts = []
    for value in inputs:
        if nest.is_nested(value):
            parts.append(str(nest.map_structure(lambda v: _Plain(_shown(v, summarize)), value)))
        else:
            parts.append(_shown(value, summarize))
    text = sep.join(parts) + end
    if isinstance(stream, str):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(text)
    else:
        stream.write(text)


def _stream_name(stream):
    """What the op calls an output stream."""
    if stream is sys.stdout or stream is sys.__stdout__:
        return "stdout"
    if stream is sys.stderr or stream is sys.__stderr__:
        return "stderr"
    if isinstance(stream, str):
        return stream
    name = getattr(stream, "__name__", "")
    if name in ("info", "warning", "error"):  # tf.compat.v1.logging.info and its like
        return f"log({name})"
    raise ValueError(
        f"Unknown output stream, output_stream={stream}: inside a traced function it is sys.stdout, sys.stderr, "
        "a log level or 'file://' and a path."
    )


def _traced_print(inputs, stream, end, sep, summarize):
    """The op prints when the function runs."""
    texts = [str(v) for v in nest.flatten(list(inputs)) if not _core.is_tensor_like(v)]
    place = "{}"
    while any(place in text for text in [*texts, sep]):
        place = "{" + place + "}"
    tensors = []

    def shown(value):
        if not _core.is_tensor_like(value):
            return value
        tensors.append(_core.convert_to_tensor(value))
        return _Plain(place)

    parts = [nest.map_structure(shown, value) if nest.is_nested(value) else shown(value) for value in inputs]
    text = sep.join(map(str, parts))
    summarize = -1 if summarize is None else summarize
    line = _core.execute("StringFormat", tensors, text=text, placeholder=place, summarize=summarize)
    _core.execute("PrintV2", line, output_stream=_stream_name(stream), end=end)


class _Plain:
    """A text whose repr is itself, inside the structure that holds it."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text
