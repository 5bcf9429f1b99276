"""What every dataset has: its description, the structure of its elements, iteration, options."""

import atexit

from tandem import _core
from tandem.framework.spec import TypeSpec
from tandem.framework.trackable import Trackable
from tandem.pipeline.iterator import NumpyIterator, OwnedIterator
from tandem.pipeline.options import Options
from tandem.pipeline.structure import Structure, common, compatible, map_structure, name_of
from tandem.pipeline.traced import ForLoops, TracedIterator, iterator_of, rebuilt

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
AUTOTUNE = -1

# Iterators that are left when the interpreter ends are taken down while users' functions can still run.
atexit.register(_core.data.shutdown)

_classes = {}


def dataset_class(cls):
    """The class that make() makes objects of."""
    _classes["dataset"] = cls
    return cls


def make(core, structure, kind, options=None):
    """A tf.data.Dataset around a native description."""
    self = object.__new__(_classes["dataset"])
    self._core = core
    self._structure = structure
    self._kind = kind
    self._options = options or Options()
    return self


class BaseDataset(ForLoops, Trackable):
    """A native description (`_core`) and the structure of its elements."""

    _pipeline_leaf = True  # may be a component of an element

    def _like(self, core, kind, structure=None):
        """A dataset that follows this one; without a structure: of the same, with the native side's dtypes "
        "and shapes."""
        if structure is None:
            structure = self._structure.with_components(core.components)
        return make(core, structure, kind, self._options)

    @property
    def element_spec(self):
        return self._structure.spec

    @property
    def _type_spec(self):
        return DatasetSpec(self.element_spec)

    def __iter__(self):
        if _core.executing_eagerly():
            return OwnedIterator(self)
        return TracedIterator(iterator_of(self), self._structure)

    def _traced_iterator(self):
        return iterator_of(self)

    # TensorFlow 1's.
    def make_one_shot_iterator(self):
        from tandem.inside.data.ops.dataset_ops import make_one_shot_iterator

        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name=None):
        from tandem.graph_mode.data import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)

    output_types = property(lambda self: map_structure(lambda s: s.dtype, self.element_spec))
    output_shapes = property(lambda self: map_structure(lambda s: s.shape, self.element_spec))
    output_classes = property(lambda self: map_structure(lambda s: s.value_type, self.element_spec))

    def as_numpy_iterator(self):
        if not _core.executing_eagerly():
            raise RuntimeError("`as_numpy_iterator()` is not supported while tracing functions")
        return NumpyIterator(self)

    def cardinality(self):
        return _core.convert_to_tensor(self._core.cardinality(), dtype=_core.as_dtype("int64"))

    def __len__(self):
        if not _core.executing_eagerly():
            raise TypeError(
                "`tf.data.Dataset` only supports `len` in eager mode. Use `tf.data.Dataset.cardinality()` instead."
            )
        length = self._core.cardinality()
        if length == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if length == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return length

    def __bool__(self):
        return True

    def __repr__(self):
        return f"<{self._kind} element_spec={self.element_spec}>"

    def options(self):
        return self._options

    def with_options(self, options, name=None):
        return make(self._core, self._structure, "_OptionsDataset", self._options.merge(options))

    def apply(self, transformation_func):
        dataset = transformation_func(self)
        if not isinstance(dataset, BaseDataset):
            raise TypeError(
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(dataset)} instead."
            )
        return dataset

    # A dataset as an argument or a result of tf.function.
    def _tf_components(self):
        return [_core.data.dataset_tensor(self._core), name_of(self.element_spec)]

    def _tf_rebuild(self, parts):
        return rebuilt(parts, self._type_spec._from_tensor)


class DatasetSpec(TypeSpec):
    """Specification of a tf.data.Dataset among the components of an element, or as an argument."""

    def __init__(self, element_spec, dataset_shape=()):
        self._element_spec = element_spec
        self._dataset_shape = dataset_shape

    @property
    def element_spec(self):
        return self._element_spec

    @property
    def value_type(self):
        return _classes["dataset"]

    @classmethod
    def from_value(cls, value):
        return cls(value.element_spec)

    def is_compatible_with(self, other):
        spec = other if isinstance(other, DatasetSpec) else getattr(other, "_type_spec", None)
        return isinstance(spec, DatasetSpec) and compatible(self._element_spec, spec._element_spec)

    def most_specific_compatible_type(self, other):
        if not isinstance(other, DatasetSpec):
            self._refuse(other)
        return DatasetSpec(common(self._element_spec, other._element_spec))

    def _component(self):
        return _core.as_dtype("variant"), ()

    def _from_tensor(self, tensor):
        structure = Structure(self._element_spec)
        if isinstance(tensor, _core.EagerTensor):
            core = _core.data.dataset_of(tensor)
        else:
            core = _core.data.traced(tensor, structure.components())
        return make(core, structure, "_VariantDataset")

    def __eq__(self, other):
        return isinstance(other, DatasetSpec) and self._element_spec == other._element_spec

    def __hash__(self):
        return hash(DatasetSpec)

    def __repr__(self):
        return f"DatasetSpec({self._element_spec!r}, TensorShape([]))"
