"""tf.strings.unicode_script: the script of each character, by a table of where scripts begin (facts/scripts.txt)."""

import functools

from tandem import _tables
from tandem._core import convert_to_tensor, execute


@functools.cache
def _ranges():
    rows = [line.split() for line in _tables._lines("scripts")]
    return [int(start, 16) for start, _ in rows], [int(number) for _, number in rows]


def unicode_script(input, name=None):
    """The number of the script of code points, -1 where there is no such character."""
    if hasattr(input, "with_flat_values"):
        return input.with_flat_values(unicode_script(input.flat_values))
    points = convert_to_tensor(input, "int32")
    starts, scripts = (convert_to_tensor(values, "int32") for values in _ranges())
    flat = execute("Reshape", points, [1, -1])
    places = execute("UpperBound", starts[None], flat, out_type="int32")[0] - 1
    found = execute("GatherV2", scripts, execute("Maximum", places, 0), axis=0)
    outside = execute("LogicalOr", execute("Less", flat[0], 0), execute("Greater", flat[0], 0x10FFFF))
    return execute("Reshape", execute("SelectV2", outside, -1, found), execute("Shape", points))
