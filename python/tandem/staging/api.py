"""tf.autograph: what users call."""

import inspect
import os
import textwrap

from tandem.staging import conversion

Feature = conversion.converter.Feature
set_loop_options = conversion.malt_api.directives.directives.set_loop_options


def do_not_convert(func=None):
    """The function, and what it calls, runs as it is written."""
    if func is None:
        return do_not_convert
    return conversion.unconverted(func)


def to_graph(entity, recursive=True, experimental_optional_features=None):
    """The converted function."""
    features = conversion._FEATURES if experimental_optional_features is None else experimental_optional_features
    features = features if isinstance(features, (list, tuple, set)) else (features,)
    options = conversion.converter.ConversionOptions(
        recursive=recursive, user_requested=True, optional_features=conversion._supported(tuple(features))
    )
    entity = getattr(entity, "python_function", entity)
    target = entity.__func__ if inspect.ismethod(entity) else entity
    if not hasattr(target, "__code__"):
        raise ValueError(
            "Cannot apply autograph to a function that doesn't expose a __code__ object. If this is a @tf.function, "
            "try passing f.python_function instead."
        )
    context = conversion.converter.ProgramContext(options=options)
    transformed, module, source_map = conversion._transpiler.transform(target, context)
    transformed.ag_module = module
    transformed.ag_source_map = source_map
    return conversion.artifact(transformed)


def to_code(entity, recursive=True, experimental_optional_features=None):
    """The source of the converted function."""
    return textwrap.dedent(inspect.getsource(to_graph(entity, recursive, experimental_optional_features)))


def tf_convert(f, ctx, convert_by_default=True, user_requested=False):
    """Converts f where the status around it says so."""
    status = conversion.ag_ctx.Status
    if ctx.status is status.ENABLED or (ctx.status is status.UNSPECIFIED and convert_by_default):
        return conversion.convert(f)
    return conversion.unconverted(f) if ctx.status is status.DISABLED else f


def control_status_ctx():
    return conversion.ag_ctx.control_status_ctx()


_verbosity = int(os.environ.get("AUTOGRAPH_VERBOSITY", "0"))


def set_verbosity(level, alsologtostdout=False):
    """How much is said about conversion; 0: nothing."""
    global _verbosity
    _verbosity = int(level)
    from malt.utils import ag_logging

    ag_logging.set_verbosity(level, alsologtostdout)


def trace(*args):
    """Prints while tracing."""
    print(*args)
