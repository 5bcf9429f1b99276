"""tf.SparseTensor as a value that can be made, looked at and turned into a dense tensor, and back, and tf.sparse."""

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int64
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.spec import TensorSpec, TypeSpec
from tandem.framework.types import CompositeTensor
from tandem.ops import check


class SparseTensor(CompositeTensor):
    """Values at some coordinates; all other elements are zero."""

    def __init__(self, indices, values, dense_shape):
        self._indices = convert_to_tensor(indices, "int64")
        self._values = convert_to_tensor(values)
        self._dense_shape = convert_to_tensor(dense_shape, "int64")
        for tensor, rank, what in ((self._indices, 2, "indices"), (self._values, 1, "values")):
            if tensor.shape.rank not in (None, rank):
                raise ValueError(f"`{what}` must have rank {rank}, got shape {tensor.shape}")

    indices = property(lambda self: self._indices)
    values = property(lambda self: self._values)
    dense_shape = property(lambda self: self._dense_shape)
    dtype = property(lambda self: self._values.dtype)

    @property
    def shape(self):
        known = _core.static_value(self._dense_shape)
        return TensorShape(None) if known is None else TensorShape(known.tolist())

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self.shape.assert_is_compatible_with(shape)

    def with_values(self, new_values):
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def _cast_values(self, dtype):
        return self.with_values(execute("Cast", self._values, dtype=as_dtype(dtype)))

    # As an argument or result of functions, loops and branches.
    def _tf_components(self):
        return [self._indices, self._values, self._dense_shape]

    def _tf_rebuild(self, parts):
        made = SparseTensor.__new__(SparseTensor)
        made._indices, made._values, made._dense_shape = parts
        return made

    @property
    def _type_spec(self):
        return SparseTensorSpec(self.shape, self.dtype)

    def __repr__(self):
        parts = str(self._indices), str(self._values), str(self._dense_shape)
        return "SparseTensor(indices={}, values={}, dense_shape={})".format(*parts)


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """The dense tensor of a sparse one."""
    fill = convert_to_tensor(0 if default_value is None else default_value, sp_input.dtype)
    background = execute("Fill", sp_input.dense_shape, fill)
    return execute("TensorScatterUpdate", background, sp_input.indices, sp_input.values)


def from_dense(tensor, name=None):
    """The elements of a dense tensor that are not zero."""
    tensor = convert_to_tensor(tensor)
    indices = execute("Where", execute("NotEqual", tensor, convert_to_tensor(0, tensor.dtype)))
    return SparseTensor(indices, execute("GatherNd", tensor, indices), execute("Shape", tensor, out_type="int64"))


def reorder(sp_input, name=None):
    """The same elements in row-major order."""
    order = _order(sp_input.indices, sp_input.dense_shape)
    return SparseTensor(execute("GatherV2", sp_input.indices, order), execute("GatherV2", sp_input.values, order),
                        sp_input.dense_shape)  # fmt: skip


def _flat(indices, dense_shape):
    """Row-major positions."""
    steps = execute("Cumprod", dense_shape, axis=0, exclusive=True, reverse=True)
    return execute("Sum", indices * steps, axis=[1])


def _order(indices, dense_shape):
    return execute("ArgSort", _flat(indices, dense_shape), stable=True)


def map_values(op, *args, **kwargs):
    """Applies a function to the values; sparse arguments have the same indices."""
    found = [a for a in (*args, *kwargs.values()) if isinstance(a, SparseTensor)]
    if not found:
        raise ValueError("No SparseTensor in argument list of map_values")
    plain = lambda a: a.values if isinstance(a, SparseTensor) else a  # noqa: E731
    return found[0].with_values(op(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()}))


def add(a, b, threshold=0):
    """The sum of two tensors of which at least one is sparse."""
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        dense = [to_dense(x) if isinstance(x, SparseTensor) else convert_to_tensor(x) for x in (a, b)]
        return dense[0] + dense[1]
    return _merge(a, b, "UnsortedSegmentSum")


def _merge(a, b, combine):
    """Elements of both, those at one place combined, in row-major order."""
    indices = execute("ConcatV2", [a.indices, b.indices], axis=0)
    values = execute("ConcatV2", [a.values, b.values], axis=0)
    places, ids = execute("Unique", _flat(indices, a.dense_shape), out_idx="int64")
    count = execute("Shape", places, out_type="int64")[0]
    merged = execute(combine, values, ids, count)
    order = execute("ArgSort", places, stable=True)
    first = execute("UnsortedSegmentMin", execute("Range", *(convert_to_tensor(v, "int64") for v in (
        0, execute("Shape", ids, out_type="int64")[0], 1))), ids, count)  # fmt: skip
    kept = execute("GatherV2", indices, execute("GatherV2", first, order))
    return SparseTensor(kept, execute("GatherV2", merged, order), a.dense_shape)


def _with_zeros(a, b, op):
    """Elementwise, an element that only one has meeting zero."""
    zero_a, zero_b = a.with_values(execute("ZerosLike", a.values)), b.with_values(execute("ZerosLike", b.values))
    return _merge(add(a, zero_b), add(b, zero_a), op)


def maximum(sp_a, sp_b, name=None):
    """The larger of two sparse tensors, elementwise."""
    return _with_zeros(sp_a, sp_b, "UnsortedSegmentMax")


def minimum(sp_a, sp_b, name=None):
    """The smaller of two sparse tensors, elementwise."""
    return _with_zeros(sp_a, sp_b, "UnsortedSegmentMin")


def concat(axis, sp_inputs, expand_nonconcat_dims=False, name=None):
    """Joins sparse tensors along an axis."""
    sp_inputs = list(sp_inputs) if isinstance(sp_inputs, (list, tuple)) else [sp_inputs]
    for part in sp_inputs:
        if not isinstance(part, SparseTensor):
            raise TypeError(f"Input must be a SparseTensor, not {type(part).__name__}.")
    if not sp_inputs:
        raise ValueError("tf.sparse.concat needs at least one SparseTensor.")
    rank = sp_inputs[0].shape.rank
    axis = check.axis_of(axis, sp_inputs[0])
    offset = convert_to_tensor(0, "int64")
    indices, values = [], []
    unit = convert_to_tensor([int(i == axis) for i in range(rank)], "int64")
    for part in sp_inputs:
        indices.append(part.indices + unit * offset)
        values.append(part.values)
        offset = offset + part.dense_shape[axis]
    shape = sp_inputs[0].dense_shape
    if expand_nonconcat_dims:
        for part in sp_inputs[1:]:
            shape = execute("Maximum", shape, part.dense_shape)
    shape = shape * (1 - unit) + unit * offset
    joined = SparseTensor(execute("ConcatV2", indices, axis=0), execute("ConcatV2", values, axis=0), shape)
    return reorder(joined)


def slice(sp_input, start, size, name=None):
    """A box of a sparse tensor."""
    start, size = convert_to_tensor(start, "int64"), convert_to_tensor(size, "int64")
    end = execute("Minimum", start + size, sp_input.dense_shape)
    inside = execute("LogicalAnd", sp_input.indices >= start, sp_input.indices < end)
    kept = retain(sp_input, execute("All", inside, axis=[1]))
    return SparseTensor(kept.indices - start, kept.values, execute("Maximum", end - start, convert_to_tensor(0, "int64")))


def split(sp_input=None, num_split=None, axis=None, name=None):
    """Parts of a sparse tensor along an axis; the first ones are longer by one where it cannot be divided."""
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("sp_input, num_split and axis are required.")
    many, axis, shape = int(num_split), int(axis), sp_input.dense_shape
    rank = shape.shape[0]
    if many < 1:
        raise InvalidArgumentError(None, None, f"tf.sparse.split: num_split must be at least 1, got {many}.")
    if not -rank <= axis < rank:
        raise InvalidArgumentError(None, None, f"tf.sparse.split: axis should be in range [{-rank}, {rank}), got {axis}.")
    known = _core.static_value(shape[axis])
    if known is not None and many > known:
        raise InvalidArgumentError(None, None, f"tf.sparse.split: {many} parts of a dimension of size {int(known)}.")
    unit = convert_to_tensor([int(i == axis % rank) for i in range(rank)], "int64")
    least, longer = shape[axis] // many, shape[axis] % many
    begins = [least * i + execute("Minimum", convert_to_tensor(i, "int64"), longer) for i in range(many + 1)]
    others = shape * (1 - unit)
    return [slice(sp_input, unit * a, others + unit * (b - a)) for a, b in zip(begins, begins[1:])]


def _segments(data, indices, segment_ids, num_segments, combine):
    """Rows of data by segment, combined."""
    rows = execute("GatherV2", convert_to_tensor(data), convert_to_tensor(indices))
    ids = convert_to_tensor(segment_ids)
    if num_segments is None:
        num_segments = execute("Max", execute("ConcatV2", [ids + 1, convert_to_tensor([0], ids.dtype)], axis=0))
    count = convert_to_tensor(num_segments, ids.dtype)
    total = execute("UnsortedSegmentSum", rows, ids, count)
    if combine == "sum":
        return total
    ones = execute("OnesLike", execute("Cast", ids, dtype=total.dtype))
    many = execute("Maximum", execute("UnsortedSegmentSum", ones, ids, count), convert_to_tensor(1, total.dtype))
    many = execute("Sqrt", many) if combine == "sqrt_n" else many
    return total / execute("Reshape", many, [-1] + [1] * (total.shape.rank - 1))


def segment_sum(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Sums of chosen rows of data by segment."""
    return _segments(data, indices, segment_ids, num_segments, "sum")


def segment_mean(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Means of chosen rows of data by segment."""
    return _segments(data, indices, segment_ids, num_segments, "mean")


def segment_sqrt_n(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Sums of chosen rows of data by segment, divided by the roots of their numbers."""
    return _segments(data, indices, segment_ids, num_segments, "sqrt_n")


def retain(sp_input, to_retain):
    """The elements that a vector of booleans marks."""
    kept = execute("Where", convert_to_tensor(to_retain, "bool"))[:, 0]
    return SparseTensor(execute("GatherV2", sp_input.indices, kept), execute("GatherV2", sp_input.values, kept),
                        sp_input.dense_shape)  # fmt: skip


def transpose(sp_input, perm=None, name=None):
    """Permutes dimensions; reverses them when perm is None."""
    rank = sp_input.shape.rank
    perm = list(reversed(range(rank))) if perm is None else list(perm)
    moved = SparseTensor(execute("GatherV2", sp_input.indices, perm, axis=1), sp_input.values,
                         execute("GatherV2", sp_input.dense_shape, perm))  # fmt: skip
    return reorder(moved)


def _element_count(shape):
    """How many elements a dense tensor of that shape has; refused where 64 bits cannot count them."""
    about = execute("Prod", execute("Cast", shape, dtype="float64"))
    check.assert_less(about, 2.0**63, "Encountered overflow when multiplying the sizes of a shape.")
    return execute("Prod", shape)


def reshape(sp_input, shape, name=None):
    """The same elements in another shape."""
    shape = execute("Cast", convert_to_tensor(shape), dtype=int64)
    if shape.shape.rank not in (None, 1):
        raise InvalidArgumentError(None, None, f"Target shape should be a vector but received shape {shape.shape}")
    whole = _element_count(sp_input.dense_shape)
    is_open = shape < 0
    check.assert_greater_equal(shape, -1, "A size of the new shape must be non-negative, or one -1.")
    check.assert_less_equal(execute("Sum", execute("Cast", is_open, dtype=int64)), 1,
                            "Only one output dimension may be -1.")  # fmt: skip
    known = _element_count(execute("SelectV2", is_open, execute("OnesLike", shape), shape))
    check.Assert(execute("LogicalOr", execute("LogicalNot", execute("Any", is_open)), known > 0),
                 ["reshape cannot infer the missing input size for an empty tensor unless all specified input sizes "
                  "are non-zero"])  # fmt: skip
    shape = execute("SelectV2", is_open, whole // execute("Maximum", known, 1), shape)
    check.assert_equal(execute("Prod", shape), whole,
                       "Input to reshape is a SparseTensor with another number of dense values than the requested "
                       "shape has.")  # fmt: skip
    places = _flat(sp_input.indices, sp_input.dense_shape)
    steps = execute("Cumprod", shape, axis=0, exclusive=True, reverse=True)
    return SparseTensor((places[:, None] // steps) % shape, sp_input.values, shape)


def expand_dims(sp_input, axis=None, name=None):
    """One more dimension of size one."""
    rank = sp_input.shape.rank
    axis = -1 if axis is None else axis
    axis = axis + rank + 1 if axis < 0 else axis
    indices, shape = sp_input.indices, sp_input.dense_shape
    column = execute("ZerosLike", indices[:, :1])
    indices = execute("ConcatV2", [indices[:, :axis], column, indices[:, axis:]], axis=1)
    shape = execute("ConcatV2", [shape[:axis], convert_to_tensor([1], "int64"), shape[axis:]], axis=0)
    return SparseTensor(indices, sp_input.values, shape)


def reset_shape(sp_input, new_shape=None):
    """Another shape that holds the same elements, by default the smallest."""
    if new_shape is None:
        new_shape = execute("Max", sp_input.indices, axis=[0]) + 1
    return SparseTensor(sp_input.indices, sp_input.values, new_shape)


def eye(num_rows, num_columns=None, dtype=float32, name=None):
    """A sparse identity matrix."""
    rows = execute("Cast", convert_sizes(num_rows, None, "int64"), dtype="int64")
    columns = rows if num_columns is None else execute("Cast", convert_sizes(num_columns, None, "int64"), dtype="int64")
    for count in (rows, columns):
        check.assert_non_negative(count, "A number of rows or columns must not be negative.")
    diagonal = execute("Range", convert_to_tensor(0, "int64"), execute("Minimum", rows, columns), convert_to_tensor(1, "int64"))
    values = execute("Fill", execute("Shape", diagonal), convert_to_tensor(1, as_dtype(dtype)))
    return SparseTensor(execute("Pack", [diagonal, diagonal], axis=1), values, execute("Pack", [rows, columns]))


def _reduce(sp_input, op, axis, keepdims, output_is_sparse, empty):
    dense = to_dense(sp_input, empty)
    axis = axis if axis is None or isinstance(axis, (list, tuple)) else [axis]
    if empty is not None:  # what has no element at all is zero
        there = to_dense(sp_input.with_values(execute("OnesLike", sp_input.values)))
        found = execute("Max", there, axis=axis, keepdims=bool(keepdims)) > 0
        result = execute(op, dense, axis=axis, keepdims=bool(keepdims))
        result = execute("SelectV2", found, result, execute("ZerosLike", result))
    else:
        result = execute(op, dense, axis=axis, keepdims=bool(keepdims))
    return from_dense(result) if output_is_sparse else result


def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """Sums of elements over axes."""
    return _reduce(sp_input, "Sum", axis, keepdims, output_is_sparse, None)


def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The largest of the elements that are there, over axes."""
    return _reduce(sp_input, "Max", axis, keepdims, output_is_sparse, sp_input.dtype.min)


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of a sparse and a dense matrix."""
    if not isinstance(sp_a, SparseTensor):  # dense times sparse
        left = execute("MatMul", convert_to_tensor(sp_a), to_dense(b), adjoint_a=adjoint_a, adjoint_b=adjoint_b)
        return left
    b = convert_to_tensor(b)
    if adjoint_b:
        b = execute("Transpose", b, perm=[1, 0], conjugate=b.dtype.is_complex)
    rows, columns = (1, 0) if adjoint_a else (0, 1)
    values = execute("Conj", sp_a.values) if adjoint_a and sp_a.dtype.is_complex else sp_a.values
    parts = execute("GatherV2", b, sp_a.indices[:, columns]) * values[:, None]
    return execute("UnsortedSegmentSum", parts, sp_a.indices[:, rows], sp_a.dense_shape[rows])


def softmax(sp_input, name=None):
    """Softmax along the last dimension over the elements that are there."""
    shape = execute("ConcatV2", [sp_input.dense_shape[:-1], convert_to_tensor([1], "int64")], axis=0)
    first = execute("ConcatV2", [sp_input.indices[:, :-1], execute("ZerosLike", sp_input.indices[:, :1])], axis=1)
    ids = _flat(first, shape)
    count = execute("Prod", shape)
    top = execute("GatherV2", execute("UnsortedSegmentMax", sp_input.values, ids, count), ids)
    powers = execute("Exp", sp_input.values - top)
    sums = execute("GatherV2", execute("UnsortedSegmentSum", powers, ids, count), ids)
    return sp_input.with_values(powers / sums)


def to_indicator(sp_input, vocab_size, name=None):
    """True at the places that values name, in a last dimension of that size."""
    values = execute("Cast", sp_input.values, dtype="int64")
    indices = execute("ConcatV2", [sp_input.indices[:, :-1], values[:, None]], axis=1)
    size = convert_to_tensor([int(vocab_size)], "int64")
    shape = execute("ConcatV2", [sp_input.dense_shape[:-1], size], axis=0)
    return to_dense(SparseTensor(indices, execute("OnesLike", values), shape)) > 0


def mask(a, mask_indices, name=None):
    """Slices without those at some indices."""
    from tandem.framework.indexed_slices import IndexedSlices

    same = execute("Equal", a.indices[:, None], convert_to_tensor(mask_indices, a.indices.dtype)[None, :])
    kept = execute("Where", execute("LogicalNot", execute("Any", same, axis=[1])))[:, 0]
    return IndexedSlices(execute("GatherV2", a.values, kept), execute("GatherV2", a.indices, kept), a.dense_shape)


def fill_empty_rows(sp_input, default_value, name=None):
    """With one element in every row that has none, and which rows those are."""
    rows = sp_input.dense_shape[0]
    ones = execute("OnesLike", sp_input.indices[:, 0])
    empty = execute("UnsortedSegmentSum", ones, sp_input.indices[:, 0], rows) == 0
    places = execute("Where", empty)
    columns = execute("ZerosLike", execute("Repeat", sp_input.indices[:1, 1:], execute("Shape", places)[:1], axis=0))
    indices = execute("ConcatV2", [sp_input.indices, execute("ConcatV2", [places, columns], axis=1)], axis=0)
    fill = execute("Fill", execute("Shape", places)[:1], convert_to_tensor(default_value, sp_input.dtype))
    values = execute("ConcatV2", [sp_input.values, fill], axis=0)
    return reorder(SparseTensor(indices, values, sp_input.dense_shape)), empty


class SparseTensorSpec(TypeSpec):
    """Shape and dtype of a sparse tensor."""

    def __init__(self, shape=None, dtype=float32):
        self.shape = as_shape(shape)
        self.dtype = as_dtype("float32" if dtype is None else dtype)

    def __eq__(self, other):
        return isinstance(other, SparseTensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))

    value_type = SparseTensor

    def is_compatible_with(self, spec_or_value):
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else getattr(spec_or_value, "_type_spec", None)
        return isinstance(other, SparseTensorSpec) and self.dtype == other.dtype and self.shape.is_compatible_with(other.shape)

    # As an argument of functions: made of the specs of its parts.
    def _tf_components(self):
        rank = self.shape.rank
        return [TensorSpec([None, rank], int64), TensorSpec([None], self.dtype), TensorSpec([rank], int64)]

    def _tf_key(self):
        return None

    def _tf_accepts(self, value):
        return isinstance(value, SparseTensor)

    def _tf_rebuild(self, parts):
        if all(isinstance(part, TypeSpec) for part in parts):
            return self
        return SparseTensor(*parts)

    def __repr__(self):
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"
