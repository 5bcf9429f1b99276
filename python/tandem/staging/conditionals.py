"""`if` statements and expressions, `and`, `or`, `not`, comparisons and assertions on tensors."""

from tandem import _core
from tandem.framework import composites
from tandem.ops import control_flow
from tandem.staging.values import (
    can_be_tensor, flat_tensors, in_loop, is_return_value, is_tensor, is_undefined, note_filled, numbers_of, shown,
    stages, tensor_of, zeros_for,
)  # fmt: skip


def if_stmt(cond, body, orelse, get_state, set_state, symbol_names, nouts):
    cond = tensor_of(cond)
    if not stages(cond):
        if cond:
            body()
        else:
            orelse()
        return
    _check_condition(cond, "if statement")
    staged = _StagedIf(get_state, set_state, symbol_names, nouts)
    results = _core.trace_cond(cond, staged.branch(body, "main"), staged.branch(orelse, "else"))
    staged.finish(results)


def _check_condition(cond, what):
    hint = "to check for None, use `is not None`"
    if cond.dtype.name != "bool":
        raise ValueError(
            f"condition of {what} expected to be `tf.bool` scalar, got {cond}; to use as boolean Tensor, use "
            f"`tf.cast`; {hint}"
        )
    if cond.shape.rank and any(d is not None and d > 1 for d in cond.shape.as_list()):
        raise ValueError(f"condition of {what} expected to be `tf.bool` scalar, got {cond}; {hint}")


class _StagedIf:
    """Runs both branches on the variables as they were before, and takes over what the graph chose."""

    def __init__(self, get_state, set_state, names, nouts):
        self._get_state = get_state
        self._set_state = set_state
        self._names = names
        self._nouts = nouts
        self._start = get_state()
        self._first = None
        self._kept = {}  # number of a variable → what both branches leave in it
        self._form = None
        self._flat = None

    def branch(self, run, which):
        def traced():
            self._set_state(self._start)
            run()
            values = list(self._get_state()[: self._nouts])
            if self._first is None:
                self._first = values
                self._set_aside(values)
            else:
                self._compare(values)
            self._fill_returns(values)
            staged = [v for i, v in enumerate(values) if i not in self._kept]
            names = [n for i, n in enumerate(self._names[: self._nouts]) if i not in self._kept]
            flat, form = flat_tensors(staged, names, f"at the end of the {which} branch")
            if self._form is None:
                self._form = form
                self._flat = flat
            elif composites.shape_of_form(form) != composites.shape_of_form(self._form):
                self._structures_differ(names, values)
            else:
                self._compare_dtypes(names, form, flat)
            return flat

        return traced

    def _set_aside(self, values):
        """What is no tensor goes round the graph. Whether the other branch agrees is seen later."""
        for i, value in enumerate(values):
            if is_undefined(value) or value is None or not _has_tensors(value):
                self._kept[i] = value

    def _fill_returns(self, values):
        """In a loop, zeros stand for what a branch does not return: nobody reads them before something is returned."""
        if not in_loop():
            return
        for i, value in enumerate(values):
            if is_undefined(value) and is_return_value(self._names[i]) and i not in self._kept:
                values[i] = composites.rebuild(self._first[i], zeros_for)
                note_filled()

    def _compare_dtypes(self, names, form, flat):
        owner = [name for k, name in enumerate(names) for _ in numbers_of(form[k])]
        for name, first, second in zip(owner, self._flat, flat):
            if first.dtype != second.dtype:
                raise TypeError(
                    f"{shown(name)} has dtype {first.dtype.name} in the main branch, but dtype {second.dtype.name} in "
                    "the else branch"
                )

    def _compare(self, values):
        for i, (first, second) in enumerate(zip(self._first, values)):
            name = self._names[i]
            for value, other, which in ((first, second, "main"), (second, first, "else")):
                if is_undefined(value) and not is_undefined(other):
                    if is_return_value(name):
                        if in_loop() and which == "else":
                            continue
                        raise ValueError(f"the {which} branch must also have a return statement.")
                    raise ValueError(f"'{name}' must also be initialized in the {which} branch")
                if value is None and other is not None and not is_undefined(other):
                    raise TypeError(f"{shown(name)} is None at the end of the {which} branch, but not of the other.")
            if i in self._kept and not (is_undefined(first) or first is None) and first is not second:
                raise TypeError(
                    f"{shown(name)} must be a Tensor, or the same object in both branches; the main branch leaves "
                    f"{first!r} and the else branch {second!r}."
                )

    def _structures_differ(self, names, values):
        first = [v for i, v in enumerate(self._first) if i not in self._kept]
        second = [v for i, v in enumerate(values) if i not in self._kept]
        for name, a, b in zip(names, first, second):
            one, two = composites.number(_leafless(a), []), composites.number(_leafless(b), [])
            if composites.shape_of_form(one) != composites.shape_of_form(two):
                raise TypeError(
                    f"{shown(name)} must have the same nested structure in the main and else branches:\n\n"
                    f"main: {a}\nelse: {b}"
                )

    def finish(self, results):
        made = iter(composites.unpack(self._form, results))
        outputs = [self._kept[i] if i in self._kept else next(made) for i in range(self._nouts)]
        self._set_state((*outputs, *self._start[self._nouts :]))


def _leafless(value):
    return composites.rebuild(value, lambda leaf, path: None if leaf is None else 0)


def _has_tensors(value):
    leaves = composites.leaves(value)
    return all(leaf is None or can_be_tensor(leaf) for leaf in leaves) and any(leaf is not None for leaf in leaves)


def if_exp(cond, if_true, if_false, expr_repr):
    cond = tensor_of(cond)
    if not stages(cond):
        return if_true() if cond else if_false()
    _check_condition(cond, "conditional expression")
    try:
        return control_flow.cond(cond, if_true, if_false)
    except TypeError as error:
        raise TypeError(f"conditional expression {expr_repr}: {error}") from None


def and_(a, b):
    value = tensor_of(a())
    if stages(value):
        return control_flow.cond(value, b, lambda: value)
    return value and b()


def or_(a, b):
    value = tensor_of(a())
    if stages(value):
        return control_flow.cond(value, lambda: value, b)
    return value or b()


def not_(a):
    a = tensor_of(a)
    return _core.execute("LogicalNot", a) if stages(a) else not a


def eq(a, b):
    return a == b


def not_eq(a, b):
    return a != b


def assert_stmt(expression1, expression2):
    value = tensor_of(expression1)
    if is_tensor(value) and stages(value):
        from tandem.ops.check import Assert

        message = expression2()
        Assert(value, ["" if message is None else message])
        return
    assert value, expression2()
