"""Loops over tf.range count: no tensor holds the numbers, and one plan serves all lengths."""

from tandem import _core
from tandem.ops import array, check
from tandem.staging.loops import counted_for
from tandem.staging.values import scratch_graph


class TensorRange:
    """What `for` goes over in place of tf.range(...); bounds: start, limit and delta of one dtype."""

    def __init__(self, bounds, length=None):
        self._bounds = bounds
        self._length = length  # where tracing knows it

    def _autograph_for(self, extra_test, body, get_state, set_state, symbol_names, opts):
        count, item = _counted(*self._bounds, self._length)
        counted_for(count, item, extra_test, body, get_state, set_state, symbol_names, opts, first=self._bounds[0])


def lazy_range(*args, **kwargs):
    """tf.range for a loop that is traced. Nothing of a Range op stays in the graph: its inputs would decide plans."""
    bounds = array.range_bounds(*args, **kwargs)
    with scratch_graph():
        made = _core.execute("Range", *bounds)  # says what is wrong with the bounds
    return TensorRange(bounds, made.shape[0])


def _counted(start, limit, delta, length):
    """How many numbers there are, and the function that makes them of their index."""
    dtype = start.dtype
    first, step = _core.static_value(start), _core.static_value(delta)
    if dtype.name in ("int32", "int64") and first == 0 and step == 1:
        return limit, lambda i: i
    moves = None
    if step is None or step == 0:
        moves = _core.execute("NotEqual", delta, _core.convert_to_tensor(0, dtype))
        check.Assert(moves, ["Requires delta != 0"])
    if length is not None:
        count = _core.convert_to_tensor(length, "int64")
    else:
        # A device may count before the assertion was looked at: it finds no number, and nothing else that is wrong.
        by = delta if moves is None else _core.execute("SelectV2", moves, delta, _core.convert_to_tensor(1, dtype))
        count = _int_count(start, limit, by) if dtype.is_integer else _float_count(start, limit, by)
        if moves is not None:
            count = _core.execute("SelectV2", moves, count, _core.convert_to_tensor(0, "int64"))
    # The numbers as the Range op computes them: short floats in float32.
    wide = "float32" if dtype.name in ("float16", "bfloat16") else dtype
    begin, by = _cast(start, wide), _cast(delta, wide)
    return count, lambda i: _cast(begin + _cast(i, wide) * by, dtype)


def _int_count(start, limit, delta):
    begin, end, by = (_cast(v, "int64") for v in (start, limit, delta))
    return -((begin - end) // by)  # rounded up


def _float_count(start, limit, delta):
    wide = "float64" if start.dtype.name == "float64" else "float32"
    begin, end, by = (_cast(v, wide) for v in (start, limit, delta))
    count = _core.execute("Ceil", (end - begin) / by)
    return _cast(_core.execute("Minimum", count, _core.convert_to_tensor(9e18, wide)), "int64")


def _cast(value, dtype):
    dtype = _core.as_dtype(dtype)
    return value if value.dtype == dtype else _core.execute("Cast", value, dtype=dtype)
