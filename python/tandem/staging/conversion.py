"""Converting functions and what they call: which ones, how, and errors that point at the user's line."""

import ast
import functools
import importlib.util  # noqa: F401  (the converter uses it without importing it)
import inspect
import logging
import os
import sys
import traceback
import types

from malt.core import ag_ctx, converter
from malt.impl import api as malt_api
from malt.operators import function_wrappers, py_builtins, variables
from malt.pyct import errors as malt_errors
from malt.pyct import origin_info, transpiler

from tandem import _core
from tandem.framework.errors import OpError
from tandem.framework.graph import naming
from tandem.framework.log import log as _log
from tandem.ops import array
from tandem.staging import builtins, conditionals, lists, loops
from tandem.staging.ranges import lazy_range
from tandem.staging.values import filled_count, stages, tensor_of

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

# Code that is written for graphs, or has nothing to do with them.
_LIBRARIES = frozenset(
    {"tandem", "tensorflow", "keras", "tf_keras", "malt", "numpy", "ml_dtypes", "optree", "h5py", "PIL", "matplotlib", "pandas",
     "scipy", "absl", "pytest", "_pytest", "pluggy", "rich", "IPython", "ipykernel"}
)  # fmt: skip
_FEATURES = (converter.Feature.ASSERT_STATEMENTS,)


def _leave_status(self, *_):
    """An interrupt can come right before an inner context is left: what it left behind goes with the outer one."""
    stack = ag_ctx._control_ctx()
    if self in stack:
        del stack[stack.index(self) :]


ag_ctx.ControlStatusCtx.__exit__ = _leave_status


class _Transpiler(malt_api.PyToPy):
    """malt's converter with Tandem's operators behind the name `ag__`."""

    def get_transformed_name(self, node):
        return "tf__" + transpiler.PyToPy.get_transformed_name(self, node)

    def transform_ast(self, node, ctx):
        node = super().transform_ast(_NamedHandlers().visit(node), ctx)
        for call in ast.walk(node):
            # What a `for` goes over is nothing but that: iterated_call() may make it without a tensor.
            if _is_operator(call, "for_stmt") and _is_operator(call.args[0], "converted_call"):
                call.args[0].func.attr = "iterated_call"
        return node

    def get_extra_locals(self):
        return {"ag__": _operators()}


class _NamedHandlers(ast.NodeTransformer):
    """`except E as e:` becomes `except E:` with `e = ag__.current_exception()`: the converter knows names of
    variables, and that of a handler is none to it. As after any assignment, `e` stays when the handler ends."""

    def visit_ExceptHandler(self, node):
        self.generic_visit(node)
        if node.name is None:
            return node
        exception = ast.Call(ast.Attribute(ast.Name("ag__", ast.Load()), "current_exception", ast.Load()), [], [])
        assignment = ast.Assign([ast.Name(node.name, ast.Store())], exception)
        origin_info.copy_origin(node, assignment)
        ast.copy_location(assignment, node)
        ast.fix_missing_locations(assignment)
        node.name = None
        node.body.insert(0, assignment)
        return node


def _is_operator(node, name):
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != name:
        return False
    return isinstance(node.func.value, ast.Name) and node.func.value.id == "ag__"


@functools.cache
def _operators():
    module = types.ModuleType("tandem_autograph_operators")
    for source in (conditionals, loops, lists):
        module.__dict__.update({k: v for k, v in vars(source).items() if not k.startswith("_")})
    module.ConversionOptions = converter.ConversionOptions
    module.Feature = converter.Feature
    module.STD = converter.STANDARD_OPTIONS
    module.FunctionScope = FunctionScope
    module.with_function_scope = _with_function_scope
    module.ld, module.ldu = variables.ld, variables.ldu
    module.Undefined, module.UndefinedReturnValue = variables.Undefined, variables.UndefinedReturnValue
    module.converted_call = converted_call
    module.current_exception = lambda: sys.exc_info()[1]
    module.iterated_call = iterated_call
    module.autograph_artifact = artifact
    return module


class FunctionScope(function_wrappers.FunctionScope):
    """The extent of a converted function."""

    def __enter__(self):
        self._filled = filled_count()
        return super().__enter__()

    def ret(self, value, did_return):
        if filled_count() > self._filled and stages(did_return):
            from tandem.ops.check import Assert

            Assert(did_return, ["The function ended without a return statement being reached."])
        return super().ret(value, did_return)


def _with_function_scope(thunk, scope_name, options):
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)


_transpiler = _Transpiler()


class _ErrorMetadata(malt_api._ErrorMetadata):
    """Where in the user's code an error came from."""

    def create_exception(self, source_error):
        if isinstance(source_error, OpError):
            return type(source_error)(source_error.node_def, source_error.op, self.get_message())
        kind = type(source_error)
        plain = (TypeError.__init__, ValueError.__init__)
        if isinstance(source_error, (TypeError, ValueError)) and kind.__init__ in plain:
            return kind(self.get_message())  # a class of its own that is made of a message
        return super().create_exception(source_error)


def _attach(error, converted):
    if hasattr(error, "ag_pass_through"):
        return
    metadata = getattr(error, "ag_error_metadata", None)
    message = f"{type(error).__name__}: {error}" if metadata is None else None
    # What the operators do inside is not the user's business.
    frames = traceback.extract_tb(sys.exc_info()[2])[1:]
    frames = [f for f in frames if not os.path.realpath(f.filename).startswith(_PACKAGE)]
    try:
        error.ag_error_metadata = _ErrorMetadata(frames, metadata, message, converted.ag_source_map, __file__)
    except AttributeError:
        pass  # an exception without attributes stays as it is


def artifact(entity, extras=None):
    """Marks a function that must not be converted (again)."""
    target = entity.__func__ if inspect.ismethod(entity) else entity
    target.autograph_info__ = extras
    return entity


def is_artifact(entity):
    return hasattr(entity, "autograph_info__")


# Libraries whose functions are converted where one is given to tf.function itself, as in TensorFlow.
_CONVERTED_WHEN_GIVEN = frozenset({"tf_keras"})


def is_library(f, given=False):
    """Whether a callable is run as it is; `given`: it was given to tf.function."""
    if inspect.isclass(f):
        return True
    function = f.__func__ if inspect.ismethod(f) else f
    if not inspect.isfunction(function):
        function = getattr(type(f), "__call__", None)
        if not inspect.isfunction(function):
            return True
    if getattr(function, "autograph_do_not_convert", False) or is_artifact(function):
        return True
    root = (getattr(function, "__module__", None) or "").partition(".")[0]
    if (root in _LIBRARIES and not (given and root in _CONVERTED_WHEN_GIVEN)) or (root in sys.stdlib_module_names and root != "__main__"):
        return True
    code = function.__code__
    return bool(code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)) or (
        code.co_filename == "<string>"
    )


def iterated_call(f, args, kwargs, caller_fn_scope=None, options=None):
    """converted_call() for what a `for` goes over: of tf.range only the bounds are traced."""
    if f is array.range or f is range:
        values = [*args, *(kwargs or {}).values()]
        if not _core.executing_eagerly() and any(stages(tensor_of(v)) for v in values):
            return lazy_range(*args, **(kwargs or {}))
    return converted_call(f, args, kwargs, caller_fn_scope, options)


def converted_call(f, args, kwargs, caller_fn_scope=None, options=None, given=False):
    """Calls f, converted when it is the user's code. Generated code makes every call through this."""
    kwargs = kwargs or {}
    options = caller_fn_scope.callopts if options is None else options
    if isinstance(f, functools.partial):
        merged = {**f.keywords, **kwargs}
        return converted_call(f.func, f.args + tuple(args), merged, caller_fn_scope, options, given)
    if ag_ctx.control_status_ctx().status is ag_ctx.Status.DISABLED or is_artifact(f):
        return f(*args, **kwargs)
    if f in _CONTEXTUAL:
        return _call_in_context(f, args, caller_fn_scope)
    overload = builtins.overload_of(f)
    if overload is not None:
        return overload(*args, **kwargs)
    method = lists.staged_call(f, args)
    if method is not None:
        return method()
    bound = getattr(f, "_autograph_target", None)
    if bound is not None and not inspect.isclass(f):
        function, first = bound()
        return converted_call(function, (*first, *args), kwargs, caller_fn_scope, options, given)
    if not (options.user_requested or options.internal_convert_user_code) or is_library(f, options.user_requested and given):
        if _names_an_op(f, kwargs):
            return naming(f, args, kwargs)
        return f(*args, **kwargs)
    if inspect.ismethod(f):
        target, args = f.__func__, (f.__self__, *args)
    elif inspect.isfunction(f):
        target = f
    else:
        target, args = type(f).__call__, (f, *args)
    converted = _converted(target, options)
    if converted is None:
        return target(*args, **kwargs)
    try:
        return converted(*args, **kwargs)
    except Exception as error:
        _attach(error, converted)
        raise


def _names_an_op(f, kwargs):
    """Of functions of Tandem's that trace several ops, the last has the name."""
    name = kwargs.get("name")
    return bool(name) and isinstance(name, str) and inspect.isfunction(f) and f.__module__.startswith("tandem.")


class _Identities:
    """Membership by identity: what is called need not be hashable or comparable."""

    def __init__(self, *members):
        self._ids = {id(m) for m in members}

    def __contains__(self, value):
        return id(value) in self._ids


_CONTEXTUAL = _Identities(eval, super, globals, locals)


def _call_in_context(f, args, scope):
    if f is eval:
        return py_builtins.eval_in_original_context(f, args, scope)
    if f is super:
        return py_builtins.super_in_original_context(f, args, scope)
    if f is globals:
        return py_builtins.globals_in_original_context(scope)
    return py_builtins.locals_in_original_context(scope)


def _converted(target, options):
    """The converted function, or None when its source cannot be converted, which is said once."""
    try:
        transformed, module, source_map = _transpiler.transform(target, converter.ProgramContext(options=options))
    except Exception as error:  # whatever the user's source makes the converter do
        _say_once(target, error)
        return None
    transformed.ag_module = module
    transformed.ag_source_map = source_map
    _map_lines(module.__file__, source_map)
    return transformed


_mapped = set()


def _map_lines(generated, source_map):
    """Nodes that generated code traces belong to the user's lines."""
    if generated in _mapped:
        return
    _mapped.add(generated)
    lines = {
        at.lineno: (origin.loc.filename, origin.loc.lineno, origin.function_name or "")
        for at, origin in source_map.items()
    }
    _core.add_source_map(generated, lines)


_said = set()


def _say_once(target, error):
    key = getattr(target, "__code__", target)
    if key in _said:
        return
    _said.add(key)
    if isinstance(error, malt_errors.InaccessibleSourceCodeError):
        level = logging.DEBUG  # lambdas in a shell: nothing can be done
    else:
        level = logging.WARNING
    _log.log(
        level,
        "AutoGraph could not transform %r and will run it as-is.\nCause: %s\nTo silence this warning, decorate the "
        "function with @tf.autograph.experimental.do_not_convert",
        target, error,
    )  # fmt: skip


def convert(f, features=None, given=False):
    """A function that runs f converted, whatever module it is from; `given`: f was given to tf.function."""
    if is_artifact(f):
        return f
    if features is None:
        features = _FEATURES
    chosen = tuple(features) if isinstance(features, (list, tuple, set)) else (features,)
    options = converter.ConversionOptions(recursive=True, user_requested=True, optional_features=_supported(chosen))

    @functools.wraps(f, updated=())
    def converted(*args, **kwargs):
        try:
            with ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED, options):
                return converted_call(f, args, kwargs, options=options, given=given)
        except Exception as error:
            if hasattr(error, "ag_error_metadata"):
                raise error.ag_error_metadata.to_exception(error) from error.__cause__
            raise

    return artifact(converted)


def _supported(features):
    """Graphs order effects and name ops themselves: two of the features have nothing to do."""
    idle = {converter.Feature.AUTO_CONTROL_DEPS, converter.Feature.NAME_SCOPES}
    if converter.Feature.ALL in features:
        features = converter.Feature.all_but(list(idle))
    return tuple(f for f in features if f not in idle)


def unconverted(f):
    """A function that runs f, and everything that f calls, as it is."""

    @functools.wraps(f, updated=())
    def as_it_is(*args, **kwargs):
        with ag_ctx.ControlStatusCtx(ag_ctx.Status.DISABLED):
            return f(*args, **kwargs)

    return artifact(as_it_is)
