"""Iterators over datasets in graphs: get_next() gives tensors, and every run that needs them takes an element."""

from tandem import _core
from tandem.framework.errors import FailedPreconditionError, OutOfRangeError
from tandem.graph_mode import graph as graphs, ops
from tandem.graph_mode.deferred import Deferred
from tandem.pipeline.iterator import Iterator, OwnedIterator


def _flat_specs(dataset):
    """(dtype, shape) of each tensor of an element, as the native iterator gives them."""
    return list(dataset._structure.components())


class GraphIterator(Iterator):
    """An iterator of a session's graph. `dataset`: what it goes over; an initializer may say so later."""

    def __init__(self, dataset, ready, structure=None):
        self._dataset, self._ready = dataset, ready
        self._structure = structure if structure is not None else dataset._structure
        self._specs = _flat_specs(dataset)
        self._initializer = None

    # ---- Making

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
        from tandem.graph_mode.data_specs import of_types

        return GraphIterator(of_types(output_types, output_shapes), False)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
        raise NotImplementedError("Iterators are not chosen by a string in Tandem: use one iterator with "
                                  "Iterator.from_structure() and make_initializer() for each dataset.")

    def string_handle(self, name=None):
        self.from_string_handle(None, None)

    @property
    def initializer(self):
        """The operation that begins again; feeds of the datasets' placeholders belong to its run."""
        if self._initializer is None:
            if self._ready:
                raise ValueError("The iterator does not have an initializer. It was created with make_one_shot_iterator().")
            self._initializer = self.make_initializer(self._dataset)
        return self._initializer

    def make_initializer(self, dataset, name=None):
        def begin(session, feed_dict):
            session._state[self] = _begun(dataset, session, feed_dict)

        return ops.effect(name or "MakeIterator", begin)

    # ---- Taking

    element_spec = property(lambda self: self._structure.spec)

    def _map_spec(self, function):
        from tandem.pipeline import structure

        return structure.map_structure(function, self.element_spec)

    output_types = property(lambda self: self._map_spec(lambda s: s.dtype))
    output_shapes = property(lambda self: self._map_spec(lambda s: s.shape))
    output_classes = property(lambda self: self._map_spec(lambda s: s.value_type))

    def get_next(self, name=None):
        name = name or "IteratorGetNext"
        if graphs.current() is None:
            raise RuntimeError("The iterator belongs to a graph; take its elements with Session.run().")

        def take(session):
            return self._take(session)

        parts = [ops.source(dtype, shape, name, (take, i)) for i, (dtype, shape) in enumerate(self._specs)]
        return self._structure.element(parts)

    def _take(self, session):
        running = session._state.get(self)
        if running is None:
            if not self._ready:
                raise FailedPreconditionError(
                    None, None, "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
                    "initializer operation for this iterator before getting the next element."
                )  # fmt: skip
            running = session._state[self] = _begun(self._dataset, session, None)
        with _core.init_scope():
            flat = running._native.next()
        if flat is None:
            raise OutOfRangeError(None, None, "End of sequence\n\t [[{{node IteratorGetNext}}]]")
        return flat


def _begun(dataset, session, feed_dict):
    with _core.init_scope():
        if isinstance(dataset, Deferred):
            dataset = dataset._real(session, feed_dict)
        return OwnedIterator(dataset)


def make_one_shot_iterator(dataset):
    if graphs.current() is None:
        return iter(dataset)
    if isinstance(dataset, Deferred):
        raise ValueError("A dataset of placeholders needs an iterator with an initializer: make_initializable_iterator().")
    return GraphIterator(dataset, True)


def make_initializable_iterator(dataset, shared_name=None):
    if graphs.current() is None:
        raise RuntimeError("dataset.make_initializable_iterator is not supported when eager execution is enabled. Use "
                           "`for element in dataset` instead.")
    return GraphIterator(dataset, False)
