"""Control flow, run by Python: eager values decide at once. Predicates that are symbolic need compiled functions."""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework import nest


def _decided(value, name):
    """The Python value of a predicate or index, which must be known now."""
    if not isinstance(value, (_core.Tensor, _core.VariableBase)) and not _core.is_tensor_like(value):
        return value
    known = _core.static_value(convert_to_tensor(value))
    if known is None:
        raise NotImplementedError(f"tf.{name} on a symbolic tensor is not available in Tandem.")
    return known.item()


def cond(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() if the predicate holds, else false_fn()."""
    if not callable(true_fn):
        raise TypeError("Argument `true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("Argument `false_fn` must be callable.")
    return true_fn() if _decided(pred, "cond") else false_fn()


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """cond that takes a Python bool too."""
    return cond(pred, true_fn, false_fn)


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """Calls the function of the first predicate that holds."""
    holding = [function for predicate, function in pred_fn_pairs if _decided(predicate, "case")]
    if exclusive and len(holding) > 1:
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "Input error: exclusive=True: more than 1 conditions evaluated as True.")
    if holding:
        return holding[0]()
    if default is None:
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "None of the conditions evaluated as True.")
    return default()


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """Calls the function with this index; the default, or the last one, for any other."""
    pairs = branch_fns.items() if isinstance(branch_fns, dict) else enumerate(branch_fns)
    table = {}
    for i, entry in pairs:
        key, function = entry if isinstance(entry, tuple) else (i, entry)
        table[int(key)] = function
    index = int(_decided(branch_index, "switch_case"))
    if index in table:
        return table[index]()
    return table[max(table)]() if default is None else default()


def while_loop(
    cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
    maximum_iterations=None, name=None,
):  # fmt: skip
    """Calls body while cond holds."""
    if not callable(cond):
        raise TypeError("'cond' must be a callable.")
    if not callable(body):
        raise TypeError("'body' must be a callable.")
    is_list = isinstance(loop_vars, (list, tuple))
    values = loop_vars if is_list else [loop_vars]
    if is_list and not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    limit = None if maximum_iterations is None else int(_decided(maximum_iterations, "while_loop"))
    turns = 0
    while (limit is None or turns < limit) and _decided(cond(*values), "while_loop"):
        result = body(*values)
        result = result if isinstance(result, (list, tuple)) else [result]
        nest.assert_same_structure(list(values), list(result), check_types=False)
        values = type(values)(result) if type(values) in (list, tuple) else result
        turns += 1
    values = nest.map_structure(_loop_value, values)
    return values if is_list else values[0]


def _loop_value(value):
    return value if hasattr(value, "_loop_state") else convert_to_tensor(value)


def map_fn(
    fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None,
    fn_output_signature=None,
):  # fmt: skip
    """fn of each row, the results stacked."""
    if not callable(fn):
        raise TypeError(f"The provided function {fn} is not callable. fn_output_signature must be callable.")
    flat = [convert_to_tensor(e) for e in nest.flatten(elems)]
    if not flat:
        raise ValueError("elems must contain at least one Tensor.")
    count = flat[0].shape[0]
    if count is None:
        raise NotImplementedError("tf.map_fn over an unknown number of rows is not available in Tandem.")
    rows = [execute("Unpack", t, num=count, axis=0) if count else [] for t in flat]
    results = [fn(nest.pack_sequence_as(elems, [r[i] for r in rows])) for i in range(count)]
    if not results:
        return _empty_rows(fn_output_signature if fn_output_signature is not None else dtype, flat)
    stacked = [execute("Pack", list(parts), axis=0) for parts in zip(*map(nest.flatten, results))]
    return nest.pack_sequence_as(results[0], stacked)


def _empty_rows(signature, flat):
    if signature is None:
        return flat[0]
    return nest.map_structure(
        lambda s: convert_to_tensor([], getattr(s, "dtype", s)) if getattr(s, "shape", None) is None
        else execute("Fill", [0, *s.shape.as_list()], convert_to_tensor(0, s.dtype)),
        signature,
    )  # fmt: skip


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """fn of each row, the results stacked."""
    return map_fn(fn, elems)


def scan(
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
    reverse=False, name=None,
):  # fmt: skip
    """fn of what came before and of each row, all results stacked."""
    results = list(_fold(fn, elems, initializer, reverse))
    if reverse:
        results.reverse()
    stacked = [execute("Pack", list(parts), axis=0) for parts in zip(*map(nest.flatten, results))]
    return nest.pack_sequence_as(results[0], stacked)


def foldl(
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None
):
    """fn of what came before and of each row, the last result."""
    return list(_fold(fn, elems, initializer, False))[-1]


def foldr(
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None
):
    """foldl from the last row to the first."""
    return list(_fold(fn, elems, initializer, True))[-1]


def _fold(fn, elems, initializer, reverse):
    flat = [convert_to_tensor(e) for e in nest.flatten(elems)]
    count = flat[0].shape[0]
    if count is None:
        raise NotImplementedError("tf.scan over an unknown number of rows is not available in Tandem.")
    rows = [execute("Unpack", t, num=count, axis=0) if count else [] for t in flat]
    order = range(count - 1, -1, -1) if reverse else range(count)
    state = initializer if initializer is None else nest.map_structure(convert_to_tensor, initializer)
    for i in order:
        element = nest.pack_sequence_as(elems, [r[i] for r in rows])
        state = element if state is None else fn(state, element)
        yield state
