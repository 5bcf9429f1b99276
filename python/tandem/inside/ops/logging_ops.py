"""tensorflow.python.ops.logging_ops."""

from tandem import _namespaces


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):  # noqa: N802
    """The tensor as it is; what is printed goes to the error stream."""
    parts = [f"[{value}]" if isinstance(value, str) else value for value in data]
    printed = _namespaces.get("print")(message or "", *parts, summarize=summarize or 3, sep="")
    if printed is None:
        return input_
    with _namespaces.get("control_dependencies")([printed]):
        return _namespaces.get("identity")(input_, name=name)
