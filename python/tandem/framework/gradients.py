"""tf.GradientTape and tf.custom_gradient: structures around the native tape."""

import enum
import functools

from tandem import _core
from tandem.framework import nest
from tandem.framework.indexed_slices import IndexedSlices
from tandem.framework.variable import variable_of_handle


class UnconnectedGradients(enum.Enum):
    """What a gradient is when the target does not depend on the source."""

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records ops for automatic differentiation."""

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent = persistent
        self._tape = _core.Tape(persistent, watch_accessed_variables)
        self._recording = False
        self._started = False

    def __enter__(self):
        if self._recording:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        self._tape.start()
        self._recording = self._started = True
        return self

    def __exit__(self, *exception):
        if self._recording:
            self._stop()

    def _stop(self):
        self._tape.stop()
        self._recording = False

    def watch(self, tensor):
        for value in map(_source, nest.flatten(tensor)):
            if not isinstance(value, (_core.Tensor, _core.VariableBase)):
                raise ValueError(
                    f"Passed in object {value} of type {type(value).__name__!r}, not tf.Tensor or tf.Variable "
                    "or ExtensionType."
                )
            self._tape.watch(value)

    def stop_recording(self):
        if not self._recording:
            raise ValueError("Tape is not recording.")
        return _core.PauseRecording()

    def reset(self):
        self._tape.reset()

    def watched_variables(self):
        handles = self._tape.watched_handles() if self._started else []
        return tuple(variable_of_handle(handle) for handle in handles)

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        if not self._started:
            raise RuntimeError("A tape records nothing before its `with` block is entered.")
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        if self._recording and not self._persistent:
            self._stop()
        targets = [_core.convert_to_tensor(_source(t)) for t in nest.flatten(target)]
        flat = [_source(s) for s in nest.flatten(sources)]
        given = None if output_gradients is None else nest.flatten(output_gradients)
        result = self._tape.gradient(targets, flat, zero, given)
        slices = [IndexedSlices(*g) if isinstance(g, tuple) else g for g in result]
        return nest.pack_sequence_as(sources, slices)

    def jacobian(
        self,
        target,
        sources,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ):
        return self._jacobians(target, sources, unconnected_gradients, False)

    def batch_jacobian(
        self,
        target,
        source,
        unconnected_gradients=UnconnectedGradients.NONE,
        parallel_iterations=None,
        experimental_use_pfor=True,
    ):
        return self._jacobians(target, source, unconnected_gradients, True)

    def _jacobians(self, target, sources, unconnected, batch):
        zero = UnconnectedGradients(unconnected) is UnconnectedGradients.ZERO
        if self._recording and not self._persistent:
            self._stop()
        flat = [self._tape.jacobian(target, _source(s), zero, batch) for s in nest.flatten(sources)]
        return nest.pack_sequence_as(sources, flat)


def _source(value):
    """The tensor or variable to differentiate by; Keras's variables hold one of ours."""
    if isinstance(value, (_core.Tensor, _core.VariableBase)):
        return value
    inner = getattr(value, "value", None)
    if isinstance(inner, (_core.Tensor, _core.VariableBase)):
        return inner
    return value


def custom_gradient(f=None):
    """A function that computes its own gradient: f returns (outputs, grad_fn)."""

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        flat = [_core.convert_to_tensor(_source(a)) for a in nest.flatten(args)]
        structure = {}

        def forward(inputs):
            outputs, grad_fn = f(*nest.pack_sequence_as(args, inputs), **kwargs)
            structure["outputs"] = outputs

            def backward(upstream):
                gradients = grad_fn(*upstream)
                gradients = nest.flatten(gradients) if isinstance(gradients, (list, tuple)) else [gradients]
                return [None if g is None else _core.convert_to_tensor(g) for g in gradients]

            return [_core.convert_to_tensor(o) for o in nest.flatten(outputs)], backward

        outputs = _core.custom_gradient(forward, flat)
        return nest.pack_sequence_as(structure["outputs"], outputs)

    return decorated
