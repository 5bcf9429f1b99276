"""The structure of elements: nests of tuples, named tuples, mappings (in the order of their keys), attrs classes and
classes with `__tf_flatten__`, opened as framework/nest.py does.

Unlike in tf.nest a list is not a structure but a value that becomes one tensor.
"""

import collections.abc
import itertools

from tandem import _core
from tandem.framework import composites, nest
from tandem.framework.errors import InternalError
from tandem.framework.function_type import skeleton
from tandem.framework.spec import TensorSpec, TypeSpec
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.types import CompositeTensor


_CLASSES = ("__attrs_attrs__", "__tf_flatten__")


class NoneTensorSpec(TypeSpec):
    """Specification of None among the components of an element."""

    value_type = type(None)

    def is_compatible_with(self, value):
        return value is None or value == self

    def __eq__(self, other):
        return isinstance(other, NoneTensorSpec)

    def __hash__(self):
        return hash(NoneTensorSpec)

    def __repr__(self):
        return "NoneTensorSpec()"


def _composite(spec):
    """The class in composite_leaves.py for a leaf of several components; None for others."""
    if isinstance(spec, (TensorSpec, NoneTensorSpec)) or hasattr(spec, "_component"):
        return None
    from tandem.pipeline.composite_leaves import kind_of

    return kind_of(spec)


def _of_a_class(value):
    return any(hasattr(type(value), mark) for mark in _CLASSES)


def is_nested(value):
    return isinstance(value, (tuple, collections.abc.Mapping)) or _of_a_class(value)


def children(value):
    """(the parts in order, a function that makes a value like it of other parts)."""
    return nest.children(value)


def flatten(value):
    if not is_nested(value):
        return [value]
    found = []
    for part in children(value)[0]:
        found.extend(flatten(part))
    return found


def map_structure(func, *values):
    """func on the leaves of values that have one structure, that of the first."""
    if not is_nested(values[0]):
        return func(*values)
    make = children(values[0])[1]
    parts = [_parts_like(values[0], value) for value in values]
    return make([map_structure(func, *items) for items in zip(*parts)])


_numbers = itertools.count()
_names = {}  # form of a spec → its name
_MOST_NAMES = 1024


def name_of(spec):
    """A text that is the same for equal specs: for keys, in which only texts and numbers count by value."""
    if len(_names) >= _MOST_NAMES:
        _names.clear()
    return _names.setdefault(skeleton(spec, None), str(next(_numbers)))


def _parts_like(first, value):
    if not is_nested(value):
        raise TypeError(f"The two structures don't have the same nested structure: {first!r} and {value!r}")
    parts = children(value)[0]
    wanted = children(first)[0]
    mapping = isinstance(first, collections.abc.Mapping)
    if mapping != isinstance(value, collections.abc.Mapping):
        raise TypeError(f"The two structures don't have the same sequence type: {first!r} and {value!r}")
    same_keys = not mapping or set(first) == set(value)
    # A plain tuple has no names that could be others.
    named = isinstance(first, tuple) and type(first) is not tuple and type(value) is not tuple
    if (named or any(map(_of_a_class, (first, value)))) and composites.kind_of(first) != composites.kind_of(value):
        raise TypeError(f"The two structures differ in class or metadata: {first!r} and {value!r}")
    if len(parts) != len(wanted) or not same_keys:
        raise ValueError(f"The two structures don't have the same number of elements: {first!r} and {value!r}")
    return parts


def common(one, other):
    """The spec of the elements of both. TypeError or ValueError unless they are of one nest, and their leaves of one
    class and one metadata."""
    if not is_nested(one) and not is_nested(other):
        return one.most_specific_compatible_type(other)
    if not is_nested(one):
        raise TypeError(f"The two structures don't have the same nested structure: {one!r} and {other!r}")
    parts, make = children(one)
    return make(list(map(common, parts, _parts_like(one, other))))


def compatible(one, other):
    """Whether what elements of `other` are told to be allows that they are of `one`."""
    try:
        common(one, other)
    except (TypeError, ValueError):
        return False
    return all(mine.is_compatible_with(theirs) for mine, theirs in zip(flatten(one), flatten(other)))


def flatten_up_to(shallow, value):
    """The parts of `value` where `shallow` has its leaves."""
    if not is_nested(shallow):
        return [value]
    found = []
    for inner, part in zip(children(shallow)[0], _parts_like(shallow, value)):
        found.extend(flatten_up_to(inner, part))
    return found


def pack(structure, leaves):
    """The structure with other leaves; `leaves` is an iterator."""
    if not is_nested(structure):
        return next(leaves)
    parts, make = children(structure)
    return make([pack(part, leaves) for part in parts])


class Structure:
    """A nest of specs, and how elements of it are put together from flat components and taken apart."""

    def __init__(self, spec):
        self.spec = spec
        self.leaves = flatten(spec)
        self._plain = all(type(leaf) is TensorSpec for leaf in self.leaves)
        self._kind = "leaf" if not is_nested(spec) else None
        if type(spec) is tuple and not any(is_nested(part) for part in spec):
            self._kind = "tuple"

    def element(self, flat):
        """The element of these components (a tuple of tensors)."""
        if self._plain:
            if self._kind == "leaf":
                return flat[0]
            if self._kind == "tuple":
                return flat
            return pack(self.spec, iter(flat))
        tensors = iter(flat)
        try:
            return pack(self.spec, iter([_value_of(leaf, tensors) for leaf in self.leaves]))
        except StopIteration:
            # To a loop over a dataset it would be the end of the data.
            raise InternalError(
                None, None, f"An element of {len(flat)} components does not have the structure {self.spec}."
            ) from None

    def components(self):
        """(dtype, shape) of each component."""
        return [component for leaf in self.leaves for component in _components_of(leaf)]

    def has_composites(self):
        """Whether there are leaves whose components cannot be stacked one by one."""
        return any(_composite(leaf) is not None and not hasattr(leaf, "_batch") for leaf in self.leaves)

    def has_leaves_of_several(self):
        """Whether there are leaves of more than one component."""
        return any(len(_components_of(leaf)) > 1 for leaf in self.leaves)

    def with_components(self, components):
        """The same structure of tensors of these dtypes and shapes."""
        if not components:  # the native side knows nothing of elements that have a part without any
            components = [(dtype, TensorShape(None)) for dtype, _ in self.components()]
        given = iter(components)
        leaves = []
        for leaf in self.leaves:
            if isinstance(leaf, NoneTensorSpec):
                leaves.append(leaf)
                continue
            own = [next(given) for _ in _components_of(leaf)]
            leaves.append(_resized(leaf, own))
        return Structure(pack(self.spec, iter(leaves)))

    def flat(self, value):
        """The components of an element that a user gave."""
        found = []
        for leaf, part in zip(self.leaves, flatten_up_to(self.spec, value)):
            if not isinstance(leaf, NoneTensorSpec):
                found.extend(_parts_of_leaf(part))
        return found


def _resized(leaf, components):
    if isinstance(leaf, TensorSpec):
        return TensorSpec(components[0][1], components[0][0])
    return _composite(leaf).resized(leaf, components) if hasattr(_composite(leaf), "resized") else leaf


def _value_of(leaf, tensors):
    if isinstance(leaf, NoneTensorSpec):
        return None
    if isinstance(leaf, TensorSpec):
        return next(tensors)
    kind = _composite(leaf)
    if kind is None:
        return leaf._from_tensor(next(tensors))
    return kind.value(leaf, [next(tensors) for _ in kind.components(leaf)])


def _components_of(leaf):
    if isinstance(leaf, TensorSpec):
        return [(leaf.dtype, leaf.shape)]
    if isinstance(leaf, NoneTensorSpec):
        return []
    kind = _composite(leaf)
    return [leaf._component()] if kind is None else kind.components(leaf)


def _parts_of_leaf(value):
    if isinstance(value, _core.Tensor):
        return [value]
    if hasattr(value, "_core"):
        return [value._core]
    return _composite(value._type_spec).parts(value)


def spec_of(value):
    """The spec of a leaf after normalisation."""
    if value is None:
        return NoneTensorSpec()
    if isinstance(value, _core.Tensor):
        return TensorSpec(value.shape, value.dtype)
    return value._type_spec


def normalize(value):
    """A user's element with its leaves as tensors, datasets or None."""
    return map_structure(_leaf, value)


def _leaf(value):
    if value is None or isinstance(value, (_core.Tensor, CompositeTensor)) or hasattr(value, "_pipeline_leaf"):
        return value
    if isinstance(value, TypeSpec):
        raise TypeError(f"Cannot make a component of an element from {value!r}: it is a spec, not a value.")
    return _core.convert_to_tensor(value)


def structure_of(normalized):
    return Structure(map_structure(spec_of, normalized))


def parts_of(normalized):
    """The flat components of a normalised element, as the native side takes them."""
    return [part for leaf in flatten(normalized) if leaf is not None for part in _parts_of_leaf(leaf)]


def structure_from_types(types, shapes=None):
    """From output_types and output_shapes."""
    if shapes is None:
        shapes = map_structure(lambda dtype: None, types)
    else:
        flat = [as_shape(shape) for shape in flatten_up_to(types, shapes)]
        shapes = pack(types, iter(flat))
    leaves = [TensorSpec(as_shape(s), _core.as_dtype(t)) for t, s in zip(flatten(types), flatten_up_to(types, shapes))]
    return Structure(pack(types, iter(leaves)))
