"""What tf.get_variable() does when scopes have said all: finds the variable of a name, or makes it."""

import inspect

from tandem.framework.dtypes import float32
from tandem.framework.shape import as_shape
from tandem.framework.variable import VariableAggregation, VariableSynchronization
from tandem.graph_mode.collections import GraphKeys
from tandem.graph_mode.scopes import AUTO_REUSE, _store, name_scope


def true_getter(
    name, shape=None, dtype=float32, initializer=None, regularizer=None, reuse=None, trainable=True, collections=None,
    caching_device=None, partitioner=None, validate_shape=True, use_resource=None, constraint=None,
    synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
):  # fmt: skip
    store = _store()
    shape = None if shape is None else as_shape(shape)
    found = store.variables.get(name)
    if found is not None:
        return _shared(found, name, shape, dtype, reuse)
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    if initializer is None:
        initializer = _default_initializer(dtype)
    is_value = not callable(initializer)
    if is_value and shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    if not is_value and not inspect.isclass(initializer) and shape is None and _takes_shape(initializer):
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was <unknown>.")
    if shape is not None and not shape.is_fully_defined() and validate_shape:
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was {shape}.")
    made = _variable(
        initial_value=initializer if is_value else _first(initializer, shape, dtype), name=name + "/", dtype=dtype,
        trainable=trainable, collections=collections, validate_shape=validate_shape, constraint=constraint,
        synchronization=synchronization, aggregation=aggregation, use_resource=use_resource,
    )  # fmt: skip
    store.variables[name] = made
    if regularizer is not None:
        with name_scope(name + "/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            from tandem.graph_mode.collections import add_to_collection

            add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def _variable(**options):
    from tandem.inside.ops.variable_v1 import VariableV1

    return VariableV1(**options)


def _shared(found, name, shape, dtype, reuse):
    if reuse is not True and reuse is not AUTO_REUSE:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
            "VarScope?"
        )
    if shape is not None and not shape.is_compatible_with(found.shape):
        raise ValueError(f"Trying to share variable {name}, but specified shape {shape} and found shape {found.shape}.")
    if dtype is not None and dtype is not found.dtype:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {found.dtype.name}."
        )
    return found


def _takes_shape(initializer):
    try:
        return bool(inspect.signature(initializer).parameters)
    except (TypeError, ValueError):
        return True


def _first(initializer, shape, dtype):
    """The initial value as a function of nothing."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if not _takes_shape(initializer):
        return initializer
    parameters = inspect.signature(initializer).parameters
    dims = shape.as_list()
    if "dtype" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return lambda: initializer(dims, dtype=dtype)
    return lambda: initializer(dims)


def _default_initializer(dtype):
    from tandem.inside.ops import init_ops

    if dtype.is_floating:
        return init_ops.GlorotUniform()
    if dtype.is_integer or dtype.name == "bool":
        return init_ops.Zeros(dtype)
    raise ValueError(f"An initializer for variable of {dtype.name} is required")
