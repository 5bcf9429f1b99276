"""`while` and `for` loops: over Python values they run while tracing, over tensors they become loops of the graph."""

from tandem import _core
from tandem.framework import composites
from tandem.framework.ragged import RaggedTensor
from tandem.framework.shape import as_shape
from tandem.ops import control_flow
from tandem.ops.ragged_map import row_of
from tandem.ops.tensor_array import TensorArray
from tandem.staging.conditionals import if_stmt
from tandem.staging.lists import array_of
from tandem.staging.values import (
    can_be_tensor, flat_tensors, is_return_value, is_tensor, is_undefined, note_filled, numbers_of, scratch_graph,
    shown, staged_loop, stages, tensor_of, zeros_for,
)  # fmt: skip


def while_stmt(test, body, get_state, set_state, symbol_names, opts):
    if _core.executing_eagerly():
        while test():
            body()
        return
    while True:
        # Looked at apart: what a test traces belongs into the loop's own graph.
        before = get_state()
        with scratch_graph():
            holds = tensor_of(test())
        if is_tensor(holds):
            set_state(before)
            _StagedLoop(get_state, set_state, symbol_names, opts).run(lambda extra: test(), lambda extra: body())
            return
        if not holds:
            return
        body()


def for_stmt(iter_, extra_test, body, get_state, set_state, symbol_names, opts):
    iterated = tensor_of(iter_)
    if hasattr(type(iterated), "_autograph_for"):
        return iterated._autograph_for(extra_test, body, get_state, set_state, symbol_names, opts)
    if isinstance(iterated, RaggedTensor) and not _core.executing_eagerly():
        count = iterated.nrows()
        return counted_for(count, lambda i: row_of(iterated, i), extra_test, body, get_state, set_state, symbol_names,
                           opts)  # fmt: skip
    if is_tensor(iterated) and not _core.executing_eagerly():
        bounds = getattr(iterated, "_bounds", None)
        if bounds is not None:
            from tandem.staging.ranges import TensorRange

            counted = TensorRange(bounds, iterated.shape[0])
            return counted._autograph_for(extra_test, body, get_state, set_state, symbol_names, opts)
        return _over_rows(iterated, extra_test, body, get_state, set_state, symbol_names, opts)
    return _over_python(iterated, extra_test, body, get_state, set_state, symbol_names)


def _over_python(iterated, extra_test, body, get_state, set_state, symbol_names):
    if extra_test is None:
        for item in iterated:
            body(item)
        return
    for item in iterated:
        goes_on = tensor_of(extra_test())
        if stages(goes_on):
            # The loop was left depending on a tensor: what is left of it runs under that condition.
            if_stmt(goes_on, lambda item=item: body(item), lambda: None, get_state, set_state, symbol_names,
                    len(symbol_names))  # fmt: skip
        elif goes_on:
            body(item)
        else:
            break


def _over_rows(tensor, extra_test, body, get_state, set_state, symbol_names, opts):
    if tensor.shape.rank == 0:
        raise TypeError(f"iteration over a 0-d tensor is not possible: {tensor!r}.")
    known = tensor.shape[0] if tensor.shape.rank else None
    count = _core.convert_to_tensor(known) if known is not None else _core.execute("Shape", tensor)[0]

    if (tensor.dtype.is_floating or tensor.dtype.is_complex) and not _is_small(tensor.shape):
        # Gradients of rows come together as a list, not as a tensor of the whole shape in every turn. For small
        # tensors the list would cost more than that.
        row = TensorArray(tensor.dtype, 0, clear_after_read=False).unstack(tensor).read
    else:

        def row(i):
            return _core.execute("GatherV2", tensor, i, axis=0)

    counted_for(count, row, extra_test, body, get_state, set_state, symbol_names, opts)


def _is_small(shape):
    return shape.is_fully_defined() and shape.num_elements() <= 1 << 16


def counted_for(count, item, extra_test, body, get_state, set_state, symbol_names, opts, first=None):
    """A loop of the graph over item(0) … item(count - 1). `first`: what its variable is after no turn at all."""

    def test(extra):
        more = extra[0] < count
        if extra_test is None:
            return more
        return control_flow.cond(more, extra_test, lambda: _core.convert_to_tensor(False))

    def turn(extra):
        body(item(extra[0]))
        return [extra[0] + 1]

    loop = _StagedLoop(get_state, set_state, symbol_names, opts, first)
    loop.run(test, turn, [_core.convert_to_tensor(0, count.dtype)])


class _StagedLoop:
    """A loop of the graph on the Python variables that its body changes, and on values of its own (`extra`)."""

    def __init__(self, get_state, set_state, names, opts, first=None):
        self._get_state = get_state
        self._set_state = set_state
        self._names = names
        self._opts = opts or {}
        self._first = first

    def run(self, test, body, extra=()):
        start = list(self._get_state())
        values, staged = self._prepare(start, body, list(extra))
        names = [self._names[i] for i in staged]
        flat, form = flat_tensors([values[i] for i in staged], names, "before the loop")
        count = len(extra)
        shapes = self._shapes([values[i] for i in staged], flat, extra)

        def enter(tensors):
            now = list(values)
            for i, value in zip(staged, composites.unpack(form, tensors[count:])):
                now[i] = value
            self._set_state(tuple(now))
            return tensors[:count]

        def run_test(tensors):
            return tensor_of(test(enter(tensors)))

        def run_body(tensors):
            with staged_loop():
                more = body(enter(tensors)) or []
            after = self._get_state()
            leaving, left = flat_tensors([after[i] for i in staged], names, "after one iteration")
            self._check(names, form, tensors[count:], left, leaving, after, staged, shapes)
            return [*more, *leaving]

        limit = self._opts.get("maximum_iterations")
        results = self._trace(run_test, run_body, [*extra, *flat], shapes, limit)
        enter(results)

    def _trace(self, test, body, flat, shapes, limit):
        if limit is None:
            return _core.trace_while(test, body, flat, shapes, -1)
        limit = _core.convert_to_tensor(limit)
        known = _core.static_value(limit)
        if known is not None:
            return _core.trace_while(test, body, flat, shapes, max(int(known), 0))
        return control_flow._counted_while(test, body, flat, shapes, limit)

    # ---- What goes round the loop

    def _prepare(self, start, body, extra):
        """Values to begin with, and the numbers of those that the graph's loop carries."""
        doubtful = [i for i, value in enumerate(start) if not _is_plain_state(value) or type(value) is list]
        if not doubtful:
            return start, list(range(len(start)))
        # One turn that is thrown away shows what the body makes of them.
        with scratch_graph():
            self._set_state(tuple(start))
            with staged_loop():
                body([_placeholder_like(e) for e in extra])
            after = list(self._get_state())
        self._set_state(tuple(start))
        values, staged = list(start), []
        for i, value in enumerate(start):
            if i not in doubtful:
                staged.append(i)
            elif after[i] is value or is_undefined(after[i]):
                if _is_plain_state(value):
                    staged.append(i)
            elif type(value) is list and type(after[i]) is list and len(after[i]) > len(value):
                values[i] = array_of(value, after[i])
                staged.append(i)
            elif is_undefined(value) or value is None:
                values[i] = self._stand_in(self._names[i], after[i])
                staged.append(i)
            elif _is_plain_state(after[i]):
                staged.append(i)
            else:
                raise TypeError(
                    f"'{self._names[i]}' is {value!r} before the loop and {after[i]!r} after one iteration. A loop "
                    "over tensors can only change tensors: use a tf.TensorArray instead of a list."
                )
        return values, staged

    def _stand_in(self, name, after):
        """Zeros for a variable that the body sets before anybody reads it; for that of the loop its first value."""
        if self._first is not None and name == self._opts.get("iterate_names") and is_tensor(after):
            if after.dtype == self._first.dtype and after.shape == self._first.shape:
                return self._first

        def zeros(leaf, path):
            shape = None if leaf is None else _core.convert_to_tensor(leaf).shape
            if shape is not None and not shape.is_fully_defined():
                raise ValueError(
                    f"{shown(name)} must be defined before the loop: its shape {shape} after one iteration is not "
                    "known."
                )
            return zeros_for(leaf)

        if is_return_value(name):
            note_filled()
        if not _is_plain_state(after):
            raise ValueError(f"{shown(name)} must be defined before the loop.")
        return composites.rebuild(after, zeros)

    def _shapes(self, values, flat, extra):
        given = self._opts.get("shape_invariants")
        if not given:
            return None
        wanted = {}
        for entry in given:
            value, shape = entry
            for leaf in composites.leaves(value):
                wanted[getattr(leaf, "_id", id(leaf))] = as_shape(getattr(shape, "shape", shape))
        shapes = [t.shape for t in extra]
        for leaf, tensor in zip((leaf for v in values for leaf in composites.leaves(v) if leaf is not None), flat):
            shapes.append(wanted.get(getattr(leaf, "_id", id(leaf)), tensor.shape))
        return shapes

    def _check(self, names, form, entering, left, leaving, after, staged, shapes):
        """TensorFlow's words, with the names of the user's variables."""
        if control_flow.plain_form(left) != control_flow.plain_form(form):
            for k, name in enumerate(names):
                if control_flow.plain_form(left[k]) != control_flow.plain_form(form[k]):
                    raise TypeError(
                        f"'{name}' does not have the same nested structure after one iteration: {after[staged[k]]!r}. "
                        "A loop over tensors can not append to a list: use a tf.TensorArray."
                    )
        owner = [name for k, name in enumerate(names) for _ in numbers_of(form[k])]
        for name, before, now in zip(owner, entering, leaving):
            if before.dtype != now.dtype:
                raise TypeError(
                    f"'{name}' has dtype {before.dtype.name} before the loop, but dtype {now.dtype.name} after one "
                    "iteration"
                )
            if before.dtype.name == "variant":
                continue
            if not _at_most(now.shape, before.shape):
                raise ValueError(
                    f"'{name}' has shape {before.shape} before the loop, but shape {now.shape} after one iteration. "
                    "Use tf.autograph.experimental.set_loop_options to set shape invariants."
                )


def _at_most(shape, allowed):
    if allowed.rank is None:
        return True
    if shape.rank != allowed.rank:
        return False
    return all(b is None or a == b for a, b in zip(shape.as_list(), allowed.as_list()))


def _is_plain_state(value):
    if is_undefined(value):
        return False
    leaves = composites.leaves(value)
    return bool(leaves) and all(can_be_tensor(leaf) for leaf in leaves)


def _placeholder_like(tensor):
    return _core.current_graph().placeholder(tensor.dtype, tensor.shape, "scratch")
