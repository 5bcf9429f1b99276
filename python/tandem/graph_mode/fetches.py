"""What Session.run() is asked for: a nest of tensors, operations, variables and names, taken apart and put together."""

from tandem import _core
from tandem.framework.indexed_slices import IndexedSlices
from tandem.graph_mode.operation import Operation


class Fetches:
    """Taken apart: the places of `tensors` to compute, the `operations` to run, and how the answer is put together."""

    def __init__(self, graph, fetches):
        self.graph = graph
        self.places, self.operations = [], []
        self._numbers = {}
        self.late = []  # variables that are references: what they are in the end
        self.has_values = False
        self.kept = []  # what the answer is found by stays alive
        self.build = self._builder(fetches)

    def _builder(self, fetch):
        """A function from the list of values to the answer for this part."""
        self.kept.append(fetch)
        kind = type(fetch)
        if fetch is None:
            raise TypeError("Argument `fetch` = None has invalid type 'NoneType'. Cannot be None")
        if isinstance(fetch, (list, tuple)):
            return _sequence(kind, [self._builder(part) for part in fetch])
        if isinstance(fetch, dict) or (hasattr(fetch, "keys") and hasattr(fetch, "__getitem__")):
            keys = list(fetch.keys())
            parts = [self._builder(fetch[key]) for key in keys]
            return _mapping(dict if kind is dict else kind, keys, parts)
        composite = _composite(fetch)
        if composite is not None:
            make, parts = composite
            return _made(make, [self._part(part) for part in parts])
        return self._leaf(fetch)

    def _part(self, part):
        """A tensor of a composite one, which may have been made of values."""
        if isinstance(part, _core.Tensor) and not part._symbolic:
            self.has_values = True
            return lambda values: part.numpy()
        return self._builder(part)

    def _leaf(self, fetch):
        try:
            element = self.graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Argument `fetch` = {fetch} has invalid type \"{type(fetch).__name__}\" must be a string or Tensor. "
                f"({error})"
            ) from None
        except ValueError as error:
            raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})") from None
        except KeyError as error:
            raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})") from None
        if isinstance(element, Operation):
            self.operations.append(element._node)
            return lambda values: None
        place = _core.place_of(element)
        if getattr(fetch, "_is_reference", False):
            self.late.append(place[0])
        number = self._numbers.setdefault(place, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return lambda values: values[number]


def _sequence(kind, parts):
    if kind is list:
        return lambda values: [part(values) for part in parts]
    if hasattr(kind, "_fields"):
        return lambda values: kind(*[part(values) for part in parts])
    return lambda values: kind([part(values) for part in parts])


def _mapping(kind, keys, parts):
    def build(values):
        answer = kind()
        for key, part in zip(keys, parts):
            answer[key] = part(values)
        return answer

    if hasattr(kind, "__attrs_attrs__"):
        return lambda values: kind(*[part(values) for part in parts])
    return build


def _made(make, parts):
    return lambda values: make(*[part(values) for part in parts])


def _composite(value):
    """(what makes the answer, tensors) of sparse and ragged tensors and slices; None of anything else."""
    from tandem.framework.ragged import RaggedTensor
    from tandem.framework.sparse import SparseTensor
    from tandem.graph_mode import values

    if isinstance(value, SparseTensor):
        return values.SparseTensorValue, [value.indices, value.values, value.dense_shape]
    if isinstance(value, IndexedSlices):
        if value.dense_shape is None:
            return values.slices_value, [value.values, value.indices]
        return values.IndexedSlicesValue, [value.values, value.indices, value.dense_shape]
    if isinstance(value, RaggedTensor):
        return values.ragged_value, [value.flat_values, *value.nested_row_splits]
    return None


def key_of(fetches, out):
    """Appends what identifies a fetch to `out`."""
    kind = type(fetches)
    if kind is list or kind is tuple:
        out.append(kind)
        for part in fetches:
            key_of(part, out)
        out.append(None)
    elif kind is dict:
        out.append(dict)
        for key, part in fetches.items():
            out.append(key)
            key_of(part, out)
        out.append(None)
    elif kind is str:
        out.append(fetches)
    else:
        out.append(id(fetches))
