"""tf.compat.v1.make_template, and partitioners, which cut variables into parts: Tandem's variables stay whole."""

import functools

from tandem.graph_mode.scopes import variable_scope


class Template:
    """A function whose variables are made by its first call and used by all others."""

    def __init__(self, name, func, create_scope_now=False, unique_name=None, custom_getter=None):
        if name is None:
            raise ValueError("name cannot be None.")
        self._func, self._name, self._unique, self._getter = func, name, unique_name, custom_getter
        self._scope, self._called = None, False
        if create_scope_now:
            self._open()

    def _open(self):
        with variable_scope(self._unique, self._name, custom_getter=self._getter) as scope:
            self._scope = scope

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            self._open()
        with variable_scope(self._scope, reuse=True if self._called else None):
            result = self._func(*args, **kwargs)
        self._called = True
        return result

    name = property(lambda self: self._name)
    func = property(lambda self: self._func)
    variable_scope = property(lambda self: self._scope)
    variable_scope_name = property(lambda self: None if self._scope is None else self._scope.name)
    var_scope = variable_scope

    def _in(self, method):
        return [] if self._scope is None else getattr(self._scope, method)()

    variables = property(lambda self: self.global_variables + self.local_variables)
    global_variables = property(lambda self: self._in("global_variables"))
    local_variables = property(lambda self: self._in("local_variables"))
    trainable_variables = property(lambda self: self._in("trainable_variables"))
    trainable_weights = trainable_variables
    weights = variables


def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs):
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


def _parts(rank, axis, count):
    return [count if i == axis else 1 for i in range(rank)]


def fixed_size_partitioner(num_shards, axis=0):
    """Says into how many parts a variable would be cut."""
    return lambda shape, **kwargs: _parts(shape.rank, axis, min(num_shards, shape.as_list()[axis]))


def variable_axis_size_partitioner(max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None):
    if max_shard_bytes < 1:
        raise ValueError(f"Argument `max_shard_bytes` must be greater than or equal to 1. Received: {max_shard_bytes}")

    def partition(shape, dtype):
        size = bytes_per_string_element if dtype.name == "string" else dtype.size
        dims = shape.as_list()
        row = size
        for i, dim in enumerate(dims):
            row *= 1 if i == axis else dim
        rows = max(1, max_shard_bytes // row)
        count = -(-dims[axis] // rows)
        return _parts(shape.rank, axis, min(count, max_shards) if max_shards else count)

    return partition


def min_max_variable_partitioner(max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16):
    def partition(shape, dtype):
        size = bytes_per_string_element if dtype.name == "string" else dtype.size
        count = max(1, shape.num_elements() * size // min_slice_size)
        return _parts(shape.rank, axis, min(max_partitions, count, shape.as_list()[axis]))

    return partition
