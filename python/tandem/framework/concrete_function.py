"""ConcreteFunction: one trace of a tf.function, callable with tensors."""

import inspect

from tandem import _core
from tandem.framework import composites
from tandem.framework.errors import TracedArgumentError
from tandem.framework.function_type import ObjectKey, Slot, is_array, mark
from tandem.framework.spec import TensorSpec


class ConcreteFunction:
    """A traced graph with its signature. It is called like the Python function, with tensors where some were traced."""

    def __init__(self, traced, args, kwargs, function_type):
        self._traced = traced
        # TensorSpecs in place of tensors; other objects are held as weakly as the function's key holds them.
        self._args = composites.rebuild(args, _held)
        self._kwargs = composites.rebuild(kwargs, _held)
        self._type = function_type
        self._keywords = [spec.name for spec in traced.inputs]

    # ---- What it is

    @property
    def name(self):
        return self._traced.graph.name

    @property
    def graph(self):
        return self._traced.graph

    @property
    def compiled(self):
        """The native function: a list of tensors in, a list of tensors out."""
        return self._traced.compiled

    @property
    def inputs(self):
        return list(self._traced.placeholders)

    @property
    def outputs(self):
        return [leaf for leaf in composites.leaves(self._traced.outputs) if leaf is not None]

    @property
    def captured_inputs(self):
        return list(self._traced.compiled.captured_constants)

    @property
    def structured_outputs(self):
        return self._traced.outputs

    @property
    def structured_input_signature(self):
        return composites.rebuild((self._args, self._kwargs), lambda leaf, path: _shown_object(leaf))

    @property
    def output_shapes(self):
        return composites.rebuild(self._traced.outputs, lambda t, path: None if t is None else t.shape)

    @property
    def output_dtypes(self):
        return composites.rebuild(self._traced.outputs, lambda t, path: None if t is None else t.dtype)

    @property
    def variables(self):
        return self._traced.variables

    @property
    def trainable_variables(self):
        return self._traced.trainable_variables

    @property
    def function_def(self):
        return self._traced.compiled.dump()

    @property
    def function_type(self):
        return self._type.signature

    def explain(self):
        """What the last call became: passes, steps, lanes, memory, and why."""
        return self._traced.compiled.explain()

    # ---- Calls

    def __call__(self, *args, **kwargs):
        tensors = self._tensors(args, kwargs)
        for i, (tensor, spec) in enumerate(zip(tensors, self._traced.inputs)):
            if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
                raise TracedArgumentError(
                    None, None,
                    f"cannot compute {self.name} as input #{i}(zero-based) was expected to be a {spec.dtype.name} tensor "
                    f"of shape {spec.shape} but is a {tensor.dtype.name} tensor of shape {tensor.shape}: `Can not cast "
                    f"{TensorSpec(tensor.shape, tensor.dtype)!r} to {spec!r}`",
                )  # fmt: skip
        return self._traced.call(tensors)

    def _tensors(self, args, kwargs):
        """The tensors in the order of the graph's parameters."""
        wanted = len(self._traced.inputs)
        if not kwargs and len(args) == wanted and all(_is_tensor_value(leaf) for leaf in args):
            return [_core.convert_to_tensor(leaf, spec.dtype) if not isinstance(leaf, _core.Tensor) else leaf
                    for leaf, spec in zip(args, self._traced.inputs)]  # fmt: skip
        if not args and kwargs and set(kwargs) == set(self._keywords):
            return [_core.convert_to_tensor(kwargs[name]) for name in self._keywords]
        slots = []
        given = self._type.bind(mark(args, slots), mark(kwargs, slots))
        tensors = []
        self._match(given[0], self._args, tensors)
        self._match(given[1], self._kwargs, tensors)
        return tensors

    def _match(self, given, traced, tensors):
        if isinstance(traced, TensorSpec):
            tensors.append(given.tensor if isinstance(given, Slot) else _core.convert_to_tensor(given, traced.dtype))
            return
        parts = composites.opened(traced)
        if parts is None:
            # A plain value is part of the trace; a spec of a variable is the variable itself.
            same = ObjectKey(given) == traced if isinstance(traced, ObjectKey) else _equal(given, traced)
            if isinstance(given, Slot) or not same:
                raise TypeError(
                    f"{self.name} was traced with {traced!r} here, not {given!r}. ConcreteFunctions take tensors; "
                    "other arguments must be those of the trace."
                )
            return
        inner = composites.opened(given)
        if inner is None or len(inner[0]) != len(parts[0]) or not composites.same_keys(given, traced):
            raise TypeError(f"{self.name}: {given!r} does not have the structure of {traced!r}.")
        for a, b in zip(inner[0], parts[0]):
            self._match(a, b, tensors)

    # ---- Printing

    def pretty_printed_signature(self, verbose=True):
        signature = self._type.signature
        try:
            bound = signature.bind(*self._args, **self._kwargs).arguments
        except TypeError:
            bound = {}
        parts = []
        for name, parameter in signature.parameters.items():
            value = bound.get(name, parameter.default)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                name = "*" + name
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                name = "**" + name
            parts.append(f"{name}: {_shown(value)}")
        outputs = composites.rebuild(
            self._traced.outputs, lambda t, path: None if t is None else TensorSpec(t.shape, t.dtype)
        )
        head = f"({', '.join(parts)}) -> {_shown(outputs)}"
        if not verbose:
            return head
        lines = [f"Input Parameters:"]
        for name, parameter in signature.parameters.items():
            lines.append(f"  {name} ({parameter.kind.name}): {_shown(bound.get(name, parameter.default))}")
        lines += ["Output Type:", f"  {_shown(outputs)}", "Captures:"]
        lines.append("  " + (", ".join(v.name for v in self.variables) or "None"))
        return "\n".join(lines)

    def __repr__(self):
        return f"<ConcreteFunction {self.pretty_printed_signature(verbose=False)} at 0x{id(self):X}>"

    def __str__(self):
        return f"ConcreteFunction {self.pretty_printed_signature()}"


def _held(leaf, path):
    plain = leaf is None or isinstance(leaf, (TensorSpec, bool, int, float, complex, str, bytes))
    return leaf if plain else ObjectKey(leaf)


def _shown_object(leaf):
    return leaf.value if isinstance(leaf, ObjectKey) else leaf


def _is_tensor_value(leaf):
    return isinstance(leaf, (_core.Tensor, _core.VariableBase, int, float)) or is_array(leaf)


def _equal(a, b):
    try:
        return a is b or (type(a) is type(b) and bool(a == b))
    except Exception:  # a comparison of the user's own
        return False


def _shown(value):
    value = _shown_object(value)
    if isinstance(value, TensorSpec):
        return repr(value)
    parts = composites.opened(value)
    if parts is None:
        return f"Literal[{value!r}]" if isinstance(value, (bool, int, float, str)) else repr(value)
    if isinstance(value, dict):
        return "Dict[" + ", ".join(f"{key!r}: {_shown(part)}" for key, part in value.items()) + "]"
    return type(value).__name__.capitalize() + "[" + ", ".join(map(_shown, parts[0])) + "]"
