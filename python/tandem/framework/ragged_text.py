"""How ragged tensors are printed."""

import numpy as np

_LINE = 80  # characters


def listing(ragged):
    """As TensorFlow prints one: Python lists, with the middle of long ones left out."""
    return _list_text(ragged.to_list(), ragged.dtype)


def _list_text(rows, dtype, depth=0):
    if not isinstance(rows, list):
        if dtype.name in ("float32", "float16", "bfloat16"):
            return np.format_float_positional(np.float32(rows), unique=True, trim="0") if np.isfinite(rows) else repr(rows)
        return repr(rows)
    if depth == 0 and len(rows) > 20:
        shown = [_list_text(r, dtype, 1) for r in rows[:3]] + ["..."] + [_list_text(r, dtype, 1) for r in rows[-3:]]
    else:
        shown = [_list_text(r, dtype, depth + 1) for r in rows]
    line = "[" + ", ".join(shown) + "]"
    if len(line) <= _LINE or not any(isinstance(r, list) for r in rows):
        return line
    return "[" + (",\n " + " " * depth).join(shown) + "]"
