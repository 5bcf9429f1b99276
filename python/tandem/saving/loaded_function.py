"""Functions of a loaded model: traces without the Python code that they were made from."""

import collections.abc

from tandem import _core
from tandem.framework import composites
from tandem.framework.concrete_function import ConcreteFunction
from tandem.framework.function_type import FunctionType, is_array
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.sparse import SparseTensor, SparseTensorSpec
from tandem.framework.spec import TensorSpec, TypeSpec


class _Graph:
    """Stands for the graph of a trace where only its name is asked for."""

    def __init__(self, name, compiled):
        self.name = name
        self.compiled = compiled


class LoadedTrace:
    """What ConcreteFunction wants of a trace (tandem.framework.tracing.Traced)."""

    def __init__(self, name, compiled, inputs, outputs, results, variables, tables=()):
        self.name = name
        self.graph = _Graph(name, compiled)
        self.compiled = compiled
        self.inputs = inputs
        self.placeholders = inputs
        self.outputs = outputs  # with TensorSpecs
        self.results = results
        self.variables = tuple(variables)
        self.tables = tuple(tables)  # they live as long as the trace

    @property
    def trainable_variables(self):
        return tuple(v for v in self.variables if v.trainable)

    def call(self, tensors):
        return composites.unpack(self.results, self.compiled(tensors))


def function_type(signature):
    made = FunctionType.__new__(FunctionType)
    made.signature = signature
    made.specs = None
    return made


class _NoMatch(Exception):
    pass


class LoadedFunction:
    """A function with the traces that were saved: a call takes the first that fits."""

    def __init__(self, name, signature, concretes):
        self.__name__ = self._name = name
        self._type = function_type(signature)
        self._concretes = concretes

    @property
    def name(self):
        return self._name

    @property
    def function_spec(self):
        return self._type

    @property
    def concrete_functions(self):
        return list(self._concretes)

    input_signature = None

    def _list_all_concrete_functions(self):
        return list(self._concretes)

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {f"trace_{i}": concrete for i, concrete in enumerate(self._concretes)}

    def experimental_get_tracing_count(self):
        return len(self._concretes)

    def pretty_printed_concrete_signatures(self, verbose=True):
        return "\n\n".join(c.pretty_printed_signature(verbose) for c in self._concretes)

    def __call__(self, *args, **kwargs):
        concrete, tensors = self._choose(args, kwargs)
        return concrete._traced.call(tensors)

    def get_concrete_function(self, *args, **kwargs):
        """The trace that accepts arguments like these; without arguments the only one."""
        if not args and not kwargs and len(self._concretes) == 1:
            return self._concretes[0]
        return self._choose(args, kwargs)[0]

    def _choose(self, args, kwargs):
        if not self._concretes:
            raise ValueError(
                f"Found zero restored functions for caller function {self._name}: when the model was saved it had "
                "not been called, or its arguments cannot be stored (saving warned of that). Call it with tensors, or "
                "give it an input_signature of tf.TensorSpec, before you save."
            )
        given = self._type.bind(args, kwargs)
        for convert in (False, True):
            for concrete in self._concretes:
                tensors = []
                try:
                    _match(given[0], concrete._args, tensors, convert)
                    _match(given[1], concrete._kwargs, tensors, convert)
                except _NoMatch:
                    continue
                return concrete, tensors
        options = "\n\n".join(
            f"Option {i + 1}:\n  Positional arguments: {c._args}\n  Keyword arguments: {c._kwargs}"
            for i, c in enumerate(self._concretes)
        )
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the SavedModel. Got:\n  Positional "
            f"arguments: {given[0]}\n  Keyword arguments: {given[1]}\n\n Expected these arguments to match one of "
            f"the following {len(self._concretes)} option(s):\n\n{options}"
        )

    def __repr__(self):
        return f"<LoadedFunction {self._name} with {len(self._concretes)} traces>"


def _match(given, traced, tensors, convert):
    """Collects the tensors of a call in the order of the trace; raises _NoMatch where it does not fit."""
    if isinstance(traced, TensorSpec):
        tensors.append(_fit(given, traced, convert))
        return
    parts = composites.opened(traced)
    inner = composites.opened(given)
    if parts is None:
        if given is not traced and not _same(given, traced):
            raise _NoMatch
        return
    if inner is None or len(inner[0]) != len(parts[0]) or not _same_kind(given, traced):
        raise _NoMatch
    if isinstance(traced, collections.abc.Mapping):
        if not composites.same_keys(given, traced):
            raise _NoMatch
        pairs = [(given[key], traced[key]) for key in composites.keys_of(traced)]
    else:
        pairs = zip(inner[0], parts[0])
    for a, b in pairs:
        _match(a, b, tensors, convert)


def _same_kind(given, traced):
    """Whether a ragged or sparse value is given where one was traced, and only there."""
    if isinstance(traced, (RaggedTensorSpec, SparseTensorSpec)):
        return given == traced if isinstance(given, TypeSpec) else traced._tf_accepts(given)
    kind = next((kind for kind in (RaggedTensor, SparseTensor) if isinstance(traced, kind)), None)
    if kind is None:
        return not isinstance(given, (RaggedTensor, SparseTensor))
    # Rows that were of one length when the function was traced have to be so again.
    return isinstance(given, kind) and (kind is SparseTensor or traced._tf_key() in (None, given._tf_key()))


def _fit(given, spec, convert):
    """The value as a tensor for that spec. Numbers and arrays take its dtype where `convert` allows it."""
    if isinstance(given, (TensorSpec, _core.Tensor)):
        value = given
    elif isinstance(given, _core.VariableBase) or hasattr(type(given), "__tf_tensor__"):
        value = _core.convert_to_tensor(given)
    elif is_array(given) and not convert:
        value = _core.convert_to_tensor(given)
    elif convert and given is not None:
        try:
            value = _core.convert_to_tensor(given, spec.dtype)
        except (TypeError, ValueError):
            raise _NoMatch from None
    else:
        raise _NoMatch
    if value.dtype != spec.dtype or not spec.shape.is_compatible_with(value.shape):
        raise _NoMatch
    return value


def _same(a, b):
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # a comparison of the user's own
        return False


class SignatureFunction(ConcreteFunction):
    """A signature: tensors by name in, a dict of tensors out."""

    def __init__(self, traced, inputs, outputs):
        self._names = inputs
        self._outputs = outputs
        specs = {name: TensorSpec(spec.shape, spec.dtype, name) for name, spec in zip(inputs, traced.inputs)}
        super().__init__(traced, (), specs, None)
        self._keywords = inputs

    @property
    def structured_outputs(self):
        flat = composites.leaves(self._traced.outputs)
        flat = [leaf for leaf in flat if leaf is not None]
        return {name: TensorSpec(flat[number].shape, flat[number].dtype, name) for name, number in self._outputs}

    @property
    def outputs(self):
        return list(self.structured_outputs.values())

    @property
    def signature_outputs(self):
        """[name, number of the result] of each output."""
        return self._outputs

    def __call__(self, *args, **kwargs):
        tensors = self._bind(args, kwargs)
        results = self._traced.compiled(tensors)
        return {name: results[number] for name, number in self._outputs}

    def _bind(self, args, kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], collections.abc.Mapping):
            args, kwargs = (), dict(args[0])
        given = dict(zip(self._names, args))
        if len(args) > len(self._names) or set(given) & set(kwargs) or set(given) | set(kwargs) != set(self._names):
            raise TypeError(
                f"Binding inputs to tf.function failed: the signature takes {self._names}, got {len(args)} positional "
                f"arguments and the keywords {sorted(kwargs)}."
            )
        given.update(kwargs)
        tensors = []
        for name, spec in self._kwargs.items():
            value = given[name]
            if not isinstance(value, _core.Tensor):
                value = _core.convert_to_tensor(value, None if isinstance(value, _core.VariableBase) else spec.dtype)
            if value.dtype != spec.dtype or not spec.shape.is_compatible_with(value.shape):
                raise TypeError(
                    f"Binding inputs to tf.function failed due to `Can not cast "
                    f"{TensorSpec(value.shape, value.dtype)!r} to {spec!r}`."
                )
            tensors.append(value)
        return tensors

    def pretty_printed_signature(self, verbose=True):
        inputs = ", ".join(f"{name}: {spec!r}" for name, spec in self._kwargs.items())
        return f"signature_wrapper(*, {inputs}) -> {self.structured_outputs}"
