"""Datasets and iterators inside traced functions: elements are taken by ops of the graph."""

from tandem import _core
from tandem.pipeline import structure as nest


def iterator_of(dataset):
    """A tensor that IteratorNext takes the elements of a dataset from; a fresh one each time the graph runs."""
    core = dataset._core
    return _core.execute("MakeIterator", _core.data.dataset_tensor(core), _core.data.symbolic_tensors(core))


def take(iterator, structure, must):
    """[whether there is another element, component, ...]."""
    components = _core.data.encode_components(structure.components())
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
        from tandem.ops import control_flow
        from tandem.staging.loops import _StagedLoop, _over_python

        if _core.executing_eagerly():
            return _over_python(self, extra_test, body, get_state, set_state, symbol_names)
        iterator, structure = self._traced_iterator(), self._structure

        def test(extra):
            if extra_test is None:
                return extra[0]
            return control_flow.cond(extra[0], extra_test, lambda: _core.convert_to_tensor(False))

        def turn(extra):
            body(structure.element(tuple(extra[1:])))
            return take(iterator, structure, False)

        _StagedLoop(get_state, set_state, symbol_names, opts).run(test, turn, take(iterator, structure, False))


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

    @property
    def element_spec(self):
        return self._structure.spec

    def _traced_iterator(self):
        return self._tensor

    def __iter__(self):
        return self

    def __next__(self):
        return self.get_next()

    next = __next__

    def get_next(self):
        return next_element(self._tensor, self._structure)

    def get_next_as_optional(self):
        from tandem.pipeline.iterator import next_optional

        return next_optional(self._tensor, self._structure)

    def _tf_components(self):
        return [self._tensor, repr(self.element_spec)]

    def _tf_rebuild(self, parts):
        return rebuilt(parts, lambda tensor: TracedIterator(tensor, self._structure))
