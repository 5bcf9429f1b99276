"""Raw ops on the places and shapes of elements."""

import numpy as np

from tandem._core import convert_to_tensor, execute
from tandem.framework.shape import as_shape

TABLE = """
Add: Add(x, y) if is_string(x) else AddV2(x, y)
BatchMatrixBandPart: MatrixBandPart(input, num_lower=num_lower, num_upper=num_upper)
BatchMatrixDiag, MatrixDiag: tf.linalg.diag(diagonal)
BatchMatrixDiagPart, MatrixDiagPart: tf.linalg.diag_part(input)
BatchMatrixSetDiag, MatrixSetDiag: tf.linalg.set_diag(input, diagonal)
MatrixDiagV2: tf.linalg.diag(diagonal, k=band(k), num_rows=num_rows, num_cols=num_cols, padding_value=padding_value, align='LEFT_LEFT')
MatrixDiagV3: tf.linalg.diag(diagonal, k=band(k), num_rows=num_rows, num_cols=num_cols, padding_value=padding_value, align=align)
MatrixDiagPartV2: tf.linalg.diag_part(input, k=band(k), padding_value=padding_value, align='LEFT_LEFT')
MatrixDiagPartV3: tf.linalg.diag_part(input, k=band(k), padding_value=padding_value, align=align)
MatrixSetDiagV2: tf.linalg.set_diag(input, diagonal, k=band(k), align='LEFT_LEFT')
MatrixSetDiagV3: tf.linalg.set_diag(input, diagonal, k=band(k), align=align)
BatchToSpace: tf.batch_to_space(input, [block_size, block_size], crops)
BatchToSpaceND: tf.batch_to_space(input, block_shape, crops)
SpaceToBatch: tf.space_to_batch(input, [block_size, block_size], paddings)
SpaceToBatchND: tf.space_to_batch(input, block_shape, paddings)
Bitcast: Bitcast(input, type=type)
BroadcastGradientArgs: broadcast_gradient_args(s0, s1)
Bucketize: bucketize(input, boundaries)
Concat: ConcatV2(values, axis=concat_dim)
ConcatOffset: concat_offset(concat_dim, shape)
ConjugateTranspose: tf.transpose(x, perm, conjugate=True)
Const: tf.constant(value, dtype)
Copy, CopyHost, DebugIdentity, DebugIdentityV2, DebugIdentityV3, DebugGradientIdentity, GuaranteeConst, Snapshot: Identity(input)
DeepCopy: tf.identity(x)
ControlTrigger, NoOp: tf.no_op()
DataFormatDimMap: GatherV2(format_places(src_format, dst_format), FloorMod(x, 4), axis=0)
DataFormatVecPermute: GatherV2(x, format_order(src_format, dst_format), axis=0)
DynamicStitch, ParallelDynamicStitch: tf.dynamic_stitch(indices, data)
ExtractVolumePatches: tf.extract_volume_patches(input, ksizes, strides, padding)
Fingerprint: tf.fingerprint(data, text_of(method))
Gather: GatherV2(params, indices, axis=0)
GatherNd: GatherNd(params, indices)
IdentityN: [Identity(x) for x in input]
InplaceAdd: TensorScatterAdd(x, ExpandDims(i, axis=-1), v)
InplaceSub: TensorScatterSub(x, ExpandDims(i, axis=-1), v)
InplaceUpdate: TensorScatterUpdate(x, ExpandDims(i, axis=-1), v)
NextAfter: NextAfter(x1, x2)
ParallelConcat: ConcatV2(values, axis=0) if len(values) > 1 else Identity(values[0])
PlaceholderWithDefault: EnsureShape(input, shape=shape)
Print: printed(input, data, message, summarize)
Reverse: ReverseV2(tensor, axis=[i for i, turned in enumerate(values(dims)) if turned])
ReverseSequence: ReverseSequence(input, seq_lengths, seq_axis=seq_dim, batch_axis=batch_dim)
ScatterNd: ScatterNd(indices, updates, shape)
ScatterNdNonAliasingAdd: TensorScatterAdd(input, indices, updates)
Select: select(condition, x, y)
Split: Split(value, num=num_split, axis=axis)
SplitV: SplitV(value, sizes=size_splits, axis=axis)
CheckNumericsV2: CheckNumerics(tensor, message=message)
EmptyTensorList: EmptyTensorList(element_dtype=element_dtype, known_shape=known_shape(element_shape))
TensorListReserve: TensorListReserve(num_elements, element_dtype=element_dtype, known_shape=known_shape(element_shape))
TensorListConcatV2: tf.raw_ops.TensorListConcat(input_handle=input_handle, element_dtype=element_dtype, element_shape=element_shape)
TensorListConcat: TensorListConcat(input_handle, None, element_dtype=element_dtype, known_shape=[])
TensorListFromTensor: TensorListFromTensor(tensor)
TensorListPushBack: TensorListPushBack(input_handle, tensor)
TensorListScatter, TensorListScatterV2: TensorListScatter(tensor, indices)
TensorListSplit: TensorListSplit(tensor, lengths)
TensorListStack: TensorListStack(input_handle, None, element_dtype=element_dtype)
TileGrad: tile_grad(input, multiples)
TopK: TopKV2(input, k, sorted=sorted)
UnravelIndex: tf.unravel_index(indices, dims)
EagerPyFunc, PyFunc, PyFuncStateless: PyFunc(input, token=token, output_dtypes=Tout)
SparseMatMul: MatMul(Cast(a, dtype='float32'), Cast(b, dtype='float32'), transpose_a=transpose_a, transpose_b=transpose_b)
"""


def known_shape(shape):
    """What is known of the shape of a list's elements: -1 says nothing."""
    if not hasattr(shape, "as_list"):
        sizes = values(shape)
        shape = None if sizes == -1 else [None if size < 0 else size for size in sizes]
    return as_shape(shape)


def is_string(x):
    return convert_to_tensor(x).dtype.name == "string"


def text_of(value):
    """A text that may be a tensor."""
    value = value.numpy() if hasattr(value, "numpy") else value
    return value.decode() if isinstance(value, bytes) else value


def values(tensor):
    return np.asarray(convert_to_tensor(tensor)).tolist()


def band(k):
    """Diagonals as a number or a pair."""
    known = np.reshape(values(k), -1).tolist()
    return known[0] if len(known) == 1 else (known[0], known[1])


def bucketize(input, boundaries):
    """For each value, how many of the sorted boundaries are not above it."""
    input = convert_to_tensor(input)
    if not input.dtype.is_floating:
        input = execute("Cast", input, dtype="float64")
    flat = execute("Reshape", input, [-1])
    places = execute("UpperBound", [[float(b) for b in boundaries]], flat[None], out_type="int32")
    return execute("Reshape", places, execute("Shape", input))


def broadcast_gradient_args(s0, s1):
    """The axes over which gradients of two broadcast shapes are summed."""
    s0, s1 = convert_to_tensor(s0), convert_to_tensor(s1)
    n0, n1 = execute("Size", s0, out_type=s0.dtype), execute("Size", s1, out_type=s0.dtype)
    rank = execute("Maximum", n0, n1)

    def padded(s, n):
        return execute("ConcatV2", [execute("Fill", execute("Reshape", rank - n, [1]), convert_to_tensor(1, s0.dtype)), s], axis=0)

    p0, p1 = padded(s0, n0), padded(s1, n1)
    places = execute("Range", convert_to_tensor(0, s0.dtype), rank, convert_to_tensor(1, s0.dtype))

    def summed(own, other, n):
        alone = execute("LogicalAnd", execute("Equal", own, 1), execute("NotEqual", other, 1))
        both = execute("LogicalAnd", execute("Equal", own, 1), execute("Equal", other, 1))
        chosen = execute("LogicalOr", execute("LogicalOr", alone, both), execute("Less", places, rank - n))
        return execute("Reshape", execute("GatherNd", places, execute("Where", chosen)), [-1])

    return summed(p0, p1, n0), summed(p1, p0, n1)


def concat_offset(axis, shapes):
    """Where each of the joined tensors begins."""
    shapes = execute("Pack", [convert_to_tensor(s) for s in shapes], axis=0)
    starts = execute("Cumsum", shapes, axis=0, exclusive=True)
    only = execute("OneHot", axis, execute("Shape", shapes)[1], convert_to_tensor(1, shapes.dtype), convert_to_tensor(0, shapes.dtype))
    return execute("Unpack", starts * only, num=shapes.shape[0], axis=0)


def format_places(source, destination):
    return convert_to_tensor([text_of(destination).index(c) for c in text_of(source)], "int32")


def format_order(source, destination):
    return convert_to_tensor([text_of(source).index(c) for c in text_of(destination)], "int32")


def printed(input, data, message, summarize):
    """The input, after a line with the values of `data`."""
    from tandem.ops.logging import print_ as say

    shown = [f"[{_shown(d, summarize)}]" for d in data] if not any(d._symbolic for d in map(convert_to_tensor, data)) else data
    say(message, *shown, sep="")
    return convert_to_tensor(input)


def _shown(tensor, summarize):
    flat = np.asarray(convert_to_tensor(tensor)).reshape(-1)
    return " ".join(str(v) for v in flat[:summarize]) + ("..." if flat.size > summarize else "")


def select(condition, x, y):
    """Elements, or whole rows where the condition is a vector."""
    condition, x = convert_to_tensor(condition), convert_to_tensor(x)
    if condition.shape.rank == 1 and (x.shape.rank or 1) > 1:
        condition = execute("Reshape", condition, [-1] + [1] * (x.shape.rank - 1))
    return execute("SelectV2", condition, x, y)


def tile_grad(input, multiples):
    """The sum over the copies."""
    input = convert_to_tensor(input)
    counts = values(multiples)
    sizes = [part for n, d in zip(counts, input.shape.as_list()) for part in (n, d // n)]
    return execute("Sum", execute("Reshape", input, sizes), axis=list(range(0, 2 * len(counts), 2)))
