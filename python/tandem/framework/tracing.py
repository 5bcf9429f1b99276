"""Tracing a Python callable into a graph: placeholders in, a compiled function out."""

import itertools

from tandem import _core
from tandem.framework import composites, creation
from tandem.framework.graph import FuncGraph, session_graph
from tandem.framework.spec import TensorSpec
from tandem.framework.variable import variable_of_handle

_numbers = itertools.count(1)


class Traced:
    """One trace of a callable.

    `compiled` is called with tensors in the order of `inputs` (TensorSpecs) and gives a list of tensors, of which
    `results` is the structure: a nest with their numbers as leaves. `outputs` is the same with symbolic tensors.
    """

    def __init__(self, name, graph, compiled, inputs, placeholders, outputs, results):
        self.name = name
        self.graph = graph
        self.compiled = compiled
        self.inputs = inputs
        self.placeholders = placeholders
        self.outputs = outputs
        self.results = results

    def call(self, tensors):
        """The structured results for a list of tensors."""
        graph = session_graph()
        if graph is None or not graph._is_innermost:
            return composites.unpack(self.results, self.compiled(tensors))
        from tandem.graph_mode.ops import with_effects

        return composites.unpack(self.results, with_effects(graph, lambda: self.compiled(tensors)))

    @property
    def variables(self):
        """The variables that the graph uses, those that are still alive."""
        found = map(variable_of_handle, self.compiled.variable_handles)
        return tuple(v for v in found if v is not None)

    @property
    def trainable_variables(self):
        return tuple(v for v in self.variables if v.trainable)


def trace_callable(fn, args=(), kwargs=None, name=None, created=None, values=(), like=None):
    """Traces fn(*args, **kwargs), where a TensorSpec anywhere in the arguments stands for a tensor.

    Variables that the trace creates are appended to `created`; None: creating one is a ValueError. They may begin
    with what depends on arguments whose `values` are given, in their order. `like`: another trace of the function,
    with which this one shares memory.
    """
    name = name or getattr(fn, "__name__", "function")
    graph = FuncGraph(f"__inference_{name}_{next(_numbers)}")
    inputs, placeholders = [], []

    def place(value, path):
        if not isinstance(value, TensorSpec):
            return value
        inputs.append(value)
        placeholders.append(graph.placeholder(value.dtype, value.shape, value.name or path or "arg"))
        return placeholders[-1]

    try:
        graph._enter_function()
        with creation.rules(created, graph, values):
            given = composites.rebuild(tuple(args), place)
            kwargs = kwargs or {}
            named = {key: composites.rebuild(kwargs[key], place, key) for key in composites.keys_of(kwargs)}
            outputs = fn(*given, **named)
            flat = []
            outputs = composites.rebuild(outputs, lambda value, path: _result(value, fn))
            results = composites.number(outputs, flat)
        compiled = graph._finish(flat, like.compiled if like is not None else None)
    finally:
        graph._exit()
    return Traced(name, graph, compiled, inputs, placeholders, outputs, results)


def _result(value, fn):
    """The tensor that is returned; None stays."""
    if value is None:
        return None
    try:
        return _core.convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            "To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes "
            f"or None values; in compilation of {fn}, found return value of type {type(value).__name__}, which is "
            "not a Tensor or ExtensionType."
        ) from None
