"""Builtin functions of Python on tensors that have no value yet."""

from tandem import _core
from tandem.staging.values import stages, tensor_of
from tandem.framework import composites


def _any_staged(values):
    return any(stages(tensor_of(leaf)) for value in values for leaf in composites.leaves(value))


def _abs(x):
    return abs(x)


def _float(x=0):
    x = tensor_of(x)
    if not stages(x):
        return float(x)
    if x.dtype.name == "string":
        return _core.execute("StringToNumber", x, out_type="float32")
    return _core.execute("Cast", x, dtype="float32")


def _int(x=0, base=None):
    x = tensor_of(x)
    if not stages(x):
        return int(x) if base is None else int(x, base)
    if base not in (None, 10):
        raise NotImplementedError(f"int() of a tensor with base {base} is not available: only 10 is.")
    if x.dtype.name == "string":
        return _core.execute("StringToNumber", x, out_type="int32")
    return _core.execute("Cast", x, dtype="int32")


def _len(s):
    if hasattr(type(s), "_staged_length"):
        return s._staged_length()
    s = tensor_of(s)
    if not stages(s):
        return len(s)
    if s.shape.rank == 0:
        raise ValueError("len requires a non-scalar tensor, got one of shape ()")
    if s.shape.rank is not None and s.shape[0] is not None:
        return s.shape[0]
    return _core.execute("Shape", s)[0]


def _print(*objects, **kwargs):
    """Python's print while tracing; tensors show what is known of them. (tf.print prints when the function runs.)"""
    print(*objects, **kwargs)


def _range(*args):
    args = [tensor_of(a) for a in args]
    if not any(stages(a) for a in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    from tandem.ops.array import range as tensor_range

    return tensor_range(start, stop, step)


def _enumerate(iterable, start=0):
    iterable = tensor_of(iterable)
    if hasattr(type(iterable), "_autograph_for") and hasattr(type(iterable), "enumerate"):
        return iterable.enumerate(start)
    if not stages(iterable):
        return enumerate(iterable, start)
    count = _core.execute("Shape", iterable)[0]
    return _Items(count, lambda i: (i + start, _core.execute("GatherV2", iterable, i, axis=0)))


def _zip(*iterables, strict=False):
    iterables = [tensor_of(i) for i in iterables]
    if iterables and all(hasattr(type(i), "_autograph_for") and hasattr(type(i), "zip") for i in iterables):
        return type(iterables[0]).zip(*iterables)
    if not iterables or not all(stages(i) for i in iterables):
        return zip(*iterables, strict=strict)
    count = _core.execute("Shape", iterables[0])[0]
    for other in iterables[1:]:
        count = _core.execute("Minimum", count, _core.execute("Shape", other)[0])
    return _Items(count, lambda i: tuple(_core.execute("GatherV2", t, i, axis=0) for t in iterables))


def _next(iterator, *default):
    """The user says how often: what a loop of Python over the iterator must not do is not counted here."""
    if not _core.executing_eagerly() and hasattr(type(iterator), "_staged_next"):
        return iterator._staged_next()
    return next(iterator, *default)


class _Items:
    """What a staged loop can go over: a number of items that are made from their index."""

    def __init__(self, count, item):
        self._count = count
        self._item = item

    def _autograph_for(self, extra_test, body, get_state, set_state, symbol_names, opts):
        from tandem.staging.loops import counted_for

        counted_for(self._count, self._item, extra_test, body, get_state, set_state, symbol_names, opts)


def _extreme(builtin, reduction, pairwise):
    def chosen(*args, **kwargs):
        if kwargs or not _any_staged(args):
            return builtin(*args, **kwargs)
        if len(args) == 1:
            value = tensor_of(args[0])
            if not stages(value):
                return chosen(*value)
            if value.shape.rank not in (None, 1):
                raise ValueError(f"{builtin.__name__}() of one tensor requires a vector, got shape {value.shape}")
            return _core.execute(reduction, value)
        result = args[0]
        for other in args[1:]:
            result = _core.execute(pairwise, result, other)
        return result

    return chosen


def _quantifier(builtin, reduction):
    def holds(iterable):
        iterable = tensor_of(iterable)
        if not stages(iterable):
            return builtin(iterable)
        return _core.execute(reduction, iterable)

    return holds


def _sum(iterable, start=0):
    iterable = tensor_of(iterable)
    if not stages(iterable):
        return sum(iterable, start)
    return start + _core.execute("Sum", iterable, axis=[0])


def _sorted(iterable, *, key=None, reverse=False):
    iterable = tensor_of(iterable)
    if not stages(iterable):
        return sorted(iterable, key=key, reverse=reverse)
    if key is not None:
        raise NotImplementedError("sorted() of a tensor with a key is not available: sort by tf.argsort of the keys.")
    import tandem as tf

    return tf.sort(iterable, direction="DESCENDING" if reverse else "ASCENDING")


_OVERLOADS = {
    id(abs): _abs, id(float): _float, id(int): _int, id(len): _len, id(print): _print, id(range): _range,
    id(enumerate): _enumerate, id(zip): _zip, id(next): _next, id(sum): _sum, id(sorted): _sorted,
    id(max): _extreme(max, "Max", "Maximum"), id(min): _extreme(min, "Min", "Minimum"),
    id(any): _quantifier(any, "Any"), id(all): _quantifier(all, "All"),
}  # fmt: skip


def overload_of(f):
    """What stands for a builtin in converted code, or None."""
    return _OVERLOADS.get(id(f))
