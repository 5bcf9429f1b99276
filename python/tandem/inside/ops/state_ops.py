"""tensorflow.python.ops.state_ops: TensorFlow 1's functions that write variables."""

from tandem import _namespaces


def _slices(indices, updates):
    return _namespaces.get("IndexedSlices")(updates, indices)


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    return ref.assign(value, name=name)


def assign_add(ref, value, use_locking=None, name=None):
    return ref.assign_add(value, name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    return ref.assign_sub(value, name=name)


def _scatter(method):
    def scatter(ref, indices, updates, use_locking=False, name=None):
        return getattr(ref, method)(_slices(indices, updates))

    scatter.__name__ = scatter.__qualname__ = method
    return scatter


scatter_add, scatter_sub, scatter_update = _scatter("scatter_add"), _scatter("scatter_sub"), _scatter("scatter_update")
scatter_mul, scatter_div = _scatter("scatter_mul"), _scatter("scatter_div")
scatter_max, scatter_min = _scatter("scatter_max"), _scatter("scatter_min")
batch_scatter_update = _scatter("batch_scatter_update")


def scatter_nd_add(ref, indices, updates, use_locking=False, name=None):
    return ref.scatter_nd_add(indices, updates)


def scatter_nd_sub(ref, indices, updates, use_locking=False, name=None):
    return ref.scatter_nd_sub(indices, updates)


def scatter_nd_update(ref, indices, updates, use_locking=True, name=None):
    return ref.scatter_nd_update(indices, updates)


def count_up_to(ref, limit, name=None):
    return ref.count_up_to(limit)


def is_variable_initialized(ref, name=None):
    return ref.is_initialized()
