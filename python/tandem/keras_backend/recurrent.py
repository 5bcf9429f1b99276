"""LSTM and GRU layers as one op each, on every device.

Keras runs a loop of small ops unless a backend offers the whole layer. Tandem's ops take what cuDNN's would take:
tanh and sigmoid, not unrolled, without a mask; anything else raises NotImplementedError, and Keras takes its loop.
"""

from tandem import _core


def _as(value, dtype):
    value = getattr(value, "value", value) if value is not None else None
    return None if value is None else _core.execute("Cast", _core.convert_to_tensor(value), dtype=dtype)


def _floating(inputs, kernel):
    inputs = _core.convert_to_tensor(inputs)
    return inputs if inputs.dtype.is_floating else _as(inputs, getattr(kernel, "value", kernel).dtype)


def _results(sequence, states, return_sequences, time_major):
    """What Keras expects: the last output, all of them (or the last as a sequence), the states."""
    last = states[0]
    if not return_sequences:
        sequence = _core.execute("ExpandDims", last, axis=0 if time_major else 1)
    return last, sequence, states


def install(module):
    """Puts the layers where Keras looks for a backend's own."""

    def lstm(inputs, initial_state_h, initial_state_c, mask, kernel, recurrent_kernel, bias, activation,
             recurrent_activation, return_sequences=False, go_backwards=False, unroll=False, time_major=False):  # fmt: skip
        if mask is not None or not module._do_lstm_arguments_support_cudnn(
            activation, recurrent_activation, unroll, use_bias=True
        ):
            raise NotImplementedError
        x = _floating(inputs, kernel)
        weights = [_as(v, x.dtype) for v in (kernel, recurrent_kernel, bias, initial_state_h, initial_state_c)]
        sequence, h, c, _, _ = _core.execute("Lstm", x, *weights, time_major=time_major, go_backwards=go_backwards)
        return _results(sequence, [h, c], return_sequences, time_major)

    def gru(inputs, initial_state, mask, kernel, recurrent_kernel, bias, activation, recurrent_activation,
            return_sequences=False, go_backwards=False, unroll=False, time_major=False, reset_after=True):  # fmt: skip
        if mask is not None or not module._do_gru_arguments_support_cudnn(
            activation, recurrent_activation, unroll, use_bias=True, reset_after=reset_after
        ):
            raise NotImplementedError
        x = _floating(inputs, kernel)
        weights = [_as(v, x.dtype) for v in (kernel, recurrent_kernel, bias, initial_state)]
        sequence, h, _ = _core.execute("Gru", x, *weights, time_major=time_major, go_backwards=go_backwards)
        return _results(sequence, [h], return_sequences, time_major)

    module.lstm = lstm
    module.gru = gru
