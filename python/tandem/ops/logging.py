"""tf.print."""

import sys

from tandem import _core
from tandem.framework import nest
from tandem.framework.gfile import GFile
from tandem.framework.graph import gives_operation


@gives_operation
def print_v2(*inputs, **kwargs):
    """Prints tensors and other values."""
    stream = kwargs.pop("output_stream", sys.stderr)
    end, sep, summarize = kwargs.pop("end", "\n"), kwargs.pop("sep", " "), kwargs.pop("summarize", 3)
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    line = _line(inputs, sep, -1 if summarize is None else summarize)
    if not _core.executing_eagerly():
        _core.execute("PrintV2", line, output_stream=_stream_name(stream), end=end)
        return
    text = line.numpy().decode("utf-8", "replace") + end
    if isinstance(stream, str):
        with GFile(stream, "a") as file:
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


def _line(inputs, sep, summarize):
    """The values as one string tensor."""
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
    return _core.execute("StringFormat", tensors, text=text, placeholder=place, summarize=summarize)


class _Plain:
    """A text whose repr is itself, inside the structure that holds it."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text
