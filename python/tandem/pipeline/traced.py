"""Datasets and iterators inside traced functions: elements are taken by ops of the graph."""

import math

from tandem import _core
from tandem.framework.shape import TensorShape
from tandem.pipeline import structure as nest


def iterator_of(dataset):
    """A tensor that IteratorNext takes the elements of a dataset from; a fresh one each time the graph runs."""
    core = dataset._core
    return _core.execute("MakeIterator", _core.data.dataset_tensor(core), _core.data.symbolic_tensors(core))


def converting():
    """Whether AutoGraph converts what runs: loops that it knows are loops of the graph then."""
    from malt.core import ag_ctx

    return ag_ctx.control_status_ctx().status is ag_ctx.Status.ENABLED


# Bytes of a component for which memory would be planned before there is an element of that size, if ever there is.
_MOST_PLANNED = 1 << 34


def _shape_in_graph(shape, dtype):
    """The shape as the graph knows it: sizes that no element may ever have are found out when it runs."""
    if shape.rank is None:
        return shape
    sizes = [size for size in shape.as_list() if size]
    large = math.prod(sizes) * max(getattr(dtype, "size", 0) or 0, 1) > _MOST_PLANNED
    return TensorShape([None] * shape.rank) if large else shape


def take(iterator, structure, must):
    """[whether there is another element, component, ...]."""
    components = _core.data.encode_components([(dtype, _shape_in_graph(s, dtype)) for dtype, s in structure.components()])
    return _core.execute("IteratorNext", iterator, components=components, must=must)


def next_element(iterator, structure):
    """The next element; the end is an OutOfRangeError when the graph runs."""
    return structure.element(tuple(take(iterator, structure, True)[1:]))


def traced_reduce(dataset, state, structure, function):
    """Dataset.reduce as a loop of the graph; `structure` is that of the state with shapes that hold in every turn."""
    from tandem.staging.conversion import convert

    iterator, elements = iterator_of(dataset), dataset._structure
    first = take(iterator, elements, False)
    converted, width = convert(function), len(first)

    def turn(values):
        now = converted(structure.element(tuple(values[width:])), elements.element(tuple(values[1:width])))
        return [*take(iterator, elements, False), *nest.parts_of(nest.normalize(now))]

    shapes = [tensor.shape for tensor in first] + [shape for _, shape in structure.components()]
    results = _core.trace_while(lambda values: values[0], turn, [*first, *nest.parts_of(state)], shapes, -1)
    return structure.element(tuple(results[width:]))


class ForLoops:
    """`for` over a dataset or an iterator, as converted functions make it (tandem/staging/loops.py)."""

    def _autograph_for(self, extra_test, body, get_state, set_state, symbol_names, opts):
        from tandem.staging.loops import _over_python

        if _core.executing_eagerly():
            return _over_python(self, extra_test, body, get_state, set_state, symbol_names)
        iterator, structure = self._traced_iterator(), self._structure
        staged_for(lambda: take(iterator, structure, False), lambda parts: body(structure.element(tuple(parts))),
                   extra_test, get_state, set_state, symbol_names, opts)  # fmt: skip


def staged_for(next_parts, body, extra_test, get_state, set_state, symbol_names, opts):
    """A loop of the graph over what next_parts() takes: [whether there is more, parts that body gets, ...]."""
    from tandem.ops import control_flow
    from tandem.staging.loops import _StagedLoop

    def test(extra):
        if extra_test is None:
            return extra[0]
        return control_flow.cond(extra[0], extra_test, lambda: _core.convert_to_tensor(False))

    def turn(extra):
        body(extra[1:])
        return next_parts()

    _StagedLoop(get_state, set_state, symbol_names, opts).run(test, turn, next_parts())


# As many elements as Python may take of an iterator while a function is traced, each with ops of its own.
_MOST_UNROLLED = 32


class Unrolled:
    """Counts the elements that Python takes of an iterator while functions are traced. A dataset of a graph never
    ends there: code that AutoGraph did not convert would go on for ever."""

    def __init__(self):
        self._graph = None
        self._count = 0

    def count(self):
        graph = _core.current_graph()
        if graph is not self._graph:
            self._graph, self._count = graph, 0
        self._count += 1
        if self._count > _MOST_UNROLLED:
            raise ValueError(
                "An unusually high number of `tf.data.Iterator.get_next()` calls was detected. This suggests that the "
                "`for elem in dataset: ...` idiom is used within tf.function with AutoGraph disabled, or where AutoGraph "
                "could not convert it: in a generator, a comprehension, a library or code without a source. This idiom "
                "is only supported when AutoGraph is enabled. Write it as a loop of the function itself, or use "
                "Dataset.map or Dataset.reduce."
            )


class Described:
    """A dataset or an iterator of which a function's arguments hold only a description: something in place of its
    tensor, and what makes the object once that is one."""

    def __init__(self, parts, make):
        self._parts = parts
        self._make = make

    def _tf_components(self):
        return self._parts

    def _tf_rebuild(self, parts):
        return rebuilt(parts, self._make)


def rebuilt(parts, make):
    """What `make` makes of the tensor that is the first of the parts; the second tells structures apart."""
    return make(parts[0]) if isinstance(parts[0], _core.Tensor) else Described(parts, make)


class TracedIterator(ForLoops):
    """An iterator that is a value of a graph."""

    _pipeline_leaf = True

    def __init__(self, tensor, structure):
        self._tensor = tensor
        self._structure = structure
        self._unrolled = Unrolled()

    @property
    def element_spec(self):
        return self._structure.spec

    def _traced_iterator(self):
        return self._tensor

    def __iter__(self):
        return self

    def __next__(self):
        self._unrolled.count()
        return self._staged_next()

    def next(self):
        return self.__next__()

    def get_next(self):
        if not converting():
            self._unrolled.count()
        return self._staged_next()

    def _staged_next(self):
        return next_element(self._tensor, self._structure)

    def get_next_as_optional(self):
        from tandem.pipeline.iterator import next_optional

        return next_optional(self._tensor, self._structure)

    def _tf_components(self):
        return [self._tensor, nest.name_of(self.element_spec)]

    def _tf_rebuild(self, parts):
        return rebuilt(parts, lambda tensor: TracedIterator(tensor, self._structure))
