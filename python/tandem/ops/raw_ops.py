"""tf.raw_ops: every op of the table as a function of keywords, and ops of TensorFlow that others make up."""

from tandem import _core, _tables, reasons
from tandem._absent import Absent

_NAMES = frozenset(_core.op_names())


def __getattr__(name):
    if name not in _NAMES:
        if name not in _tables.raw_ops():
            raise AttributeError(f"module 'tandem.raw_ops' has no attribute '{name}': there is no such op")
        return Absent(f"raw_ops.{name}", *reasons.reason("raw_ops"))
    described = _core.op(name).describe()
    inputs = [i["name"] for i in described["inputs"]]

    def raw_op(**kwargs):
        kwargs.pop("name", None)
        given = [kwargs.pop(i, None) for i in inputs]
        return _core.execute(name, *given, **kwargs)

    raw_op.__name__ = name
    raw_op.__doc__ = described["doc"]
    return raw_op


def Add(*, x, y, name=None):
    """The sum; the op of that name joins strings, numbers have their own."""
    x = _core.convert_to_tensor(x)
    return _core.execute("Add" if x.dtype.name == "string" else "AddV2", x, y)


def Bucketize(*, input, boundaries, name=None):
    """For each value, how many of the sorted boundaries are not above it."""
    input = _core.convert_to_tensor(input)
    if not input.dtype.is_floating:
        input = _core.execute("Cast", input, dtype="float64")
    flat = _core.execute("Reshape", input, [-1])
    places = _core.execute("UpperBound", [[float(b) for b in boundaries]], flat[None], out_type="int32")
    return _core.execute("Reshape", places, _core.execute("Shape", input))


def __dir__():
    return sorted(_NAMES | {"Bucketize"})
