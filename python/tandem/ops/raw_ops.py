"""tf.raw_ops: TensorFlow's ops as functions of keywords.

An op of the table of ops is called as it is, with TensorFlow's names of its attributes; the others are made of
Tandem's own ops by the expressions of tandem.ops.raw. Names, order and defaults of parameters and the names of
results are TensorFlow's (facts/raw_ops.txt).
"""

import collections
import functools

from tandem import _core, _tables, reasons
from tandem._absent import Absent
from tandem.ops import raw

_NAMES = frozenset(_core.op_names())
# TensorFlow's name of an attribute: ours.
_RENAMED = {"keep_dims": "keepdims", "dimension": "axis", "DstT": "dtype", "Truncate": "truncate"}
# What only chooses how TensorFlow computes, or repeats the dtype of an input or result.
_IGNORED = {
    "Tout", "Tcomplex", "Treal", "use_cudnn_on_gpu", "incompatible_shape_error", "grad_a", "grad_b", "validate_shape",
    "validate_indices", "bad_indices_policy", "use_locking", "T", "xmp_metadata", "sparse_gradient", "output_dtype",
    "replace_control_characters", "alg",
}  # fmt: skip


def __getattr__(name):
    if name not in _tables.raw_ops():
        if name in _NAMES:
            return _own(name)
        raise AttributeError(f"module 'tandem.raw_ops' has no attribute '{name}': there is no such op")
    parameters, results = _tables.raw_op(name)
    expression = _expression(name)
    if expression is None:
        return Absent(f"raw_ops.{name}", *reasons.reason(f"raw_ops.{name}"))
    function = raw.compiled(name, parameters, *expression)
    function = _named(function, collections.namedtuple(name, results)) if results else function
    function.__name__ = function.__qualname__ = name
    function.__module__ = "tandem.raw_ops"
    function.__doc__ = _core.op(name).describe()["doc"] if name in _NAMES else f"TensorFlow's op {name}."
    return function


def _own(name):
    """An op that TensorFlow does not have, by Tandem's names."""
    described = _core.op(name).describe()
    inputs = [i["name"] for i in described["inputs"]]

    def raw_op(**kwargs):
        kwargs.pop("name", None)
        return _core.execute(name, *(kwargs.pop(i, None) for i in inputs), **kwargs)

    raw_op.__name__, raw_op.__doc__ = name, described["doc"]
    return raw_op


def _named(function, kind):
    @functools.wraps(function)
    def named(**kwargs):
        results = function(**kwargs)
        return kind(*results) if isinstance(results, (list, tuple)) else results

    return named


def _expression(name):
    """(expression, module of the names in it), or None."""
    written = raw.expressions().get(name)
    if written is not None or name not in _NAMES:
        return written
    described = _core.op(name).describe()
    inputs, attrs = ([x["name"] for x in described[kind]] for kind in ("inputs", "attrs"))
    given = _tables.raw_ops()[name][2]
    places = {_RENAMED.get(p, p): p for p in given}
    unknown = [p for p in given if _RENAMED.get(p, p) not in inputs + attrs and p not in _IGNORED]
    if unknown or any(i not in places for i in inputs):
        return None
    values = [places[i] for i in inputs] + [f"{a}={places[a]}" for a in attrs if a in places]
    return f"{name}({', '.join(values)})", ""


def there():
    """The ops of TensorFlow's that can be called."""
    return sorted(name for name in _tables.raw_ops() if _expression(name) is not None)


def __dir__():
    return there()
