"""tf.GradientTape and tf.custom_gradient: structures around the native tape."""

import contextlib
import enum
import functools
import inspect

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
        if self._started:
            self._tape.resume()
        else:
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
        for value in map(source_of, nest.flatten(tensor)):
            if not isinstance(value, (_core.Tensor, _core.VariableBase)):
                raise ValueError(
                    f"Passed in object {value} of type {type(value).__name__!r}, not tf.Tensor or tf.Variable "
                    "or ExtensionType."
                )
            self._tape.watch(value)

    @contextlib.contextmanager
    def stop_recording(self):
        """Nothing inside the block is recorded on this tape; other tapes go on."""
        if not self._recording:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._stop()
        try:
            yield
        finally:
            self._tape.resume()
            self._recording = True

    def reset(self):
        self._tape.reset()

    def watched_variables(self):
        handles = self._tape.watched_handles() if self._started else []
        return tuple(variable_of_handle(handle) for handle in handles)

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        if self._recording and not self._persistent:
            self._stop()
        targets = [_core.convert_to_tensor(source_of(t)) for t in nest.flatten(target)]
        flat = [source_of(s) for s in nest.flatten(sources)]
        given = None if output_gradients is None else nest.flatten(output_gradients)
        result = self._tape.gradient(targets, flat, zero, given)
        slices = [IndexedSlices(*g) if isinstance(g, tuple) else g for g in result]
        shaped = [
            source.with_flat_values(g) if hasattr(source, "with_flat_values") and g is not None else g
            for source, g in zip(nest.flatten(sources), slices)
        ]
        return nest.pack_sequence_as(sources, shaped)

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
        flat = [self._tape.jacobian(target, source_of(s), zero, batch) for s in nest.flatten(sources)]
        return nest.pack_sequence_as(sources, flat)


def source_of(value):
    """The tensor or variable to differentiate by; Keras's variables hold one of ours."""
    if isinstance(value, (_core.Tensor, _core.VariableBase)):
        return value
    flat = getattr(value, "flat_values", None)
    if isinstance(flat, _core.Tensor):  # a ragged tensor: by its values
        return flat
    inner = getattr(value, "value", None)
    if isinstance(inner, (_core.Tensor, _core.VariableBase)):
        return inner
    return value


class ForwardAccumulator:
    """Computes Jacobian-vector products beside the values (forward mode)."""

    def __init__(self, primals, tangents):
        flat = [source_of(p) for p in nest.flatten(primals)]
        given = nest.flatten(tangents)
        nest.assert_same_structure(primals, tangents, check_types=False)
        if len({id(p) for p in flat}) != len(flat):
            raise ValueError("A primal is given twice: its tangents would add up. Give each tensor once.")
        self._primals = flat
        self._tangents = [_core.convert_to_tensor(t, p.dtype) for p, t in zip(flat, given)]
        self._native = None

    def __enter__(self):
        if self._native is not None:
            raise ValueError("Accumulator is already recording.")
        self._native = _core.ForwardAccumulator(self._primals, self._tangents)
        return self

    def __exit__(self, *exception):
        """Tangents stay until the object goes."""

    def jvp(self, primals, unconnected_gradients=UnconnectedGradients.NONE):
        if self._native is None:
            raise ValueError("Called jvp() without first tracing anything.")
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        return nest.map_structure(lambda p: self._native.jvp(source_of(p), zero), primals)


def custom_gradient(f=None):
    """A function that computes its own gradient: f returns (outputs, grad_fn)."""
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        flat = [_core.convert_to_tensor(source_of(a)) for a in nest.flatten(args)]
        # Tapes outside hear it too: what grad_fn uses may be differentiated again.
        with GradientTape() as watcher:
            outputs, grad_fn = f(*nest.pack_sequence_as(args, flat), **kwargs)
        variables = [v for v in watcher.watched_variables() if v is not None]
        if variables and not _accepts_variables(grad_fn):
            inside = {id(a) for a in nest.flatten(args)}
            variables = [v for v in variables if id(v) not in inside]
            if variables:
                raise TypeError(
                    "If using @custom_gradient with a function that uses variables, then grad_fn must accept a "
                    "'variables' keyword argument."
                )

        def backward(upstream):
            if variables:
                gradients, of_variables = grad_fn(*upstream, variables=variables)
                of_variables = list(of_variables)
            else:
                gradients, of_variables = grad_fn(*upstream), []
            gradients = nest.flatten(gradients)
            return [None if g is None else _core.convert_to_tensor(g) for g in [*gradients, *of_variables]]

        def forward(inputs):
            return [_core.convert_to_tensor(o) for o in nest.flatten(outputs)], backward

        # The gradient of a variable is that of the value it is read as.
        results = _core.custom_gradient(forward, [*flat, *[v.read_value() for v in variables]])
        return nest.pack_sequence_as(outputs, results)

    return decorated


def _accepts_variables(grad_fn):
    try:
        parameters = inspect.signature(grad_fn).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def recompute_grad(f):
    """A function whose intermediates are computed again for its gradient instead of being kept."""

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        structure = {}
        flat = [_core.convert_to_tensor(source_of(a)) for a in nest.flatten(args)]

        def run(inputs):
            outputs = f(*nest.pack_sequence_as(args, inputs), **kwargs)
            structure["outputs"] = outputs
            return [_core.convert_to_tensor(o) for o in nest.flatten(outputs)]

        results = _core.recompute_grad(run, flat)
        return nest.pack_sequence_as(structure["outputs"], results)

    return decorated


def grad_pass_through(f):
    """The values of f, with the gradient of doing nothing."""

    @custom_gradient
    def passing(*args, **kwargs):
        def grad(*upstream, **given):
            variables = given.get("variables")
            passed = upstream[0] if len(upstream) == 1 else list(upstream)
            return (passed, [None] * len(variables)) if variables is not None else passed

        return f(*args, **kwargs), grad

    return passing
