"""Iterators over datasets, and tf.experimental.Optional."""

from tandem import _core
from tandem.framework.errors import OutOfRangeError
from tandem.framework.spec import TypeSpec
from tandem.framework.trackable import Trackable
from tandem.pipeline import structure as nest
from tandem.pipeline.traced import ForLoops, TracedIterator, next_element, rebuilt


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

    @property
    def element_spec(self):
        return self._structure.spec

    @property
    def _type_spec(self):
        return IteratorSpec(self.element_spec)

    def __iter__(self):
        return self

    def __next__(self):
        if not _core.executing_eagerly():
            return next_element(self._traced_iterator(), self._structure)
        flat = self._native.next()
        if flat is None:
            raise StopIteration
        return self._structure.element(flat)

    def _traced_iterator(self):
        if self._tensor is None:
            self._tensor = self._native.tensor()
        return self._tensor

    # An iterator as an argument of tf.function.
    def _tf_components(self):
        return [self._traced_iterator(), repr(self.element_spec)]

    def _tf_rebuild(self, parts):
        return rebuilt(parts, lambda tensor: TracedIterator(tensor, self._structure))

    # In a checkpoint: how many elements were taken, which are passed over when it is restored, and how they were
    # shuffled.
    def _serialize_to_tensors(self):
        return {"ITERATOR_STATE": _core.convert_to_tensor(self._native.state(), "int64")}

    def _restore_from_tensors(self, restored_tensors):
        self._native.restore(restored_tensors["ITERATOR_STATE"].numpy().tolist())

    def next(self):
        return self.__next__()

    def get_next(self):
        if not _core.executing_eagerly():
            return self.__next__()
        flat = self._native.next()
        if flat is None:
            raise OutOfRangeError(None, None, "End of sequence [Op:IteratorGetNext]")
        return self._structure.element(flat)

    def get_next_as_optional(self):
        flat = self._native.next()
        if flat is None:
            return Optional.empty(self.element_spec)
        return Optional(self._structure, self._structure.element(flat))

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
    """A value that may be absent."""

    def __init__(self, structure, value=None, present=True):
        self._structure = structure
        self._value = value
        self._present = present

    @staticmethod
    def from_value(value):
        value = nest.normalize(value)
        return Optional(nest.structure_of(value), value)

    @staticmethod
    def empty(element_spec):
        return Optional(nest.Structure(element_spec), present=False)

    @property
    def element_spec(self):
        return self._structure.spec

    @property
    def _type_spec(self):
        return OptionalSpec(self.element_spec)

    def has_value(self, name=None):
        return _core.convert_to_tensor(self._present)

    def get_value(self, name=None):
        if not self._present:
            from tandem.framework.errors import InvalidArgumentError

            raise InvalidArgumentError(None, None, "The given optional does not have a value. [Op:OptionalGetValue]")
        return self._value


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


class IteratorSpec(_OneElementSpec):
    """Specification of an iterator over a dataset."""

    value_type = Iterator


def get_next_as_optional(iterator):
    return iterator.get_next_as_optional()
