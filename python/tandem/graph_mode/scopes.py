"""tf.variable_scope, tf.get_variable and tf.name_scope of TensorFlow 1."""

import contextlib
import enum

from tandem import _core
from tandem.framework import graph as framework
from tandem.framework.dtypes import float32
from tandem.framework.variable import VariableAggregation, VariableSynchronization
from tandem.graph_mode import graph as graphs
from tandem.graph_mode.collections import GraphKeys


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE


class name_scope(framework.name_scope):  # noqa: N801
    """Names of operations begin with it. Without a name it is `default_name`; without both, nothing."""

    def __init__(self, name, default_name=None, values=None):
        chosen = default_name if name is None else name
        if chosen is not None and not isinstance(chosen, str):
            raise TypeError("`default_name` type (%s) is not a string type. You likely meant to pass this into the "
                            "`values` kwarg." % type(chosen))
        if values is not None and chosen is None:
            raise ValueError("At least one of name (None) and default_name (None) must be provided.")
        super().__init__("" if chosen is None else chosen)


_KEPT = ("initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype", "use_resource",
         "constraint")  # fmt: skip


class VariableScope:
    """The defaults of get_variable() in a block, and what the names of its variables begin with."""

    def __init__(self, reuse=False, name="", name_scope="", original_name_scope="", **kept):
        self._reuse, self._name, self._name_scope = reuse, name, name_scope
        self._original_name_scope = original_name_scope or name_scope
        for key in _KEPT:
            setattr(self, "_" + key, kept.get(key))
        self._dtype = self._dtype or float32

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._original_name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    dtype = property(lambda self: self._dtype)
    use_resource = property(lambda self: self._use_resource)
    regularizer = property(lambda self: self._regularizer)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    constraint = property(lambda self: self._constraint)

    def reuse_variables(self):
        self._reuse = True

    def set_initializer(self, initializer):
        self._initializer = initializer

    def set_dtype(self, dtype):
        self._dtype = _core.as_dtype(dtype)

    def set_use_resource(self, use_resource):
        self._use_resource = use_resource

    def set_regularizer(self, regularizer):
        self._regularizer = regularizer

    def set_caching_device(self, caching_device):
        self._caching_device = caching_device

    def set_partitioner(self, partitioner):
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        self._custom_getter = custom_getter

    def get_collection(self, name):
        from tandem.graph_mode.collections import get_collection

        return get_collection(name, self._name + "/" if self._name else None)

    def trainable_variables(self):
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def _kept(self):
        return {key: getattr(self, "_" + key) for key in _KEPT}

    def get_variable(self, var_store, name, shape=None, dtype=None, **options):
        return _get_in(self, name, shape, dtype, **options)


class _Store:
    """The variables that get_variable() has made in a graph, and the scopes that are open."""

    def __init__(self):
        self.variables = {}
        self.scopes = [VariableScope()]
        self.opened = {}  # full name of a scope: how often it was asked for


_eager_store = _Store()


def _store():
    graph = graphs.current()
    if graph is None and not _core.executing_eagerly():  # in a branch or a loop's body
        graph = graphs.outermost()
    if graph is None:
        return _eager_store
    made = graph.__dict__.get("_variable_store")
    if made is None:
        made = graph._variable_store = _Store()
    return made


def get_variable_scope():
    return _store().scopes[-1]


def _joined(outer, name):
    return f"{outer}/{name}" if outer else name


class variable_scope:  # noqa: N801
    """`with tf.variable_scope("a") as scope:` names of variables made by get_variable() begin with "a/"."""

    def __init__(
        self, name_or_scope, default_name=None, values=None, initializer=None, regularizer=None, caching_device=None,
        partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None, constraint=None,
        auxiliary_name_scope=True,
    ):  # fmt: skip
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse is False:
            reuse = None
        if not (reuse is None or reuse is True or reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        _check_partitioner(partitioner)
        self._wanted, self._default, self._reuse, self._auxiliary = name_or_scope, default_name, reuse, auxiliary_name_scope
        given = dict(initializer=initializer, regularizer=regularizer, caching_device=caching_device,
                     custom_getter=custom_getter, dtype=dtype, use_resource=use_resource, constraint=constraint)  # fmt: skip
        self._given = {key: value for key, value in given.items() if value is not None}
        self._open = []

    def __enter__(self):
        store, exits = _store(), contextlib.ExitStack()
        outer = store.scopes[-1]
        if isinstance(self._wanted, VariableScope):
            scope = self._again(exits)
        else:
            scope = self._new(store, outer, exits)
        counts = dict(store.opened)
        store.scopes.append(scope)
        if not isinstance(self._wanted, VariableScope):
            for key in [k for k in store.opened if k.startswith(scope.name + "/")]:
                del store.opened[key]
        self._open.append((store, exits, counts))
        return scope

    def _again(self, exits):
        again = self._wanted
        reuse = self._reuse or again.reuse
        original = again.original_name_scope
        if self._auxiliary:
            name = again.name.rpartition("/")[2]
            current = exits.enter_context(name_scope(name)) if name else exits.enter_context(_same_name_scope())
        else:
            current = original
        return VariableScope(reuse, again.name, current, original, **{**again._kept(), **self._given_with(again)})

    def _new(self, store, outer, exits):
        name = self._wanted
        if name is None:
            name, reuse = self._unique(store, outer), outer.reuse
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
        else:
            reuse = self._reuse or outer.reuse
        full = _joined(outer.name, name)
        store.opened[full] = store.opened.get(full, 0) + 1
        current = exits.enter_context(name_scope(self._wanted or self._default)) if self._auxiliary and name else ""
        return VariableScope(reuse, full, current, **{**outer._kept(), **self._given_with(outer)})

    def _unique(self, store, outer):
        name, number = self._default, 1
        while store.opened.get(_joined(outer.name, name), 0):
            name = f"{self._default}_{number}"
            number += 1
        return name

    def _given_with(self, outer):
        given = dict(self._given)
        if "custom_getter" in given and outer.custom_getter is not None:
            given["custom_getter"] = _nested_getter(given["custom_getter"], outer.custom_getter)
        if "dtype" in given:
            given["dtype"] = _core.as_dtype(given["dtype"])
        return given

    def __exit__(self, *exception):
        store, exits, counts = self._open.pop()
        inside = store.scopes.pop()
        if not isinstance(self._wanted, VariableScope):
            for key in [k for k in store.opened if k.startswith(inside.name + "/")]:
                del store.opened[key]
        for key, count in counts.items():
            store.opened.setdefault(key, count)
        return exits.__exit__(*exception)


@contextlib.contextmanager
def _same_name_scope():
    yield framework._scope_in(_core.current_graph())


def _nested_getter(inner, outer):
    def getter(getter, *args, **kwargs):
        def through(*a, **k):
            return outer(getter, *a, **k)

        return inner(through, *args, **kwargs)

    return getter


def _check_partitioner(partitioner):
    if partitioner is not None:
        raise NotImplementedError("Variables are not cut into parts in Tandem: leave `partitioner` out.")


@contextlib.contextmanager
def variable_op_scope(values, name_or_scope, default_name=None, initializer=None, **options):
    with variable_scope(name_or_scope, default_name, values, initializer, **options) as scope:
        yield scope


def op_scope(values, name, default_name=None):
    return name_scope(name, default_name, values)


# ---- get_variable


def get_variable(
    name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None,
    caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
    synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
):  # fmt: skip
    """The variable of this name in the scopes around: a new one, or where they say `reuse` the one that there is."""
    return _get_in(
        get_variable_scope(), name, shape, dtype, initializer, regularizer, trainable, collections, partitioner,
        validate_shape, custom_getter, constraint, synchronization, aggregation, caching_device, use_resource,
    )  # fmt: skip


def get_local_variable(name, shape=None, dtype=None, initializer=None, collections=None, **options):
    """One that belongs to the local variables and is not trained."""
    names = [GraphKeys.LOCAL_VARIABLES, *(collections or ())]
    options.pop("trainable", None)
    return get_variable(name, shape, dtype, initializer, trainable=False, collections=names, **options)


def _get_in(
    scope, name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None,
    partitioner=None, validate_shape=True, custom_getter=None, constraint=None,
    synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, caching_device=None,
    use_resource=None, reuse=None,
):  # fmt: skip
    _check_partitioner(partitioner)
    full = _joined(scope.name, name).rstrip("/")
    getter = custom_getter or scope.custom_getter
    if custom_getter is not None and scope.custom_getter is not None:
        getter = _nested_getter(custom_getter, scope.custom_getter)
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    options = dict(
        shape=shape, dtype=_core.as_dtype(dtype or scope.dtype),
        initializer=scope.initializer if initializer is None else initializer,
        regularizer=scope.regularizer if regularizer is None else regularizer,
        reuse=scope.reuse if reuse is None else reuse, trainable=trainable, collections=collections,
        caching_device=caching_device or scope.caching_device, partitioner=None, validate_shape=validate_shape,
        use_resource=scope.use_resource if use_resource is None else use_resource, constraint=constraint or scope.constraint, synchronization=synchronization,
        aggregation=aggregation,
    )  # fmt: skip
    # What a constant or a tensor begins with decides the dtype.
    if dtype is None and isinstance(initializer, _core.Tensor):
        options["dtype"] = initializer.dtype
    from tandem.graph_mode.getting import true_getter

    with graphs_root():
        return true_getter(full, **options) if getter is None else getter(getter=true_getter, name=full, **options)


@contextlib.contextmanager
def graphs_root():
    """Names of variables do not begin with the name scopes around."""
    with framework.name_scope(""):
        yield


@contextlib.contextmanager
def variable_creator_scope(variable_creator):
    from tandem._namespaces import get

    with get("variable_creator_scope")(variable_creator):
        yield
