"""Iterators over datasets, and tf.experimental.Optional."""

from tandem import _core
from tandem.framework import composites
from tandem.framework.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from tandem.framework.function_type import skeleton
from tandem.framework.spec import TypeSpec
from tandem.framework.trackable import Trackable
from tandem.ops.check import Assert
from tandem.pipeline import structure as nest
from tandem.pipeline.traced import ForLoops, TracedIterator, Unrolled, converting, next_element, rebuilt, take

# Above what a pass can have given: restoring takes the elements again, one by one.
_MOST_TAKEN = 1 << 40


class Iterator:
    """tf.data.Iterator: what isinstance() is asked about."""

    @property
    def element_spec(self):
        raise NotImplementedError

    def get_next(self):
        raise NotImplementedError

    def get_next_as_optional(self):
        raise NotImplementedError


class OwnedIterator(ForLoops, Iterator, Trackable):
    """One pass over a dataset; its threads end when it is no longer used."""

    _pipeline_leaf = True

    def __init__(self, dataset):
        self._dataset = dataset
        self._structure = dataset._structure
        self._native = _core.data.Iterator(dataset._core)
        self._tensor = None
        self._unrolled = Unrolled()

    @property
    def element_spec(self):
        return self._structure.spec

    @property
    def _type_spec(self):
        return IteratorSpec(self.element_spec)

    def _close(self):
        """Ends the pass: its workers have ended when it returns."""
        self._native.close()

    def __iter__(self):
        return self

    def __next__(self):
        if not _core.executing_eagerly():
            self._unrolled.count()
            return self._staged_next()
        flat = self._native.next()
        if flat is None:
            raise StopIteration
        return self._structure.element(flat)

    def _staged_next(self):
        return next_element(self._traced_iterator(), self._structure)

    def _traced_iterator(self):
        if self._tensor is None:
            self._tensor = self._native.tensor()
        return self._tensor

    # An iterator as an argument of tf.function.
    def _tf_components(self):
        return [self._traced_iterator(), nest.name_of(self.element_spec)]

    def _tf_rebuild(self, parts):
        return rebuilt(parts, lambda tensor: TracedIterator(tensor, self._structure))

    # In a checkpoint: how many elements were taken, which are passed over when it is restored, and how they were
    # shuffled.
    def _serialize_to_tensors(self):
        return {"ITERATOR_STATE": _core.convert_to_tensor(self._native.state(), "int64")}

    def _restore_from_tensors(self, restored_tensors):
        state = restored_tensors["ITERATOR_STATE"]
        is_state = state.dtype == _core.as_dtype("int64") and state.shape.rank == 1 and state.shape[0]
        if not is_state or not 0 <= state.numpy()[0] <= _MOST_TAKEN:
            raise DataLossError(None, None, f"{state} is no state of an iterator: the checkpoint is damaged.")
        self._native.restore(state.numpy().tolist())

    def next(self):
        return self.__next__()

    def get_next(self):
        if not _core.executing_eagerly():
            if not converting():
                self._unrolled.count()
            return self._staged_next()
        flat = self._native.next()
        if flat is None:
            raise OutOfRangeError(None, None, "End of sequence [Op:IteratorGetNext]")
        return self._structure.element(flat)

    def get_next_as_optional(self):
        if not _core.executing_eagerly():
            return next_optional(self._traced_iterator(), self._structure)
        flat = self._native.next()
        if flat is None:
            return Optional.empty(self.element_spec)
        return Optional(self._structure, _core.convert_to_tensor(True), list(flat))

    def __repr__(self):
        return f"<{type(self).__module__}.OwnedIterator object at {id(self):#x}>"


class NumpyIterator:
    """Elements with NumPy arrays in place of tensors."""

    __slots__ = ("_iterator",)

    def __init__(self, dataset):
        for leaf in dataset._structure.leaves:
            if not isinstance(leaf, nest.TypeSpec):
                raise TypeError(
                    f"`as_numpy_iterator()` is not supported for datasets that produce values of type {leaf}"
                )
        self._iterator = OwnedIterator(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        return nest.map_structure(_to_numpy, next(self._iterator))

    def next(self):
        return self.__next__()


def _to_numpy(value):
    if value is None:
        return None
    if hasattr(value, "as_numpy_iterator"):
        return value.as_numpy_iterator()
    # Ragged ones become ragged values, sparse ones stay what they are.
    return value.numpy() if isinstance(value, _core.Tensor) else getattr(value, "to_list", lambda: value)()


class Optional:
    """A value that may be absent: whether it is there, and its components. A function's argument or result, and what
    loops and branches carry, like other values of several tensors."""

    _pipeline_leaf = True

    def __init__(self, structure, present, components):
        self._structure = structure
        self._present = present
        self._components = components

    @staticmethod
    def from_value(value):
        value = nest.normalize(value)
        return Optional(nest.structure_of(value), _core.convert_to_tensor(True), nest.parts_of(value))

    @staticmethod
    def empty(element_spec):
        structure = nest.Structure(element_spec)
        nothing = [_nothing(dtype, shape) for dtype, shape in structure.components()]
        return Optional(structure, _core.convert_to_tensor(False), nothing)

    @property
    def element_spec(self):
        return self._structure.spec

    @property
    def _type_spec(self):
        return OptionalSpec(self.element_spec)

    def has_value(self, name=None):
        return self._present

    def get_value(self, name=None):
        problem = "The given optional does not have a value. [Op:OptionalGetValue]"
        if self._present._symbolic:
            Assert(self._present, [problem])
        elif not self._present:
            raise InvalidArgumentError(None, None, problem)
        return self._structure.element(tuple(self._components))

    def _tf_components(self):
        return [self._present, *self._components]

    def _tf_rebuild(self, parts):
        present, *components = parts
        structure = self._structure
        # A function may be traced for more shapes than this one has.
        if isinstance(present, _core.Tensor) and not all(
            shape.is_subtype_of(own) for (_, own), shape in zip(structure.components(), (c.shape for c in components))
        ):
            structure = structure.with_components([(c.dtype, c.shape) for c in components])
        return Optional(structure, present, components)

    def _tf_key(self):
        return _key_of(self._structure)


def _key_of(structure):
    """What tells structures apart besides the dtypes and shapes of their components."""
    return skeleton(nest.map_structure(composites.kind_of, structure.spec), None)


def _nothing(dtype, shape):
    """A component where there is no value: nobody reads it."""
    sizes = [0 if size is None else size for size in shape.as_list()] if shape.rank is not None else [0]
    return _core.execute("Fill", sizes, _core.convert_to_tensor("" if dtype == _core.as_dtype("string") else 0, dtype))


class _OneElementSpec(TypeSpec):
    def __init__(self, element_spec):
        self._element_spec = element_spec

    @property
    def element_spec(self):
        return self._element_spec

    @classmethod
    def from_value(cls, value):
        return cls(value.element_spec)

    def is_compatible_with(self, other):
        spec = other if isinstance(other, TypeSpec) else getattr(other, "_type_spec", None)
        return self == spec

    def __eq__(self, other):
        return type(self) is type(other) and self._element_spec == other._element_spec

    def __hash__(self):
        return hash(type(self))

    def __repr__(self):
        return f"{type(self).__name__}({self._element_spec!r},)"


class OptionalSpec(_OneElementSpec):
    """Specification of tf.experimental.Optional."""

    value_type = Optional

    def _tf_components(self):
        parts = [nest.TensorSpec(shape, dtype) for dtype, shape in nest.Structure(self._element_spec).components()]
        return [nest.TensorSpec([], "bool"), *parts]

    def _tf_rebuild(self, parts):
        return Optional(nest.Structure(self._element_spec), parts[0], list(parts[1:]))

    def _tf_key(self):
        return _key_of(nest.Structure(self._element_spec))

    def _tf_accepts(self, value):
        return (
            isinstance(value, Optional)
            and value._tf_key() == self._tf_key()
            and all(
                own.is_compatible_with(given)
                for own, given in zip(nest.flatten(self._element_spec), value._structure.leaves)
            )
        )


class IteratorSpec(_OneElementSpec):
    """Specification of an iterator over a dataset."""

    value_type = Iterator


def next_optional(iterator, structure):
    """The next element of an iterator that is a value of a graph, if there is one."""
    present, *components = take(iterator, structure, False)
    return Optional(structure, present, components)


def get_next_as_optional(iterator):
    return iterator.get_next_as_optional()
