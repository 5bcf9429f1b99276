"""Keras 2's LSTM and GRU layers as one op each, on every device.

tf_keras has a loop of small ops and a call of cuDNN for them, and chooses when the device is known. Tandem's ops take what
cuDNN's would take, on every device; with masks or rows of several lengths the loop runs.
"""

import functools

from tandem import _core


def _weights(dtype, *values):
    return [_core.execute("Cast", _core.convert_to_tensor(value), dtype=dtype) for value in values]


def _results(sequence, last, return_sequences, time_major):
    if not return_sequences:
        sequence = _core.execute("ExpandDims", last, axis=0 if time_major else 1)
    return last, sequence


def install_choice(module):
    """tf_keras.src.layers.rnn.gru_lstm_utils"""
    # It puts cuDNN's form into the graph, for a pass of TensorFlow's that would choose it.
    module.function_register = lambda func, *args, **kwargs: None


def install_lstm(module):
    """tf_keras.src.layers.rnn.lstm"""
    loop = module.standard_lstm

    @functools.wraps(loop)
    def standard_lstm(
        inputs, init_h, init_c, kernel, recurrent_kernel, bias, mask, time_major, go_backwards, sequence_lengths,
        zero_output_for_mask, return_sequences,
    ):  # fmt: skip
        if mask is not None or sequence_lengths is not None:
            return loop(
                inputs, init_h, init_c, kernel, recurrent_kernel, bias, mask, time_major, go_backwards, sequence_lengths,
                zero_output_for_mask, return_sequences,
            )  # fmt: skip
        x = _core.convert_to_tensor(inputs)
        weights = _weights(x.dtype, kernel, recurrent_kernel, bias, init_h, init_c)
        outputs, h, c, _, _ = _core.execute("Lstm", x, *weights, time_major=time_major, go_backwards=go_backwards)
        last, outputs = _results(outputs, h, return_sequences, time_major)
        return last, outputs, h, c, module.gru_lstm_utils.runtime(module.gru_lstm_utils.RUNTIME_CPU)

    module.standard_lstm = standard_lstm
    module.gpu_lstm = functools.partial(standard_lstm, zero_output_for_mask=False)


def install_gru(module):
    """tf_keras.src.layers.rnn.gru"""
    loop = module.standard_gru

    @functools.wraps(loop)
    def standard_gru(
        inputs, init_h, kernel, recurrent_kernel, bias, mask, time_major, go_backwards, sequence_lengths,
        zero_output_for_mask, return_sequences,
    ):  # fmt: skip
        if mask is not None or sequence_lengths is not None:
            return loop(
                inputs, init_h, kernel, recurrent_kernel, bias, mask, time_major, go_backwards, sequence_lengths,
                zero_output_for_mask, return_sequences,
            )  # fmt: skip
        x = _core.convert_to_tensor(inputs)
        weights = _weights(x.dtype, kernel, recurrent_kernel, bias, init_h)
        outputs, h, _ = _core.execute("Gru", x, *weights, time_major=time_major, go_backwards=go_backwards)
        last, outputs = _results(outputs, h, return_sequences, time_major)
        return last, outputs, h, module.gru_lstm_utils.runtime(module.gru_lstm_utils.RUNTIME_CPU)

    module.standard_gru = standard_gru
    module.gpu_gru = functools.partial(standard_gru, zero_output_for_mask=False)
