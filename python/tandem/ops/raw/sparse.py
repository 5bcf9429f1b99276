"""Raw ops of sparse and ragged tensors, as their parts."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.ragged import RaggedTensor
from tandem.framework.sparse import SparseTensor

TABLE = """
DenseToDenseSetOperation: sets(set1, set2, set_operation)
DenseToSparseSetOperation: sets(set1, S(set2_indices, set2_values, set2_shape), set_operation)
SparseToSparseSetOperation: sets(S(set1_indices, set1_values, set1_shape), S(set2_indices, set2_values, set2_shape), set_operation)
SetSize: tf.sets.size(S(set_indices, set_values, set_shape))
SparseAdd: parts(tf.sparse.add(S(a_indices, a_values, a_shape), S(b_indices, b_values, b_shape), thresh))
SparseAddGrad: add_grad(backprop_val_grad, a_indices, b_indices, sum_indices)
SparseConcat: parts(tf.sparse.concat(concat_dim, all_of(indices, values, shapes)))
SparseCross: parts(tf.sparse.cross_hashed(columns(indices, values, shapes, dense_inputs), num_buckets, hash_key)) if hashed_output else parts(tf.sparse.cross(columns(indices, values, shapes, dense_inputs)))
SparseCrossV2: parts(tf.sparse.cross(columns(indices, values, shapes, dense_inputs), separator=sep.numpy() if hasattr(sep, 'numpy') else sep))
SparseDenseCwiseAdd: S(sp_indices, sp_values, sp_shape).values + at(sp_indices, sp_shape, dense)
SparseDenseCwiseDiv: S(sp_indices, sp_values, sp_shape).values / at(sp_indices, sp_shape, dense)
SparseDenseCwiseMul: S(sp_indices, sp_values, sp_shape).values * at(sp_indices, sp_shape, dense)
SparseFillEmptyRows: filled(S(indices, values, dense_shape), default_value)
SparseFillEmptyRowsGrad, RaggedFillEmptyRowsGrad: filled_grad(reverse_index_map, grad_values)
SparseReduceMax: tf.sparse.reduce_max(S(input_indices, input_values, input_shape), reduction_axes, keep_dims)
SparseReduceMaxSparse: parts(tf.sparse.reduce_max(S(input_indices, input_values, input_shape), reduction_axes, keep_dims, True))
SparseReduceSum: tf.sparse.reduce_sum(S(input_indices, input_values, input_shape), reduction_axes, keep_dims)
SparseReduceSumSparse: parts(tf.sparse.reduce_sum(S(input_indices, input_values, input_shape), reduction_axes, keep_dims, True))
SparseReorder: parts(tf.sparse.reorder(S(input_indices, input_values, input_shape)))[:2]
SparseReshape: reshaped(input_indices, input_shape, new_shape)
SparseSegmentSum: tf.sparse.segment_sum(data, indices, segment_ids)
SparseSegmentSumWithNumSegments: tf.sparse.segment_sum(data, indices, segment_ids, num_segments)
SparseSegmentMean: tf.sparse.segment_mean(data, indices, segment_ids)
SparseSegmentMeanWithNumSegments: tf.sparse.segment_mean(data, indices, segment_ids, num_segments)
SparseSegmentSqrtN: tf.sparse.segment_sqrt_n(data, indices, segment_ids)
SparseSegmentSqrtNWithNumSegments: tf.sparse.segment_sqrt_n(data, indices, segment_ids, num_segments)
SparseSegmentSumGrad: segment_grad(grad, indices, segment_ids, output_dim0, 'sum')
SparseSegmentMeanGrad: segment_grad(grad, indices, segment_ids, output_dim0, 'mean')
SparseSegmentSqrtNGrad: segment_grad(grad, indices, segment_ids, output_dim0, 'sqrt_n')
SparseSegmentSumGradV2: segment_grad_rows(grad, indices, segment_ids, 'sum')
SparseSegmentMeanGradV2: segment_grad_rows(grad, indices, segment_ids, 'mean')
SparseSegmentSqrtNGradV2: segment_grad_rows(grad, indices, segment_ids, 'sqrt_n')
SparseSlice: parts(tf.sparse.slice(S(indices, values, shape), start, size))
SparseSliceGrad: slice_grad(backprop_val_grad, input_indices, input_start, output_indices)
SparseSoftmax: tf.sparse.softmax(S(sp_indices, sp_values, sp_shape)).values
SparseSparseMaximum: parts(tf.sparse.maximum(S(a_indices, a_values, a_shape), S(b_indices, b_values, b_shape)))[:2]
SparseSparseMinimum: parts(tf.sparse.minimum(S(a_indices, a_values, a_shape), S(b_indices, b_values, b_shape)))[:2]
SparseSplit: [list(p) for p in zip(*map(parts, tf.sparse.split(S(indices, values, shape), num_split, int(split_dim))))]
SparseTensorDenseAdd: TensorScatterAdd(b, a_indices, a_values)
SparseTensorDenseMatMul: tf.sparse.sparse_dense_matmul(S(a_indices, a_values, a_shape), b, adjoint_a, adjoint_b)
SparseToDense: to_dense(sparse_indices, output_shape, sparse_values, default_value, validate_indices)
RaggedCross: ragged_cross(ragged_values, ragged_row_splits, sparse_indices, sparse_values, sparse_shape, dense_inputs, input_order, hashed_output, num_buckets, hash_key, out_row_splits_type)
RaggedFillEmptyRows: tf.ragged_fill_empty_rows(value_rowids, values, nrows, default_value)
RaggedRange: ragged_parts(tf.ragged.range(starts, limits, deltas, row_splits_dtype=Tsplits))
RaggedTensorToSparse: parts(nested(rt_nested_splits, rt_dense_values).to_sparse())
RaggedTensorToTensor: to_tensor(shape, values, default_value, row_partition_tensors, row_partition_types)
RaggedGather: gathered(params_nested_splits, params_dense_values, indices)
"""

S = SparseTensor


def parts(sparse):
    return sparse.indices, sparse.values, sparse.dense_shape


def all_of(indices, values, shapes):
    return [SparseTensor(*one) for one in zip(indices, values, shapes)]


def columns(indices, values, shapes, dense):
    return [*all_of(indices, values, shapes), *dense]


def sets(a, b, operation):
    from tandem import sets as public

    operation = operation.decode() if isinstance(operation, bytes) else operation
    if operation in ("a-b", "b-a"):
        return parts(public.difference(a, b, operation == "a-b"))
    return parts({"intersection": public.intersection, "union": public.union}[operation](a, b))


def _numbers(indices, shape):
    from tandem.framework.sparse_checks import positions

    return positions(convert_to_tensor(indices), convert_to_tensor(shape))


def at(indices, shape, dense):
    """The elements of a dense tensor, broadcast to a shape, at places."""
    return execute("GatherNd", execute("BroadcastTo", dense, shape), indices)


def add_grad(grad, a, b, total):
    """The gradients of the values of both summands: those at their places in the sum."""
    a, b, total = (convert_to_tensor(x) for x in (a, b, total))
    sizes = execute("Max", execute("ConcatV2", [a, b, total], axis=0), axis=[0]) + 1
    size = execute("Prod", sizes)
    table = execute("ScatterNd", _numbers(total, sizes)[:, None], grad, execute("Reshape", size, [1]))
    return [execute("GatherV2", table, _numbers(x, sizes), axis=0) for x in (a, b)]


def slice_grad(grad, indices, start, output):
    """The gradient of the values of a tensor that was cut: zero outside of the part."""
    return add_grad(grad, indices, indices, execute("AddV2", convert_to_tensor(output), convert_to_tensor(start)))[0]


def filled(sparse, default):
    """With one element in every empty row, which rows those are, and where each value went."""
    from tandem.framework import sparse as public

    found, empty = public.fill_empty_rows(sparse, default)
    order = execute("ArgSort", sparse.indices[:, 0], axis=0, stable=True)
    before = execute("Cumsum", execute("Cast", empty, dtype="int64"), axis=0, exclusive=True)
    rows = execute("GatherV2", sparse.indices[:, 0], order, axis=0)
    count = execute("Size", rows, out_type="int64")
    places = execute("Range", convert_to_tensor(0, "int64"), count, convert_to_tensor(1, "int64"))
    moved = places + execute("GatherV2", before, rows, axis=0)
    reverse = execute("ScatterNd", execute("Cast", order, dtype="int64")[:, None], moved, execute("Reshape", count, [1]))
    return found.indices, found.values, empty, reverse


def filled_grad(reverse, grad):
    reverse, grad = convert_to_tensor(reverse), convert_to_tensor(grad)
    mine = execute("GatherV2", grad, reverse, axis=0)
    return mine, execute("Sum", grad) - execute("Sum", mine)


def reshaped(indices, shape, new_shape):
    from tandem.framework import sparse as public

    indices = convert_to_tensor(indices, "int64")
    found = public.reshape(SparseTensor(indices, indices[:, 0], shape), new_shape)
    return found.indices, found.dense_shape


def _weights(indices, segments, combine, dtype):
    segments = convert_to_tensor(segments)
    if combine == "sum":
        return None
    ones = execute("OnesLike", execute("Cast", segments, dtype=dtype))
    counts = execute("UnsortedSegmentSum", ones, segments, execute("Max", segments) + 1)
    counts = execute("Sqrt", counts) if combine == "sqrt_n" else counts
    return execute("GatherV2", counts, segments, axis=0)


def _rows_of(grad, indices, segments, combine):
    grad = convert_to_tensor(grad)
    rows = execute("GatherV2", grad, segments, axis=0)
    weights = _weights(indices, segments, combine, grad.dtype)
    return rows if weights is None else rows / execute("Reshape", weights, [-1] + [1] * (grad.shape.rank - 1))


def segment_grad(grad, indices, segments, size, combine):
    return execute("UnsortedSegmentSum", _rows_of(grad, indices, segments, combine), indices, size)


def segment_grad_rows(grad, indices, segments, combine):
    """The gradients of the rows that were used, and which those are."""
    indices = execute("Sort", convert_to_tensor(indices), axis=0), convert_to_tensor(indices)
    used = execute("Unique", indices[0])[0]
    places = execute("LowerBound", used[None], indices[1][None], out_type="int32")[0]
    rows = _rows_of(grad, indices[1], segments, combine)
    return execute("UnsortedSegmentSum", rows, places, execute("Size", used)), used


def to_dense(indices, shape, values, default, validate):
    """Of numbers, vectors or matrices of places."""
    indices, values = convert_to_tensor(indices), convert_to_tensor(values)
    shape = execute("Reshape", convert_to_tensor(shape, indices.dtype), [-1])
    if indices.shape.rank < 2:
        indices = execute("Reshape", indices, [-1, 1])
    count = execute("Shape", indices)[:1]
    values = execute("BroadcastTo", values, count)
    start = execute("Fill", shape, convert_to_tensor(default, values.dtype))
    if validate:
        from tandem.framework import sparse_checks

        sparse = SparseTensor(execute("Cast", indices, dtype="int64"), values, execute("Cast", shape, dtype="int64"))
        sparse_checks.in_bounds(sparse)
        sparse_checks.ordered(sparse)
    return execute("TensorScatterUpdate", start, indices, values)


def ragged_parts(ragged):
    return ragged.row_splits, ragged.values


def nested(splits, values):
    return RaggedTensor.from_nested_row_splits(values, list(splits))


def gathered(splits, values, indices):
    from tandem import gather

    found = gather(nested(splits, values), indices)
    return list(found.nested_row_splits), found.flat_values


def to_tensor(shape, values, default, partitions, kinds):
    """The dense tensor of values and of how they lie in rows."""
    kinds = [k.decode() if isinstance(k, bytes) else k for k in kinds]
    partitions = list(partitions)
    rows = None
    if kinds[0] == "FIRST_DIM_SIZE":
        rows, kinds, partitions = partitions[0], kinds[1:], partitions[1:]
    result = convert_to_tensor(values)
    for kind, part in reversed(list(zip(kinds, partitions))):
        if kind == "ROW_SPLITS":
            result = RaggedTensor.from_row_splits(result, part)
        elif kind == "VALUE_ROWIDS":
            result = RaggedTensor.from_value_rowids(result, part, nrows=rows)
        else:
            result = RaggedTensor.from_row_lengths(result, part)
    sizes = convert_to_tensor(shape)
    wanted = None if sizes.shape.rank == 0 else [None if s < 0 else s for s in sizes.numpy().tolist()]
    return result.to_tensor(default, shape=wanted)


def ragged_cross(values, splits, indices, sparse_values, shapes, dense, order, hashed, buckets, key, kind):
    from tandem import ragged as public

    ragged = [RaggedTensor.from_row_splits(v, s) for v, s in zip(values, splits)]
    given = {"R": iter(ragged), "S": iter(all_of(indices, sparse_values, shapes)), "D": iter(dense)}
    order = order.decode() if isinstance(order, bytes) else order
    inputs = [next(given[c]) for c in order]
    found = public.cross_hashed(inputs, buckets, key) if hashed else public.cross(inputs)
    return found.values, execute("Cast", found.row_splits, dtype=kind)
