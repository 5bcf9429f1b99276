"""Users' functions: traced once into a graph that the pipeline runs on its own threads, on the CPU unless the function
says otherwise.
"""

import operator

from tandem import _core
from tandem.framework.device import device
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.graph import FuncGraph
from tandem.pipeline import structure as nest

_debug_mode = False
_MOST_CALLS = 512  # at once: each has a thread


def enable_debug_mode():
    """Functions are called as they are, element by element, and stages run on the thread that asks."""
    global _debug_mode
    _debug_mode = True


def debug_mode():
    return _debug_mode


class ElementFunction:
    """A user's function of elements.

    `native` is what stages take; `structure` the structure of its results.
    """

    def __init__(self, function, structures, kind, unpack=True):
        self._function = function
        self._structures = structures
        self._unpack = unpack
        self._name = f"{kind}_{getattr(function, '__name__', type(function).__name__)}"
        self.structure = None
        graph = FuncGraph(self._name)
        try:
            _core.data.enter_function(graph)
            with device("/device:CPU:0"):
                results = self._trace(graph)
            if not _debug_mode:
                self.native = _core.data.finish_function(graph, results, _described(function, kind))
        finally:
            graph._exit()
        if _debug_mode:
            self.native = _core.data.callable(self._call)

    def _trace(self, graph):
        groups = []
        for structure in self._structures:
            leaves = [
                graph.placeholder(dtype, shape, f"args_{i}") for i, (dtype, shape) in enumerate(structure.components())
            ]
            groups.append(structure.element(tuple(leaves)))
        return self._results(*groups)

    def _results(self, *groups):
        """Calls the function and notes the structure of what it returns."""
        first = groups[0]
        if len(groups) == 1 and self._unpack and type(first) is tuple:
            groups = first
        result = self._converted()(*groups)
        if isinstance(result, list) and any(isinstance(item, _core.Tensor) for item in result):
            result = tuple(result)
        try:
            result = nest.normalize(result)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to {self._name.partition('_')[0]}: {result!r}. {error}"
            ) from error
        self.structure = nest.structure_of(result)
        return nest.parts_of(result)

    def _converted(self):
        """The function with its Python control flow on tensors converted."""
        from tandem.staging.conversion import convert

        return convert(self._function)

    def _call(self, *flat):
        groups, start = [], 0
        for structure in self._structures:
            count = len(structure.components())
            groups.append(structure.element(flat[start : start + count]))
            start += count
        return self._results(*groups)


def _described(function, kind):
    """A function in the words of an error: its name and line, and what it was given to."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    where = f' ("{code.co_filename}", line {code.co_firstlineno})' if code else ""
    return f"{getattr(function, '__name__', type(function).__name__)}{where} passed to {kind}"


def parallelism(num_parallel_calls):
    """TensorFlow's argument as the native side takes it: 0 for none."""
    if num_parallel_calls is None or _debug_mode:
        return 0
    calls = count_of(num_parallel_calls, "num_parallel_calls")
    if calls == 0 or calls < -1:  # -1: tf.data.AUTOTUNE
        raise InvalidArgumentError(
            None, None, f"num_parallel_calls must be greater than zero or tf.data.AUTOTUNE, got {calls}."
        )
    return min(calls, _MOST_CALLS)


def count_of(value, what):
    """One whole number."""
    if isinstance(value, _core.Tensor) and value.dtype.is_integer:
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be one integer, got {value!r}.") from None
