"""Signatures of saved models: functions from named tensors to named tensors."""

import collections.abc

from tandem.framework import composites
from tandem.framework.concrete_function import ConcreteFunction
from tandem.framework.log import log as _log
from tandem.framework.spec import TensorSpec

DEFAULT = "serving_default"


class Signature:
    """A trace with names for its tensors: `inputs` in the order of parameters, `outputs` as [name, number of result]."""

    def __init__(self, concrete, inputs, outputs):
        self.concrete = concrete
        self.inputs = inputs
        self.outputs = outputs


def canonical_signatures(root, signatures, functions_of):
    """What the user gave, or what the object offers, by name."""
    if signatures is None:
        found = _offered(root, functions_of)
        return {} if found is None else {DEFAULT: found}
    if not isinstance(signatures, collections.abc.Mapping):
        signatures = {DEFAULT: signatures}
    made = {}
    for name, function in signatures.items():
        if not isinstance(name, str):
            raise ValueError(f"Expected keys of `signatures` to be strings, got {name!r}.")
        made[name] = make_signature(_concrete(function, name), name)
    return made


def _concrete(function, name):
    if isinstance(function, ConcreteFunction):
        return function
    if not hasattr(function, "_list_all_concrete_functions"):
        raise ValueError(f"Expected a TensorFlow function for which to generate a signature, but got {function}. "
                         "Only `tf.functions` with an input signature or concrete functions can be used as a "
                         "signature.")  # fmt: skip
    if getattr(function, "input_signature", None) is not None:
        return function.get_concrete_function()
    traces = function._list_all_concrete_functions()
    if len(traces) != 1:
        raise ValueError(f"The signature '{name}' has {len(traces)} traces. Use a tf.function with an "
                         "input_signature, or pass what its get_concrete_function() returns.")  # fmt: skip
    return traces[0]


def _offered(root, functions_of):
    """Keras's own default signature, or the only function that the object has, where it can be one."""
    try:
        default = getattr(root, "_default_save_signature", None)
        if default is not None:
            return make_signature(_concrete(default, DEFAULT), DEFAULT)
    except Exception as problem:  # noqa: BLE001  (a model that was never built has none)
        _log.info("no default signature for %r: %s", root, problem)
    named = functions_of(root)
    functions = [named["_default_save_signature"]] if "_default_save_signature" in named else list(named.values())
    if len(functions) != 1:
        return None
    only = functions[0]
    if not isinstance(only, ConcreteFunction) and getattr(only, "input_signature", None) is None:
        return None
    try:
        return make_signature(_concrete(only, DEFAULT), DEFAULT)
    except ValueError:
        return None


def make_signature(concrete, name):
    if hasattr(concrete, "signature_outputs"):  # a signature of a loaded model
        return Signature(concrete, list(concrete.structured_input_signature[1]), concrete.signature_outputs)
    inputs = _input_names(concrete)
    if len(set(inputs)) != len(inputs):
        raise ValueError(f"The signature '{name}' has two inputs of one name: {inputs}. Name the specs.")
    return Signature(concrete, inputs, _named_outputs(concrete._traced.outputs, name))


def _input_names(concrete):
    """Names that specs were given; others are called after their parameter: `inputs`, `inputs_1`, …."""
    names, used = [], set()

    def name(spec, path, parameter):
        if isinstance(spec, TensorSpec):
            wanted = spec.name if spec.name and spec.name != path else parameter
            unique, number = wanted, 0
            while unique in used:
                number += 1
                unique = f"{wanted}_{number}"
            used.add(unique)
            names.append(unique)
        return spec

    positional = _parameter_names(concrete._type.signature, len(concrete._args))
    for parameter, value in [*zip(positional, concrete._args), *concrete._kwargs.items()]:
        composites.rebuild(value, lambda leaf, path, parameter=parameter: name(leaf, path, parameter), parameter)
    return names


def _parameter_names(signature, count):
    names = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{name}_{i}" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(name)
    return names


def _named_outputs(outputs, name):
    if outputs is None:
        return []
    if isinstance(outputs, collections.abc.Mapping):
        for key, value in outputs.items():
            if not isinstance(key, str) or not _is_tensor(value):
                raise ValueError(f"Got a dictionary containing non-Tensor value {value} for key {key} in the output of "
                                 f"the function {name} used to generate a SavedModel signature. Dictionaries outputs "
                                 "for functions used as signatures should have one Tensor output per string key.")  # fmt: skip
        numbers = {key: number for number, key in enumerate(composites.keys_of(outputs))}
        return [[key, numbers[key]] for key in outputs]
    flat = [outputs] if _is_tensor(outputs) else list(outputs) if isinstance(outputs, (list, tuple)) else None
    if flat is None or not all(map(_is_tensor, flat)):
        raise ValueError(f"Got a non-flat output {outputs!r} from '{name}' for SavedModel signature. Signatures have "
                         "one Tensor per output, so to have predictable names Python functions used to generate these "
                         "signatures should avoid outputting Tensors in nested structures.")  # fmt: skip
    return [[f"output_{number}", number] for number in range(len(flat))]


def _is_tensor(value):
    """Whether it is one tensor: a ragged or sparse one is several."""
    return hasattr(value, "dtype") and hasattr(value, "shape") and not hasattr(type(value), "_tf_components")
