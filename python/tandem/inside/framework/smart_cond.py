"""tensorflow.python.framework.smart_cond."""

from tandem.ops.array import get_static_value
from tandem.ops.control_flow import smart_cond  # noqa: F401


def smart_constant_value(pred):
    """True or False where that is known, else None."""
    if isinstance(pred, bool):
        return pred
    if pred in (0, 1):
        return bool(pred)
    return get_static_value(pred)
