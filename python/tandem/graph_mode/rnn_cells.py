"""tf.compat.v1.nn.rnn_cell: one step of a recurrent network."""

import collections

from tandem import _core
from tandem._namespaces import get
from tandem.framework import nest
from tandem.graph_mode.scopes import get_variable, variable_scope

LSTMStateTuple = collections.namedtuple("LSTMStateTuple", ["c", "h"])


def _activation(given, default="tanh"):
    if given is None:
        return get(default)
    return get("nn." + given) if isinstance(given, str) else given


class RNNCell:
    """(output, new state) for inputs and a state. Subclasses say it in call(), with variables from get_variable()."""

    _kind = "rnn_cell"

    def __init__(self, trainable=True, name=None, dtype=None, _reuse=None, **kwargs):
        self._name, self._reuse, self.trainable, self._dtype = name, _reuse, trainable, dtype
        self._scope, self.built = None, False

    @property
    def name(self):
        return self._name or self._kind

    @property
    def state_size(self):
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self):
        raise NotImplementedError("Abstract method")

    def __call__(self, inputs, state, scope=None):
        given = scope if scope is not None else self._scope
        opened = variable_scope(given if given is not None else self._name, self._kind, reuse=self._reuse)
        with opened as entered:
            again = variable_scope(entered, reuse=True) if self.built else None
            if again is not None:
                again.__enter__()
            try:
                result = self.call(inputs, state)
            finally:
                if again is not None:
                    again.__exit__(None, None, None)
            self._scope, self.built = entered, True
            return result

    def call(self, inputs, state):
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size, dtype):
        return nest.map_structure(lambda size: _zeros(batch_size, size, dtype), self.state_size)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            batch_size, dtype = get("shape")(inputs)[0], inputs.dtype
        return self.zero_state(batch_size, dtype)

    def _variables(self):
        return [] if self._scope is None else self._scope.global_variables()

    variables = weights = property(lambda self: self._variables())
    trainable_variables = trainable_weights = property(
        lambda self: [] if self._scope is None else self._scope.trainable_variables())  # fmt: skip


def _zeros(batch, size, dtype):
    sizes = list(size) if isinstance(size, (list, tuple)) or hasattr(size, "as_list") else [size]
    return get("zeros")(get("stack")([batch, *sizes]) if isinstance(batch, _core.Tensor) else [batch, *sizes], dtype)


def _affine(inputs, units, kernel="kernel", bias="bias", initializer=None, bias_initializer=None):
    width = inputs.shape.as_list()[-1]
    if width is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, received shape: {inputs.shape}")
    w = get_variable(kernel, [width, units], inputs.dtype, initializer)
    b = get_variable(bias, [units], inputs.dtype, bias_initializer or get("compat.v1.zeros_initializer")())
    return get("nn.bias_add")(get("matmul")(inputs, w), b)


class BasicRNNCell(RNNCell):
    _kind = "basic_rnn_cell"

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._units, self._activation = num_units, _activation(activation)

    state_size = output_size = property(lambda self: self._units)

    def call(self, inputs, state):
        output = self._activation(_affine(get("concat")([inputs, state], 1), self._units))
        return output, output


class GRUCell(BasicRNNCell):
    _kind = "gru_cell"

    def __init__(
        self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None, dtype=None,
        **kwargs,
    ):  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype)
        self._kernel, self._bias = kernel_initializer, bias_initializer

    def call(self, inputs, state):
        join, ones = get("concat"), get("compat.v1.ones_initializer")()
        gates = _affine(join([inputs, state], 1), 2 * self._units, "gates/kernel", "gates/bias", self._kernel,
                        self._bias or ones)  # fmt: skip
        r, u = get("split")(get("sigmoid")(gates), 2, axis=1)
        candidate = self._activation(_affine(join([inputs, r * state], 1), self._units, "candidate/kernel",
                                             "candidate/bias", self._kernel, self._bias))  # fmt: skip
        new = u * state + (1 - u) * candidate
        return new, new


class BasicLSTMCell(RNNCell):
    _kind = "basic_lstm_cell"

    def __init__(
        self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None, **kwargs
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._units, self._forget, self._tuple = num_units, forget_bias, state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self):
        return LSTMStateTuple(self._units, self._units) if self._tuple else 2 * self._units

    output_size = property(lambda self: self._units)

    def call(self, inputs, state):
        c, h = state if self._tuple else get("split")(state, 2, axis=1)
        i, j, f, o = get("split")(_affine(get("concat")([inputs, h], 1), 4 * self._units), 4, axis=1)
        sigmoid = get("sigmoid")
        c = c * sigmoid(f + self._forget) + sigmoid(i) * self._activation(j)
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h) if self._tuple else get("concat")([c, h], 1)


class LSTMCell(RNNCell):
    _kind = "lstm_cell"

    def __init__(
        self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
        num_unit_shards=None, num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None,
        name=None, dtype=None, **kwargs,
    ):  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._units, self._peepholes, self._clip, self._initializer = num_units, use_peepholes, cell_clip, initializer
        self._proj, self._proj_clip, self._forget, self._tuple = num_proj, proj_clip, forget_bias, state_is_tuple
        self._activation = _activation(activation)

    output_size = property(lambda self: self._proj or self._units)

    @property
    def state_size(self):
        sizes = self._units, self.output_size
        return LSTMStateTuple(*sizes) if self._tuple else sum(sizes)

    def call(self, inputs, state):
        c, h = state if self._tuple else get("split")(state, [self._units, self.output_size], axis=1)
        gates = _affine(get("concat")([inputs, h], 1), 4 * self._units, initializer=self._initializer)
        i, j, f, o = get("split")(gates, 4, axis=1)
        sigmoid, dtype = get("sigmoid"), inputs.dtype
        clip = get("clip_by_value")

        def peep(name):
            return get_variable(name, [self._units], dtype, self._initializer) if self._peepholes else None

        wf, wi, wo = peep("w_f_diag"), peep("w_i_diag"), peep("w_o_diag")
        if self._peepholes:
            i, f = i + wi * c, f + wf * c
        c = sigmoid(f + self._forget) * c + sigmoid(i) * self._activation(j)
        if self._clip is not None:
            c = clip(c, -self._clip, self._clip)
        h = sigmoid(o + wo * c if self._peepholes else o) * self._activation(c)
        if self._proj is not None:
            h = get("matmul")(h, get_variable("projection/kernel", [self._units, self._proj], dtype, self._initializer))
            if self._proj_clip is not None:
                h = clip(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._tuple else get("concat")([c, h], 1)


class MultiRNNCell(RNNCell):
    _kind = "multi_rnn_cell"

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not state_is_tuple:
            raise NotImplementedError("MultiRNNCell is there with state_is_tuple=True.")
        self._cells = list(cells)

    state_size = property(lambda self: tuple(cell.state_size for cell in self._cells))
    output_size = property(lambda self: self._cells[-1].output_size)

    def call(self, inputs, state):
        states = []
        for number, (cell, own) in enumerate(zip(self._cells, state)):
            with variable_scope(f"cell_{number}"):
                inputs, new = cell(inputs, own)
            states.append(new)
        return inputs, tuple(states)


class _Wrapper(RNNCell):
    def __init__(self, cell, **kwargs):
        super().__init__()
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)

    def __call__(self, inputs, state, scope=None):
        return self.wrapped(inputs, state, scope)

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def _variables(self):
        return self._cell._variables()


class DropoutWrapper(_Wrapper):
    def __init__(
        self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False,
        input_size=None, dtype=None, seed=None, dropout_state_filter_visitor=None, **kwargs,
    ):  # fmt: skip
        super().__init__(cell)
        if variational_recurrent:
            raise NotImplementedError("DropoutWrapper is there with variational_recurrent=False.")
        self._keep, self._seed = (input_keep_prob, output_keep_prob, state_keep_prob), seed

    def _dropped(self, value, keep):
        if isinstance(keep, (int, float)) and keep == 1.0:
            return value
        return get("compat.v1.nn.dropout")(value, keep_prob=keep, seed=self._seed)

    def wrapped(self, inputs, state, scope):
        output, new = self._cell(self._dropped(inputs, self._keep[0]), state, scope)
        if not isinstance(self._keep[2], (int, float)) or self._keep[2] != 1.0:
            if isinstance(new, LSTMStateTuple):  # the memory stays
                new = LSTMStateTuple(new.c, self._dropped(new.h, self._keep[2]))
            else:
                new = nest.map_structure(lambda s: self._dropped(s, self._keep[2]), new)
        return self._dropped(output, self._keep[1]), new


class ResidualWrapper(_Wrapper):
    def __init__(self, cell, residual_fn=None, **kwargs):
        super().__init__(cell)
        self._join = residual_fn or (lambda inputs, outputs: nest.map_structure(lambda a, b: a + b, inputs, outputs))

    def wrapped(self, inputs, state, scope):
        outputs, new = self._cell(inputs, state, scope)
        return self._join(inputs, outputs), new


class DeviceWrapper(_Wrapper):
    def __init__(self, cell, device, **kwargs):
        super().__init__(cell)
        self._device = device

    def wrapped(self, inputs, state, scope):
        with get("device")(self._device):
            return self._cell(inputs, state, scope)
