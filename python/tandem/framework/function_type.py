"""What a call of a tf.function is: its arguments bound to parameters, the tensors among them, and a key.

`f(x, 2)` and `f(x, y=2)` are the same call. Tensors count by dtype and shape, everything else by value or identity.
"""

import collections.abc
import functools
import inspect
import struct
import weakref

import numpy as np

from tandem import _core
from tandem.framework import composites
from tandem.framework.shape import TensorShape
from tandem.framework.spec import TensorSpec, TypeSpec


class Slot:
    """Stands for the `number`-th tensor of a call, or for the value of a variable."""

    __slots__ = ("number", "tensor")
    _tf_part = True  # may be part of an object that is made of tensors

    def __init__(self, number, tensor):
        self.number = number
        self.tensor = tensor

    def __repr__(self):
        return repr(self.tensor)


def is_array(value):
    return isinstance(value, (np.ndarray, np.generic)) and not isinstance(value, (str, bytes))


def mark(value, slots):
    """The structure with a Slot in place of each tensor and array, in the order of the native walk."""

    def change(leaf):
        if isinstance(leaf, _core.Tensor) or is_array(leaf):
            slots.append(Slot(len(slots), leaf if isinstance(leaf, _core.Tensor) else _core.convert_to_tensor(leaf)))
            return slots[-1]
        return leaf

    return composites.in_given_order(value, change)


class ObjectKey:
    """An argument that is neither a tensor nor a plain value: equal when the objects are. `keep`: it is held, as what
    `__tf_flatten__` gives may be made anew at every call."""

    __slots__ = ("_object", "_hash", "__weakref__")

    def __init__(self, value, keep=False):
        try:
            self._hash = hash(value)
        except TypeError:
            self._hash = hash(type(value)) if keep else id(value)
        try:
            self._object = (lambda: value) if keep else weakref.ref(value)
        except TypeError:
            self._object = lambda: value

    @property
    def value(self):
        """The object; None when it is gone."""
        return self._object()

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        if not isinstance(other, ObjectKey):
            return False
        mine, theirs = self._object(), other._object()
        if mine is theirs:
            return mine is not None
        if mine is None or theirs is None or type(mine) is not type(theirs):
            return False
        try:
            return bool(mine == theirs)
        except Exception:  # a comparison of the user's own
            return False


def skeleton(value, tensors):
    """A hashable form without the shapes of tensors, which are appended to `tensors` with everything that stands
    for one (Slot, Tensor, TensorSpec). Of metadata, where `tensors` is None, everything counts by value."""
    if tensors is not None and isinstance(value, (Slot, _core.Tensor, TensorSpec)):
        tensors.append(value)
        return ("T", spec_of(value).dtype.name)
    if isinstance(value, _core.VariableBase):
        return ("V", value.handle._id)
    parts = composites.opened(value)
    if parts is not None:
        names = tuple(value) if isinstance(value, collections.abc.Mapping) else len(parts[0])
        kind = value.value_type if isinstance(value, TypeSpec) else type(value)
        static = value._tf_key() if hasattr(type(value), "_tf_key") else None
        if hasattr(type(value), "__tf_flatten__"):
            static = skeleton(value.__tf_flatten__()[0], None)
        if tensors is None and isinstance(value, TypeSpec):  # may say more than its parts: a sparse one has the sizes
            static = static, ObjectKey(value, keep=True)
        return (kind, names, static, tuple(skeleton(part, tensors) for part in parts[0]))
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return (type(value), value)
    if isinstance(value, float):
        return ("F", struct.pack("d", value))
    if hasattr(type(value), "__tf_tracing_type__"):
        return ("Y", value.__tf_tracing_type__(None))
    return ("O", ObjectKey(value, keep=tensors is None))


def with_open_sizes(value, shapes):
    """The shapes of the tensors that skeleton() finds. How many values a sparse or ragged tensor has is data, and no
    reason for another trace: such sizes are unknown."""
    opened = zip(_counted_by_data(value), shapes, strict=True)
    return tuple(TensorShape([None, *s.as_list()[1:]]) if by_data and s.rank else s for by_data, s in opened)


def _counted_by_data(value, by_data=False):
    """For each tensor whether data decides its first size."""
    if isinstance(value, (Slot, _core.Tensor, TensorSpec)):
        return [by_data]
    parts = None if isinstance(value, _core.VariableBase) else composites.opened(value)
    if parts is None:
        return []
    counted = getattr(type(value), "_tf_counted_by_data", ())
    return [flag for i, part in enumerate(parts[0]) for flag in _counted_by_data(part, by_data or i in counted)]


def spec_of(value):
    if isinstance(value, TensorSpec):
        return value
    tensor = value.tensor if isinstance(value, Slot) else value
    return TensorSpec(tensor.shape, tensor.dtype)


def _same_type(value, wanted):
    """Whether what is not a tensor in an object made of tensors is what a spec says."""
    if not isinstance(wanted, TypeSpec):
        return True
    if hasattr(wanted, "_tf_accepts") and not isinstance(value, TypeSpec):
        return wanted._tf_accepts(value)
    kind = value.value_type if isinstance(value, TypeSpec) else type(value)
    return issubclass(kind, wanted.value_type) and value._tf_key() == wanted._tf_key()


def _require_specs(input_signature):
    strange = [leaf for leaf in composites.leaves(input_signature) if not isinstance(leaf, TypeSpec)]
    if strange:
        raise TypeError(
            "input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args "
            f"{', '.join(map(repr, strange))} with types {', '.join(str(type(leaf)) for leaf in strange)}."
        )


class FunctionType:
    """The parameters of a function, and the specs that it insists on."""

    def __init__(self, function, input_signature=None):
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        self._input_signature = input_signature
        if input_signature is not None and not isinstance(input_signature, (list, tuple, dict)):
            raise TypeError(f"input_signature must be either a tuple or a list, got {type(input_signature)}.")
        if input_signature is not None:
            _require_specs(input_signature)

    @functools.cached_property
    def specs(self):
        """By parameter; None: anything goes. Bound when first asked for: a method has its `self` until it is taken
        from an instance."""
        return None if self._input_signature is None else self._bind_specs(self._input_signature)

    def _bind_specs(self, input_signature):
        if isinstance(input_signature, dict):
            return dict(input_signature)
        specs, given = {}, list(input_signature)
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                specs[name], given = tuple(given), []
            elif not given:
                if parameter.default is inspect.Parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
                    raise ValueError(
                        f"input_signature has {len(input_signature)} entries, but the function has parameter "
                        f"'{name}' without a default. Give a spec for each."
                    )
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                specs[name] = given.pop(0)
        if given:
            raise ValueError(f"input_signature has {len(given)} entries more than {self.signature} has parameters.")
        return specs

    def describe(self):
        if not self.specs:
            return str(self.signature)
        parts = []
        for name, parameter in self.signature.parameters.items():
            parts.append(f"{name}: {self.specs[name]!r}" if name in self.specs else str(parameter))
        return f"({', '.join(parts)})"

    def fail(self, problem, args, kwargs):
        raise TypeError(
            f"Binding inputs to tf.function failed due to `{problem}`. Received args: {args} and kwargs: {kwargs} "
            f"for signature: {self.describe()}."
        ) from None

    def bind(self, args, kwargs):
        """Positional and keyword arguments with defaults filled in, cast to the input signature."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            self.fail(error, args, kwargs)
        bound.apply_defaults()
        if self.specs is not None:
            for name, spec in self.specs.items():
                if name in bound.arguments:
                    bound.arguments[name] = self._cast(bound.arguments[name], spec, args, kwargs)
        return composites.sorted_dicts(bound.args), composites.sorted_dicts(bound.kwargs)

    def _cast(self, value, spec, args, kwargs):
        def fit(leaf, wanted):
            if not isinstance(wanted, TensorSpec):
                return leaf
            if isinstance(leaf, TensorSpec):
                found = leaf
            elif isinstance(leaf, (Slot, _core.Tensor, _core.VariableBase)):
                found = spec_of(leaf)
            else:
                try:
                    leaf = _core.convert_to_tensor(leaf, wanted.dtype)
                except (TypeError, ValueError):
                    self.fail(f"could not represent {leaf!r} as a tensor of {wanted!r}", args, kwargs)
                found = spec_of(leaf)
            if found.dtype != wanted.dtype or not wanted.shape.is_compatible_with(found.shape):
                self.fail(f"Can not cast {found!r} to {wanted!r}", args, kwargs)
            # A variable where a tensor is wanted is read at every call.
            return Slot(leaf, leaf) if isinstance(leaf, _core.VariableBase) else leaf

        def walk(leaf, wanted):
            parts = composites.opened(wanted)
            if parts is None:
                return fit(leaf, wanted)
            inner = composites.opened(leaf)
            if inner is None or len(inner[0]) != len(parts[0]) or not _same_type(leaf, wanted):
                self.fail(f"{leaf!r} does not have the structure of {wanted!r}", args, kwargs)
            if not composites.same_keys(leaf, wanted):
                self.fail(f"{leaf!r} does not have the keys of {wanted!r}", args, kwargs)
            return inner[1]([walk(a, b) for a, b in zip(inner[0], parts[0])])

        return walk(value, spec)

    def specs_for(self, args, kwargs):
        """The arguments with the specs of the input signature in place of what was given."""
        if self.specs is None:
            return args, kwargs
        bound = self.signature.bind(*args, **kwargs)
        for name, spec in self.specs.items():
            if name in bound.arguments:
                bound.arguments[name] = spec
        return composites.sorted_dicts(bound.args), composites.sorted_dicts(bound.kwargs)
