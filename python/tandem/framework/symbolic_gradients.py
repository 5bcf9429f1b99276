"""tf.gradients and tf.hessians: derivatives of what a function has traced so far."""

from tandem import _core
from tandem.framework import nest
from tandem.framework.gradients import UnconnectedGradients, source_of
from tandem.framework.indexed_slices import IndexedSlices


class AggregationMethod:
    """How gradients that meet are added. Tandem adds them one way; the names are accepted."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def _in_graph(value):
    """What can be differentiated by: a number becomes a constant, on which nothing depends."""
    value = source_of(value)
    return value if isinstance(value, (_core.Tensor, _core.VariableBase)) else _core.convert_to_tensor(value)


def gradients(
    ys, xs, grad_ys=None, name="gradients", gate_gradients=False, aggregation_method=None, stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
):  # fmt: skip
    """A list with the sum over ys of dy/dx for each x. `stop_gradients` are taken as constants."""
    if _core.executing_eagerly():
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."
        )
    zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    targets = [_core.convert_to_tensor(source_of(y)) for y in nest.flatten(ys)]
    sources = [_in_graph(x) for x in nest.flatten(xs)]
    for target in targets:
        if not (target.dtype.is_floating or target.dtype.is_complex):
            raise TypeError(f"Gradients of {target.dtype.name} tensors do not exist: give floating or complex ys.")
    given = nest.flatten(grad_ys) if grad_ys is not None else [None] * len(targets)
    if len(given) != len(targets):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(targets)} ys")
    given = [g if g is None else _core.convert_to_tensor(g, t.dtype) for g, t in zip(given, targets)]
    stops = [_in_graph(s) for s in nest.flatten(stop_gradients)] if stop_gradients is not None else []
    found = _core.symbolic_gradients(targets, sources, given, stops)
    found = [IndexedSlices(*g) if isinstance(g, tuple) else g for g in found]
    if not zero:
        return found
    return [_core.execute("ZerosLike", _core.convert_to_tensor(x)) if g is None else g for g, x in zip(found, sources)]


def hessians(ys, xs, gate_gradients=False, aggregation_method=None, name="hessians"):
    """For each x the second derivatives of the sum of ys, of shape x.shape + x.shape."""
    found = []
    for x in nest.flatten(xs):
        (first,) = gradients(ys, x)
        if first is None:
            raise ValueError("tf.hessians: ys do not depend on one of the xs.")
        shape = _core.convert_to_tensor(x).shape
        if not shape.is_fully_defined():
            raise NotImplementedError("tf.hessians needs to know the shape of xs: give the function an input_signature.")
        flat = _core.execute("Reshape", first, [-1])
        rows = [gradients(flat[i], x, unconnected_gradients=UnconnectedGradients.ZERO)[0] for i in range(shape.num_elements())]
        found.append(_core.execute("Reshape", _core.execute("Pack", rows, axis=0), [*shape.as_list(), *shape.as_list()]))
    return found
