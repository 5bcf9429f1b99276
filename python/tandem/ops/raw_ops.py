"""tf.raw_ops: every op of the table as a function of keywords."""

from tandem import _core

_NAMES = frozenset(_core.op_names())


def __getattr__(name):
    if name not in _NAMES:
        raise AttributeError(f"module 'tandem.raw_ops' has no attribute '{name}': there is no such op")
    described = _core.op(name).describe()
    inputs = [i["name"] for i in described["inputs"]]

    def raw_op(**kwargs):
        kwargs.pop("name", None)
        given = [kwargs.pop(i, None) for i in inputs]
        return _core.execute(name, *given, **kwargs)

    raw_op.__name__ = name
    raw_op.__doc__ = described["doc"]
    return raw_op


def __dir__():
    return sorted(_NAMES)
