"""tf.cond, tf.case, tf.switch_case and tf.while_loop.

Values that are there decide at once, in Python. In a traced function branches and bodies become sub-graphs.
"""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework import composites, nest
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.graph import gives_operation


def is_symbolic(value):
    return isinstance(value, _core.Tensor) and value._symbolic


def predicate_of(value):
    """A symbolic tensor, or the Python value of what is known."""
    if isinstance(value, _core.VariableBase) or (not isinstance(value, _core.Tensor) and _core.is_tensor_like(value)):
        value = convert_to_tensor(value)
    return value


def as_tensor(value):
    return None if value is None else convert_to_tensor(value)


class Branches:
    """Functions without arguments whose results have one structure; traced, they give flat lists."""

    def __init__(self, functions, op, names):
        self._functions = functions
        self._op = op
        self._names = names
        self._form = None
        self._first = None

    def flat(self, number):
        def run():
            results = composites.rebuild(self._functions[number](), lambda leaf, path: as_tensor(leaf))
            tensors = []
            form = composites.number(results, tensors)
            if self._form is None:
                self._form, self._first = form, results
            elif composites.shape_of_form(form) != composites.shape_of_form(self._form):
                self._mismatch(number, results)
            return tensors

        return run

    def _mismatch(self, number, results):
        first, other = self._names(0), self._names(number)
        raise TypeError(
            f"{first} and {other} arguments to {self._op} must have the same number, type, and overall structure of "
            f"return values.\n\n{first} output: {self._first}\n{other} output: {results}\n\nError details:\n"
            "The two structures don't have the same nested structure."
        )

    def pack(self, tensors):
        return composites.unpack(self._form, tensors)


@gives_operation
def cond(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() if the predicate holds, else false_fn()."""
    if not callable(true_fn):
        raise TypeError("'true_fn' must be callable.")
    if not callable(false_fn):
        raise TypeError("'false_fn' must be callable.")
    pred = predicate_of(pred)
    if not is_symbolic(pred):
        return true_fn() if pred else false_fn()
    branches = Branches([true_fn, false_fn], "tf.cond", lambda i: ("true_fn", "false_fn")[i])
    return branches.pack(_core.trace_cond(pred, branches.flat(0), branches.flat(1)))


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """cond that decides at once where tracing knows the predicate."""
    pred = predicate_of(pred)
    if is_symbolic(pred):
        known = _core.static_value(pred)
        pred = pred if known is None else bool(known)
    return cond(pred, true_fn, false_fn)


@gives_operation
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """Calls the function of the first predicate that holds."""
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError("Each entry in 'pred_fn_pairs' must be a 2-tuple.")
        if not callable(pair[1]):
            raise TypeError("Callable functions expected in 'pred_fn_pairs'.")
    if not pairs:
        if default is None:
            raise ValueError("tf.case: 'pred_fn_pairs' is empty and there is no default.")
        return default()
    pairs = [(predicate_of(pair[0]), pair[1]) for pair in pairs]
    if any(is_symbolic(predicate) for predicate, function in pairs):
        return _traced_case(pairs, default, exclusive)
    holding = [function for predicate, function in pairs if predicate]
    if exclusive and len(holding) > 1:
        raise InvalidArgumentError(None, None, "Input error: exclusive=True: more than 1 conditions evaluated as True.")
    if holding:
        return holding[0]()
    if default is None:
        raise InvalidArgumentError(None, None, "Input error: None of conditions evaluated as True.")
    return default()


def _traced_case(pairs, default, exclusive):
    predicates = execute("Pack", [convert_to_tensor(predicate) for predicate, function in pairs], axis=0)
    if exclusive:
        count = execute("Sum", execute("Cast", predicates, dtype="int32"))
        _assert(count <= 1, "Input error: More than one condition evaluated as True but exclusive=True. Conditions:",
                predicates)  # fmt: skip

    def last():
        if default is not None:
            return default()
        text = "Input error: None of conditions evaluated as True. Conditions:"
        _assert(execute("Any", predicates), text, predicates)
        return pairs[-1][1]()

    def otherwise(rest, function, predicate):
        return lambda: cond(predicate, function, rest)

    result = last
    for predicate, function in reversed(pairs):
        result = otherwise(result, function, predicate)
    return result()


def _assert(condition, text, data):
    execute("Assert", condition, [convert_to_tensor(text), data], summarize=-1)


@gives_operation
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """Calls the function with this index; the default, or the last one, for any other."""
    pairs = branch_fns.items() if isinstance(branch_fns, dict) else enumerate(branch_fns)
    table = {}
    for i, entry in pairs:
        key, function = entry if isinstance(entry, tuple) else (i, entry)
        if not callable(function):
            raise TypeError(f"branch_fns[{key}] must be callable.")
        if int(key) in table:
            raise ValueError(f"switch_case: duplicate branch index {int(key)}.")
        table[int(key)] = function
    if not table:
        raise ValueError("`branch_fns` must be a non-empty list or dict.")
    index = predicate_of(branch_index)
    fallback = table[max(table)] if default is None else default
    if not is_symbolic(index):
        return table.get(int(index), fallback)()
    if index.dtype.name != "int32":
        raise TypeError(f"branch_index must be a Tensor of dtype int32, got {index.dtype!r}.")
    keys = sorted(table)
    functions = [table[key] for key in keys] + [fallback]
    if keys != list(range(len(keys))):
        # Where each index leads; what is not named leads to the fallback.
        matches = execute("Cast", execute("Equal", index, convert_to_tensor(keys)), dtype="int32")
        number = execute("ArgMax", matches, axis=0, output_type="int32")
        index = execute("SelectV2", execute("Any", matches > 0), number, convert_to_tensor(len(keys)))
    branches = Branches(functions, "tf.switch_case", lambda i: f"branches[{i}]")
    runs = [branches.flat(i) for i in range(len(functions))]
    return branches.pack(_core.trace_switch(index, runs))


def while_loop(
    cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
    maximum_iterations=None, name=None,
):  # fmt: skip
    """Calls body while cond holds."""
    if not callable(cond):
        raise TypeError("'cond' must be a callable.")
    if not callable(body):
        raise TypeError("'body' must be a callable.")
    if isinstance(loop_vars, (list, tuple)) and not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    is_list = isinstance(loop_vars, (list, tuple))
    start = loop_vars if is_list else [loop_vars]
    if _core.executing_eagerly():
        values = _tensors(_run_while(cond, body, start, maximum_iterations))
    else:
        start = _tensors(start)
        values = _trace_while(cond, body, start, shape_invariants, maximum_iterations)
    return values if is_list else values[0]


def _listed(result):
    return result if isinstance(result, (list, tuple)) else [result]


def _tensors(values):
    return composites.rebuild(values, lambda leaf, path: convert_to_tensor(leaf))


def _run_while(cond, body, values, maximum_iterations):
    """As TensorFlow does, values stay what they are (Python numbers, arrays) until the loop ends."""
    limit = None if maximum_iterations is None else int(maximum_iterations)
    turns = 0
    while (limit is None or turns < limit) and cond(*values):
        result = _listed(body(*values))
        nest.assert_same_structure(list(values), list(result), check_types=False)
        values = _like(values, result)
        turns += 1
    return values


def _like(values, result):
    """The results as the kind of list that the loop variables came in."""
    if composites.is_namedtuple(values):
        return type(values)(*result)
    return type(values)(result)


def _trace_while(cond, body, start, shape_invariants, maximum_iterations):
    flat = []
    form = composites.number(start, flat)
    shapes = None
    if shape_invariants is not None:
        given = shape_invariants if isinstance(shape_invariants, (list, tuple)) else [shape_invariants]
        shapes = _invariants(given, start, flat)
    limit, counted = -1, None
    if maximum_iterations is not None:
        counted = convert_to_tensor(maximum_iterations)
        known = _core.static_value(counted)
        if known is not None:
            limit, counted = max(int(known), 0), None

    def run_cond(tensors):
        return cond(*composites.unpack(form, tensors))

    wanted = plain_form(form)

    def run_body(tensors):
        result = _listed(body(*composites.unpack(form, tensors)))
        result = composites.rebuild(result, lambda leaf, path: as_tensor(leaf))
        out = []
        require_form(composites.number(result, out), wanted, list(result), list(start), "The loop's body returned")
        return out

    if counted is not None:
        return composites.unpack(form, _counted_while(run_cond, run_body, flat, shapes, counted))
    return composites.unpack(form, _core.trace_while(run_cond, run_body, flat, shapes, limit))


def _counted_while(cond, body, flat, shapes, limit):
    """A loop whose number of turns is limited by a tensor."""
    zero = convert_to_tensor(0, limit.dtype)
    shapes = None if shapes is None else [*shapes, zero.shape]

    def test(tensors):
        holds = convert_to_tensor(cond(tensors[:-1]))
        return execute("LogicalAnd", tensors[-1] < limit, execute("Reshape", holds, []))

    results = _core.trace_while(test, lambda t: [*body(t[:-1]), t[-1] + 1], [*flat, zero], shapes, -1)
    return results[:-1]


def require_form(form, wanted, result, like, what):
    """Refuses what a turn of a loop gives unless it can be put together as `like`, the value of the turn before, whose
    plain_form() is `wanted`."""
    if plain_form(form) != wanted:
        nest.assert_same_structure(like, result, check_types=False)
        raise TypeError(
            f"{what} {result}, which does not have the same nested structure as {like}: keys, classes and what a class "
            "says of itself besides its tensors (the metadata of __tf_flatten__) must be the same in every turn."
        )


def plain_form(form):
    """Lists and tuples are one to a loop."""
    shape = composites.shape_of_form(form)

    def plain(part):
        if isinstance(part, tuple) and len(part) == 2 and part[0] in (list, tuple):
            return "sequence", tuple(map(plain, part[1]))
        return part

    return plain(shape)


def _invariants(given, start, flat):
    """One shape per tensor; a TensorArray's list has none."""
    shapes = []

    def walk(invariant, value):
        parts = composites.opened(value)
        if parts is None:
            if value is not None:
                spec = getattr(invariant, "shape", invariant)
                shapes.append(value.shape if spec is None else spec)
        elif hasattr(type(value), "_tf_components"):
            shapes.extend(leaf.shape for leaf in composites.leaves(value))
        else:
            inner = composites.opened(invariant)
            if inner is None or len(inner[0]) != len(parts[0]) or not composites.same_keys(invariant, value):
                raise ValueError("'shape_invariants' must have the same structure as 'loop_vars'.")
            for a, b in zip(inner[0], parts[0]):
                walk(a, b)

    walk(list(given), list(start))
    return shapes
