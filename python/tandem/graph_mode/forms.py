"""Functions of TensorFlow 1 around graphs and composite tensors."""

import numpy as np

from tandem import _core
from tandem._namespaces import get
from tandem.framework.indexed_slices import IndexedSlices
from tandem.framework.sparse import SparseTensor
from tandem.graph_mode import graph as graphs, ops, values


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a graph's nodes to a file; returns its path."""
    import os

    graph = graph_or_graph_def if isinstance(graph_or_graph_def, graphs.Graph) else graph_or_graph_def._graph
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    data = repr(graph.as_graph_def()).encode() if as_text else _core.graph_def(graph)
    with open(path, "wb") as file:
        file.write(data)
    return path


def extract_sub_graph(graph_def, dest_nodes):
    """The nodes that others need, by name."""
    from tandem.graph_mode.messages import GraphDef

    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be an iterable of strings.")
    by_name, wanted, open_ = {n.name: n for n in graph_def.node}, set(), list(dest_nodes)
    while open_:
        name = open_.pop().lstrip("^").partition(":")[0]
        if name not in by_name:
            raise AssertionError(f"{name} is not in graph")
        if name not in wanted:
            wanted.add(name)
            open_ += by_name[name].input
    return GraphDef([n for n in graph_def.node if n.name in wanted], graph_def._graph)


def must_run_on_cpu(node, pin_variables_on_cpu=False):
    op = getattr(node, "node_def", node).op
    return op in ("Const", "StringFormat", "PyFunc") if not pin_variables_on_cpu else True


def remove_training_nodes(input_graph, protected_nodes=None):
    """The nodes without checks and identities, of which there are none that cost anything."""
    return input_graph


def tensor_shape_from_node_def_name(graph, input_name):
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).shape


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    return value if isinstance(value, IndexedSlices) else get("convert_to_tensor")(value, dtype=dtype, name=name)


def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    if isinstance(value, values.SparseTensorValue):
        value = SparseTensor(*value)
    return value if isinstance(value, SparseTensor) else get("convert_to_tensor")(value, dtype=dtype, name=name)


def add_check_numerics_ops():
    """One operation that checks all floating tensors of the graph that are there now."""
    graph = graphs.current()
    if graph is None:
        raise RuntimeError("add_check_numerics_ops() is not compatible with eager execution.")
    checks = []
    for op in graph.get_operations():
        for output in op.outputs:
            if output.dtype.is_floating and op.type != "Placeholder":
                checks.append(get("debugging.check_numerics")(output, f"{op.name}:0"))
    return ops.group(*checks)


# ---- Sparse and ragged tensors


def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    """A matrix with the values at the columns that the ids name."""
    columns = get("cast")(sp_ids.values, "int64")
    rows = sp_ids.indices[:, :-1]
    indices = get("concat")([rows, get("expand_dims")(columns, 1)], 1)
    shape = get("concat")([sp_ids.dense_shape[:-1], [get("cast")(vocab_size, "int64")]], 0)
    made = SparseTensor(indices, sp_values.values, shape)
    return made if already_sorted else get("sparse.reorder")(made)


def _reduced(method, sp_input, axis, keepdims, reduction_axes, keep_dims):
    axis = reduction_axes if axis is None else axis
    dense = get(method)(sp_input, axis=axis, keepdims=bool(keepdims or keep_dims))
    return get("sparse.from_dense")(dense)


def sparse_reduce_sum_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    return _reduced("sparse.reduce_sum", sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_max_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    return _reduced("sparse.reduce_max", sp_input, axis, keepdims, reduction_axes, keep_dims)


def string_split(source, sep=None, skip_empty=True, delimiter=" ", result_type="SparseTensor", name=None):
    """The parts of strings between separators, as a sparse or a ragged tensor."""
    sep = delimiter if sep is None else sep
    if isinstance(sep, str) and len(sep) > 1:  # each of the characters separates
        import re

        source = get("strings.regex_replace")(source, f"[{re.escape(sep)}]", sep[0])
        sep = sep[0]
    parts = get("strings.split")(source, sep or None) if sep else get("strings.bytes_split")(source)
    if skip_empty:
        parts = get("ragged.boolean_mask")(parts, parts.with_flat_values(get("strings.length")(parts.flat_values) > 0))
    return parts if result_type == "RaggedTensor" else parts.to_sparse()


def strings_split_v1(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):
    parts = get("strings.split")(source if input is None else input, sep, maxsplit)
    return parts if result_type == "RaggedTensor" or not hasattr(parts, "to_sparse") else parts.to_sparse()


def constant_value(pylist, dtype=None, ragged_rank=None, inner_shape=None, row_splits_dtype="int64"):
    """A RaggedTensorValue from nested lists."""
    with _core.init_scope():
        made = get("ragged.constant")(pylist, dtype=dtype, ragged_rank=ragged_rank, inner_shape=inner_shape,
                                      row_splits_dtype=row_splits_dtype)  # fmt: skip
        if not hasattr(made, "nested_row_splits"):
            return made.numpy()
        return values.ragged_value(made.flat_values.numpy(), *[s.numpy() for s in made.nested_row_splits])


def ragged_placeholder(dtype, ragged_rank, value_shape=None, name=None):
    """A ragged tensor that is fed with a RaggedTensorValue."""
    if ragged_rank == 0:
        return ops.placeholder(dtype, value_shape, name)
    name = name or "RaggedPlaceholder"
    made = ops.placeholder(dtype, [None, *(value_shape or [])], f"{name}/flat_values")
    for i in reversed(range(ragged_rank)):
        made = get("RaggedTensor").from_row_splits(made, ops.placeholder("int64", [None], f"{name}/row_splits_{i}"),
                                                   validate=False)  # fmt: skip
    return made


# ---- Gradients by differences


def compute_gradient(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    """(what gradients() says, what differences say) of y by x: matrices of x's size by y's."""
    from tandem.graph_mode.session import get_default_session

    session = get_default_session()
    for op in init_targets or ():
        session.run(op)
    feeds = dict(extra_feed_dict or {})
    start = np.asarray(x_init_value if x_init_value is not None else np.random.random_sample(x_shape),
                       x.dtype.as_numpy_dtype)  # fmt: skip
    size_y = int(np.prod(y_shape))
    seed = ops.placeholder(y.dtype, y_shape)
    (gradient,) = get("gradients")(y, x, grad_ys=seed)
    theory, numbers = np.zeros((start.size, size_y)), np.zeros((start.size, size_y))
    for column in range(size_y):
        unit = np.zeros(y_shape, y.dtype.as_numpy_dtype)
        unit.reshape(-1)[column] = 1
        theory[:, column] = session.run(gradient, {**feeds, x: start, seed: unit}).reshape(-1)
    for row in range(start.size):
        moved = [start.copy(), start.copy()]
        moved[0].reshape(-1)[row] += delta
        moved[1].reshape(-1)[row] -= delta
        up, down = (session.run(y, {**feeds, x: m}).reshape(-1) for m in moved)
        numbers[row] = (up - down) / (2 * delta)
    return theory, numbers


def compute_gradient_error(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    theory, numbers = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    return float(np.abs(theory - numbers).max()) if theory.size else 0.0
