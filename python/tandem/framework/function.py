"""tf.function: a callable that is traced once per signature, compiled and replayed.

The native base class finds the trace of a call by itself; this class is asked when there is none yet.
"""

import collections
import functools
import itertools
import threading
import weakref

from tandem import _core
from tandem.framework import composites
from tandem.framework.concrete_function import ConcreteFunction
from tandem.framework.function_type import FunctionType, Slot, mark, skeleton, spec_of, with_open_sizes
from tandem.framework.graph import session_graph
from tandem.framework.log import log as _log
from tandem.framework.spec import TensorSpec
from tandem.framework.tracing import Traced, trace_callable  # noqa: F401  (for others)

# TensorFlow's rule: so many traces within so many calls are worth a warning, twice.
_FREQUENT, _HISTORY, _WARNINGS = 5, 10, 2
# Traces that one function keeps; each takes some hundred KB.
_MOST_TRACES = 128


def run_functions_eagerly(run_eagerly):
    """Decorated functions are called as they are instead of being compiled."""
    _core.set_functions_eager(bool(run_eagerly))


def functions_run_eagerly():
    return _core.functions_eager()


class Function(_core.FunctionCache):
    """What tf.function makes of a Python function."""

    def __init__(self, python_function, name, options):
        super().__init__()
        functools.update_wrapper(self, python_function, updated=())
        self._python_function = python_function
        self._name = name or getattr(python_function, "__name__", type(python_function).__name__)
        self._options = options
        self._type = FunctionType(python_function, options["input_signature"])
        self._lock = threading.RLock()
        self._concretes = {}  # skeleton and context → list of (shapes, ConcreteFunction)
        self._recent = collections.OrderedDict()  # id of a concrete function → its key; most recently asked for last
        self._count = 0
        self._first = True
        self._converted = None
        self._traced_at = []  # numbers of calls that were traced
        self._warnings = 0
        self._forgot = False
        self._young = self._held = None
        self._bound = {}  # id of an instance → (weak reference, Function)

    # ---- What it is

    @property
    def python_function(self):
        return self._python_function

    @property
    def name(self):
        return self._name

    @property
    def input_signature(self):
        return self._options["input_signature"]

    @property
    def function_spec(self):
        return self._type

    def experimental_get_tracing_count(self):
        """How often the Python function was traced."""
        return self._count

    def pretty_printed_concrete_signatures(self, verbose=True):
        return "\n\n".join(c.pretty_printed_signature(verbose) for c in self._list_all_concrete_functions())

    @property
    def _concrete_variable_creation_fn(self):
        """The first concrete function, whose graph libraries show; None where nothing was traced."""
        return next(iter(self._list_all_concrete_functions()), None)

    def _list_all_concrete_functions(self):
        return [concrete for same in self._concretes.values() for shapes, concrete in same]

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        """The traces, for who saves them."""
        return {f"trace_{i}": concrete for i, concrete in enumerate(self._list_all_concrete_functions())}

    def experimental_get_compiler_ir(self, *args, **kwargs):
        """The graph as text, before or after optimisation (`stage`)."""
        concrete = self.get_concrete_function(*args, **kwargs)

        def ir(stage="hlo", device_name=None):
            optimized = concrete.compiled.dump_optimized() if stage.startswith("optimized") else ""
            return optimized or concrete.compiled.dump()

        return ir

    def explain(self):
        """What the functions of this object became: passes, steps, lanes, memory, and why."""
        return "\n".join(c.explain() for c in self._list_all_concrete_functions())

    def __repr__(self):
        return f"<tandem.framework.function.Function object at 0x{id(self):x} of {self._python_function!r}>"

    # ---- As a method

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        found = self._bound.get(id(instance))
        if found is not None and found[0]() is instance:
            return found[1]
        return self._bind(instance)

    def _bind(self, instance):
        """The function of one instance: it has traces, and may create variables, of its own."""
        key, bound_functions = id(instance), self._bound
        weak = weakref.ref(instance, lambda _: bound_functions.pop(key, None))
        bound = Function(_BoundMethod(self._python_function, weak), self._name, self._options)
        self._bound[key] = (weak, bound)
        # The instance may be a temporary that only this call uses: it is kept until the first call has run, of one
        # bound function at a time.
        if self._young is not None:
            self._young._held = None
        self._young, bound._held = bound, instance
        return bound

    def __deepcopy__(self, memo):
        return Function(self._python_function, self._name, self._options)

    __copy__ = functools.partialmethod(__deepcopy__, None)

    def __reduce__(self):
        return _decorate, (self._python_function, self._name, self._options)

    # ---- Calls that the native side does not know

    def _call_uncompiled(self, args, kwargs):
        """Run eagerly, or traced into the graph around the call."""
        held, self._held = self._held, None  # noqa: F841  (alive until this returns)
        if functions_run_eagerly():
            return self._python_function(*args, **kwargs)
        if self._type.specs is not None:
            args, kwargs = composites.rebuild(self._type.bind(args, kwargs), _read)
        graph = session_graph()
        if graph is not None and graph._is_innermost:
            from tandem.graph_mode.ops import with_effects

            return with_effects(graph, lambda: composites.rebuild(self._body()(*args, **kwargs), _read_variable))
        # As from a call of the trace: a variable that is returned is read.
        return composites.rebuild(self._body()(*args, **kwargs), _read_variable)

    def _resolve(self, args, kwargs):
        """The trace of a call, as the native side wants it."""
        held, self._held = self._held, None  # noqa: F841  (alive until this returns)
        slots = []
        args, kwargs = self._type.bind(mark(args, slots), mark(kwargs, slots))
        concrete, tensors = self._find(args, kwargs)
        inputs = [t.number if isinstance(t, Slot) else t for t in tensors]
        traced = concrete._traced
        return traced.compiled, inputs, traced.results

    def get_concrete_function(self, *args, **kwargs):
        """The trace for arguments like these, among which a TensorSpec may stand for a tensor."""
        if not args and not kwargs and self._type.specs:
            args, kwargs = self._spec_arguments()
        else:
            args, kwargs = self._type.bind(mark(args, []), mark(kwargs, []))
        return self._find(args, kwargs)[0]

    def _spec_arguments(self):
        bound = self._type.signature.bind_partial()
        for name in self._type.signature.parameters:
            if name in self._type.specs:
                bound.arguments[name] = self._type.specs[name]
        bound.apply_defaults()
        return composites.sorted_dicts(bound.args), composites.sorted_dicts(bound.kwargs)

    def _find(self, args, kwargs):
        """The concrete function for bound arguments, and the tensors among them in its order."""
        tensors = []
        form = (skeleton(args, tensors), skeleton(kwargs, tensors))
        key = (form, _core.scope_key(), _core.trace_context())
        shapes = tuple(spec_of(t).shape for t in tensors)
        with self._lock:
            same = self._concretes.setdefault(key, [])
            found = _most_specific(same, shapes)
            if found is None:
                wanted = with_open_sizes((args, kwargs), self._generalized(same, shapes))
                found = self._trace(args, kwargs, wanted, _known(tensors))
                same.append((tuple(spec.shape for spec in found._traced.inputs), found))
            self._recent[id(found)] = key
            self._recent.move_to_end(id(found))
            if len(self._recent) > _MOST_TRACES:
                self._forget_oldest()
        return found, tensors

    def _forget_oldest(self):
        """Drops the trace that was not asked for longest. Who holds its ConcreteFunction keeps it."""
        oldest, key = self._recent.popitem(last=False)
        same = self._concretes[key]
        same[:] = [entry for entry in same if id(entry[1]) != oldest]
        if not same:
            del self._concretes[key]
        if not self._forgot:
            self._forgot = True
            _log.warning(
                "%r has more than %d traces; those not used for longest are dropped, and traced again when they are "
                "called. Pass tensors of one shape, give an input_signature with open dimensions, or set "
                "reduce_retracing.", self._python_function, _MOST_TRACES,
            )  # fmt: skip

    def _generalized(self, same, shapes):
        """Shapes to trace for: with reduce_retracing, open where they differ from those before."""
        if self._options["reduce_retracing"] and same and self._type.specs is None:
            before = same[-1][0]
            return tuple(a.most_specific_compatible_shape(b) for a, b in zip(before, shapes))
        return shapes

    def _trace(self, args, kwargs, shapes, values=()):
        specs_args, specs_kwargs = self._type.specs_for(args, kwargs)
        remaining = iter(shapes)
        fixed = self._type.specs is not None

        def spec(leaf, path):
            if isinstance(leaf, TensorSpec):
                shape = leaf.shape if fixed else next(remaining, leaf.shape)
                return TensorSpec(shape, leaf.dtype, leaf.name or path or None)
            if isinstance(leaf, (Slot, _core.Tensor)):
                return TensorSpec(next(remaining, spec_of(leaf).shape), spec_of(leaf).dtype, path or None)
            if hasattr(type(leaf), "__tf_tracing_type__"):
                return leaf.__tf_tracing_type__(None).placeholder_value(None)
            return leaf

        names = self._names(specs_args)
        traced_args = tuple(composites.rebuild(value, spec, name) for value, name in zip(specs_args, names))
        traced_kwargs = {key: composites.rebuild(specs_kwargs[key], spec, key) for key in specs_kwargs}
        self._count_trace()
        traced = self._trace_body(traced_args, traced_kwargs, values)
        return ConcreteFunction(traced, traced_args, traced_kwargs, self._type)

    def _names(self, args):
        names = []
        for name, parameter in self._type.signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                names += [f"{name}_{i}" for i in range(len(args) - len(names))]
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(name)
        return names

    def _trace_body(self, args, kwargs, values=()):
        body = self._body()
        if not self._first:
            return trace_callable(body, args, kwargs, self._name, like=self._any_trace())
        # Variables may be created now; what uses them is traced once they are there.
        created = []
        traced = trace_callable(body, args, kwargs, self._name, created, values)
        self._first = False
        if not created:
            return traced
        self._count += 1
        return trace_callable(body, args, kwargs, self._name)

    def _any_trace(self):
        return next((concrete._traced for same in self._concretes.values() for _, concrete in same), None)

    def _body(self):
        """The Python function with its control flow converted."""
        if not self._options["autograph"]:
            return self._python_function
        if self._converted is None:
            from tandem.staging.conversion import convert

            self._converted = convert(self._python_function, self._options["experimental_autograph_options"], given=True)
        return self._converted

    def _count_trace(self):
        self._count += 1
        self._traced_at = [n for n in self._traced_at if n > self._calls - _HISTORY] + [self._calls]
        if len(self._traced_at) < _FREQUENT or self._warnings >= _WARNINGS:
            return
        self._warnings += 1
        _log.warning(
            "%d out of the last %d calls to %r triggered tf.function retracing. Tracing is expensive and the "
            "excessive number of tracings could be due to (1) creating @tf.function repeatedly in a loop, (2) passing "
            "tensors with different shapes, (3) passing Python objects instead of tensors. For (1), please define "
            "your @tf.function outside of the loop. For (2), @tf.function has reduce_retracing=True option that can "
            "avoid unnecessary retracing. For (3), please refer to "
            "https://www.tensorflow.org/guide/function#controlling_retracing and "
            "https://www.tensorflow.org/api_docs/python/tf/function for  more details.",
            len(self._traced_at), min(self._calls, _HISTORY), self._python_function,
        )  # fmt: skip


class _BoundMethod:
    """A method of an instance that it does not keep alive."""

    def __init__(self, function, weak):
        functools.update_wrapper(self, function)
        self._function = function
        self._weak = weak
        self.__signature__ = _without_self(function)

    @property
    def __self__(self):
        instance = self._weak()
        if instance is None:
            raise ReferenceError(f"The object whose method {self._function.__qualname__} is called no longer exists.")
        return instance

    def __call__(self, *args, **kwargs):
        return self._function(self.__self__, *args, **kwargs)

    def _autograph_target(self):
        """What is converted in place of this object: a function, and its first arguments."""
        return self._function, (self.__self__,)

    def __repr__(self):
        return f"<bound method {self._function.__qualname__} of {self._weak()!r}>"


def _without_self(function):
    signature = FunctionType(function).signature
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].kind is not parameters[0].VAR_POSITIONAL:
        parameters = parameters[1:]
    return signature.replace(parameters=parameters)


def _read(leaf, path):
    return _core.convert_to_tensor(leaf.tensor) if isinstance(leaf, Slot) else leaf


def _read_variable(leaf, path):
    return leaf.read_value() if isinstance(leaf, _core.VariableBase) else leaf


def _known(tensors):
    """The values of a call's tensors, up to the first that stands for one."""
    given = [t.tensor if isinstance(t, Slot) else t for t in tensors]
    return tuple(itertools.takewhile(lambda t: isinstance(t, _core.EagerTensor), given))


def _most_specific(candidates, shapes):
    """Of the traces that accept these shapes the one that knows most."""
    best, best_open = None, None
    for traced, concrete in candidates:
        if traced == shapes:
            return concrete
        if all(_accepts(a, b) for a, b in zip(traced, shapes)):
            unknown = sum(1000 if s.rank is None else s.as_list().count(None) for s in traced)
            if best is None or unknown < best_open:
                best, best_open = concrete, unknown
    return best


def _accepts(traced, given):
    if traced.rank is None:
        return True
    if given.rank != traced.rank:
        return False
    return all(a is None or a == b for a, b in zip(traced.as_list(), given.as_list()))


def _decorate(func, name, options):
    return Function(func, name, options)


def function(
    func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False,
    experimental_implements=None, experimental_autograph_options=None, experimental_attributes=None,
    experimental_relax_shapes=None, experimental_compile=None, experimental_follow_type_hints=None,
):  # fmt: skip
    """Compiles a function: it is traced once per signature, and its graph is optimised, planned and replayed."""
    options = {
        "input_signature": input_signature,
        "autograph": autograph,
        "jit_compile": jit_compile,
        "reduce_retracing": bool(reduce_retracing or experimental_relax_shapes),
        "experimental_autograph_options": experimental_autograph_options,
    }

    def decorated(inner):
        if isinstance(inner, (staticmethod, classmethod)):
            raise TypeError("tf.function must be below @staticmethod or @classmethod, not above.")
        if not callable(inner):
            raise TypeError(f"tf.function wraps a callable, not {inner!r}.")
        return Function(inner, None, options)

    return decorated if func is None else decorated(func)
