"""Dispatchers that are asked about every public function: Keras 2 builds models of calls of tf functions with them.

Nothing of this is there before a library registers one. Then each public function that takes tensors, when it is looked
up, asks them about a call that it refuses with TypeError or ValueError: the outermost function of the call alone,
as what it calls is not what the program named.
"""

import sys
import threading
import types

from tandem import _namespaces, _tables

NOT_SUPPORTED = object()
_dispatchers = []
_of_one = {}  # id of a function → (the function, those that are asked about it alone)
_originals = {}  # id of a public function that asks → (the function, what it does by itself)
_public_names = {}  # id of a public function → its public name
_thread = threading.local()

# Functions that TensorFlow does not dispatch: they take no tensors, or call functions of the program.
_SPACES = ("autograph.", "compat.", "config.", "data.", "distribute.", "experimental.", "feature_column.", "initializers.",
           "io.gfile.", "keras.", "losses.", "metrics.", "mlir.", "nest.", "optimizers.", "profiler.", "quantization.",
           "raw_ops.", "saved_model.", "summary.", "sysconfig.", "test.", "tpu.", "train.", "types.", "version.",
           "xla.", "__internal__.")  # fmt: skip
_NAMES = frozenset("""
as_dtype constant control_dependencies custom_gradient device dtypes.as_dtype executing_eagerly function
get_current_name_scope get_logger get_static_value grad_pass_through gradients graph_util.import_graph_def group
guarantee_const hessians import_graph_def init_scope inside_function is_symbolic_tensor is_tensor load_library
load_op_library make_ndarray make_tensor_proto map_fn name_scope no_gradient nondifferentiable_batch_function
random.create_rng_state random.experimental.create_rng_state random.experimental.get_global_generator
random.experimental.set_global_generator random.get_global_generator random.set_global_generator random.set_seed
recompute_grad register_tensor_conversion_function required_space_to_batch_paddings switch_case type_spec_from_value
variable_creator_scope vectorized_map while_loop install_as_tensorflow numpy_function py_function
sparse.add sparse.concat sparse.cross sparse.cross_hashed sparse.expand_dims sparse.eye sparse.fill_empty_rows
sparse.from_dense sparse.mask sparse.maximum sparse.minimum sparse.reduce_max sparse.reduce_sum sparse.reorder
sparse.reset_shape sparse.retain sparse.segment_mean sparse.segment_sqrt_n sparse.segment_sum sparse.slice
sparse.softmax sparse.sparse_dense_matmul sparse.split sparse.to_dense sparse.to_indicator sparse.transpose
debugging.disable_check_numerics debugging.disable_traceback_filtering debugging.enable_check_numerics
debugging.enable_traceback_filtering debugging.get_log_device_placement debugging.is_numeric_tensor
debugging.is_traceback_filtering_enabled debugging.set_log_device_placement
""".split())  # fmt: skip


def register(dispatcher):
    """`dispatcher(op, args, kwargs)` gives a result or NOT_SUPPORTED."""
    _dispatchers.append(dispatcher)
    if _namespaces.looked_up is None:
        _namespaces.looked_up = asking
        _ask_in_loaded()


def register_for(op, handle):
    """`handle(args, kwargs)` is asked about one function of Tandem's, or one class method, before all others."""
    function = getattr(op, "__func__", op)
    _of_one.setdefault(id(function), (function, []))[1].append(handle)
    if function is not op and id(function) not in _code_of:
        _install(function)


def dispatch(op, args, kwargs):
    for handle in _of_one.get(id(op), (None, ()))[1]:
        result = handle(args, kwargs)
        if result is not NOT_SUPPORTED:
            return result
    for dispatcher in _dispatchers:
        result = dispatcher(op, args, kwargs)
        if result is not NOT_SUPPORTED:
            return result
    return NOT_SUPPORTED


def public_name(function):
    """The public name under which a function that asks was looked up, or None."""
    found = _public_names.get(id(function))
    return _canonical(found[1]) if found is not None else None


def _canonical(full):
    """Of several public names of a function the one that TensorFlow calls it by: math.abs for abs."""
    where, name, _ = _tables.public().get(full, ("", "", ""))
    aliases = _tables.publics_of(where, name)
    leaf = full.rpartition(".")[2]
    for space in ("math.", "linalg."):
        if leaf in aliases and space + leaf in aliases:
            return space + leaf
    return full


def _ask_in_loaded():
    """Those that were looked up before."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, _namespaces.Namespace):
            prefix = name.removeprefix(_namespaces.ROOT + ".") + "."
        elif name == _namespaces.ROOT:
            prefix = ""
        else:
            continue
        for leaf, value in list(vars(module).items()):
            if prefix + leaf in _namespaces.NAMES:
                setattr(module, leaf, asking(value, prefix + leaf))


def asking(value, full):
    """The public function, which asks the dispatchers from now on; any other value as it is."""
    if not _is_dispatched(value, full):
        return value
    if id(value) in _originals:
        return _originals[id(value)][0]
    function = value
    _public_names[id(function)] = function, full
    if isinstance(value, types.FunctionType) and not value.__code__.co_freevars:
        _install(function)
    else:
        function = _wrapper(value)
        _public_names[id(function)] = function, full
    _originals[id(value)] = function, value
    return function


def _is_dispatched(value, full):
    if full in _NAMES or full.startswith(_SPACES) or isinstance(value, type) or not callable(value):
        return False
    return isinstance(value, types.FunctionType) or type(value).__name__ in ("nb_func", "builtin_function_or_method")


def _wrapper(original):
    """A function in place of one whose code cannot be replaced."""
    import functools

    @functools.wraps(original)
    def asked(*args, **kwargs):
        return _call(asked, original, args, kwargs)

    return asked


def _install(function):
    """The function keeps its identity; its code becomes a call of `_run`."""
    import inspect

    original = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__
    original.__module__, original.__qualname__ = function.__module__, function.__qualname__
    signature = inspect.signature(function)
    scope = {}
    text = f"def asked(*args, **kwargs):\n    return __tandem_ask__({id(function)}, args, kwargs)"
    exec(text, {}, scope)  # noqa: S102  (a fixed text: the code of a function without a closure)
    _code_of[id(function)] = function, original
    function.__globals__["__tandem_ask__"] = _run
    function.__signature__ = signature
    function.__code__ = scope["asked"].__code__.replace(
        co_name=function.__name__, co_filename=original.__code__.co_filename
    )
    function.__defaults__ = function.__kwdefaults__ = None


_code_of = {}


def _run(number, args, kwargs):
    function, original = _code_of[number]
    return _call(function, original, args, kwargs)


def _call(function, original, args, kwargs):
    if getattr(_thread, "inside", False):
        return original(*args, **kwargs)
    _thread.inside = True
    try:
        return original(*args, **kwargs)
    except (TypeError, ValueError):
        _thread.inside = False
        result = dispatch(function, args, kwargs)
        if result is NOT_SUPPORTED:
            raise
        return result
    finally:
        _thread.inside = False
