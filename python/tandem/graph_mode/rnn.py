"""Cells over sequences: tf.compat.v1.nn.dynamic_rnn and static_rnn."""

from tandem import _core
from tandem._namespaces import get
from tandem.framework import nest
from tandem.graph_mode.scopes import variable_scope


def _swapped(value):
    rank = value.shape.rank
    return get("transpose")(value, [1, 0, *range(2, rank)])


def _batch(value):
    static = value.shape.as_list()[1]
    return static if static is not None else get("shape")(value)[1]


def _chosen(live, new, old):
    """The new values of rows that go on, the old ones of others."""

    def choose(a, b):
        condition = get("reshape")(live, [-1] + [1] * (a.shape.rank - 1)) if a.shape.rank > 1 else live
        made = get("where")(condition, a, b)
        made.set_shape(b.shape)
        return made

    return nest.map_structure(choose, new, old)


def dynamic_rnn(
    cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations=None, swap_memory=False,
    time_major=False, scope=None,
):  # fmt: skip
    """(outputs, last state) of a cell over the steps of `inputs`: one loop, however many steps there are."""
    with variable_scope(scope or "rnn"):
        flat = [_core.convert_to_tensor(t) for t in nest.flatten(inputs)]
        steps_first = flat if time_major else [_swapped(t) for t in flat]
        batch = _batch(steps_first[0])
        if initial_state is None:
            if dtype is None:
                raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
            initial_state = cell.zero_state(batch, dtype)
        count = get("shape")(steps_first[0])[0]
        length = None if sequence_length is None else get("cast")(sequence_length, "int32")
        outputs, state = _looped(cell, inputs, steps_first, count, length, initial_state, batch)
    return outputs if time_major else nest.map_structure(_swapped, outputs), state


def _looped(cell, inputs, steps_first, count, length, state, batch):
    array, first = get("TensorArray"), steps_first[0]
    dtype = first.dtype
    sizes = nest.flatten(cell.output_size)
    known = first.shape.as_list()[0]
    arrays = [array(dtype, count, element_shape=[first.shape.as_list()[1], size]) for size in sizes]
    zeros = [get("zeros")(get("stack")([batch, size]), dtype) for size in sizes]

    def body(time, arrays, state):
        now = nest.pack_sequence_as(inputs, [get("gather")(t, time) for t in steps_first])
        output, new = cell(now, state)
        flat = nest.flatten(output)
        if length is not None:
            live = time < length
            new = _chosen(live, new, state)
            flat = _chosen(live, flat, zeros)
        arrays = [a.write(time, value) for a, value in zip(arrays, flat)]
        return time + 1, arrays, new

    _, arrays, state = get("while_loop")(
        lambda time, *rest: time < count, body, (_core.convert_to_tensor(0), arrays, state)
    )
    outputs = [a.stack() for a in arrays]
    for output, size in zip(outputs, sizes):
        output.set_shape([known, first.shape.as_list()[1], size])
    return nest.pack_sequence_as(cell.output_size, outputs), state


def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """(outputs, last state) of a cell over a list of inputs."""
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise TypeError("inputs must be a sequence of at least one tensor.")
    with variable_scope(scope or "rnn"):
        first = nest.flatten(inputs[0])[0]
        static = first.shape.as_list()[0]
        batch = static if static is not None else get("shape")(first)[0]
        if initial_state is None and dtype is None:
            raise ValueError("If no initial_state is provided, dtype must be specified")
        state = cell.zero_state(batch, dtype) if initial_state is None else initial_state
        outputs = []
        for time, now in enumerate(inputs):
            output, new = cell(now, state)
            if sequence_length is not None:
                live = time < get("cast")(sequence_length, "int32")
                new = _chosen(live, new, state)
                output = _chosen(live, output, nest.map_structure(get("zeros_like"), output))
            outputs.append(output)
            state = new
        return outputs, state


def _reversed(value, length, seq_axis, batch_axis):
    if length is None:
        return get("reverse")(value, [seq_axis])
    return get("reverse_sequence")(value, length, seq_axis=seq_axis, batch_axis=batch_axis)


def bidirectional_dynamic_rnn(
    cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None, dtype=None,
    parallel_iterations=None, swap_memory=False, time_major=False, scope=None,
):  # fmt: skip
    """((outputs forwards, outputs backwards), (state forwards, state backwards))."""
    axes = (0, 1) if time_major else (1, 0)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forwards, state_fw = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major=time_major,
                                             scope=fw)  # fmt: skip
        with variable_scope("bw") as bw:
            turned = nest.map_structure(lambda t: _reversed(_core.convert_to_tensor(t), sequence_length, *axes), inputs)
            backwards, state_bw = dynamic_rnn(cell_bw, turned, sequence_length, initial_state_bw, dtype,
                                              time_major=time_major, scope=bw)  # fmt: skip
    backwards = nest.map_structure(lambda t: _reversed(t, sequence_length, *axes), backwards)
    return (forwards, backwards), (state_fw, state_bw)


def static_bidirectional_rnn(
    cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None, sequence_length=None, scope=None
):
    """(outputs of both joined, last state forwards, last state backwards)."""
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forwards, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw)
        with variable_scope("bw") as bw:
            if sequence_length is not None:
                raise NotImplementedError("static_bidirectional_rnn is there without sequence_length: use "
                                          "bidirectional_dynamic_rnn.")
            backwards, state_bw = static_rnn(cell_bw, list(reversed(inputs)), initial_state_bw, dtype, scope=bw)
    join = get("concat")
    return [join([a, b], 1) for a, b in zip(forwards, reversed(backwards))], state_fw, state_bw
