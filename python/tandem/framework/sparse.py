"""tf.SparseTensor as a value that can be made, looked at and turned into a dense tensor, and back, and tf.sparse."""

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int64
from tandem.framework.errors import InvalidArgumentError
from tandem.framework import sparse_checks
from tandem.framework.shape import TensorShape, as_shape
from tandem.framework.sparse_checks import positions
from tandem.framework.spec import TensorSpec, TypeSpec, ranks_only
from tandem.framework.types import CompositeTensor
from tandem.ops import check


# Of those for which TensorFlow has dispatchers.
_KEEP_ZEROS = (
    "Abs", "ComplexAbs", "Neg", "Sign", "Square", "Sqrt", "Erf", "Tanh", "Sin", "Tan", "Asin", "Atan", "Asinh", "Atanh",
    "BesselI1e", "Cast", "StopGradient",
)  # fmt: skip


class SparseTensor(CompositeTensor):
    """Values at some coordinates; all other elements are zero."""

    _static = TensorShape(None)  # what is known of the sizes where `dense_shape` has no value yet

    def __init__(self, indices, values, dense_shape):
        self._indices = convert_to_tensor(indices, "int64")
        self._values = convert_to_tensor(values)
        if isinstance(dense_shape, (list, tuple)):  # in a trace some sizes may be numbers and others tensors
            self._static = TensorShape([size if isinstance(size, int) else None for size in dense_shape])
            dense_shape = [_as_int64(size) if isinstance(size, _core.Tensor) else size for size in dense_shape]
        self._dense_shape = convert_to_tensor(dense_shape, "int64")
        self._indices.shape.assert_has_rank(2)
        self._values.shape.assert_has_rank(1)
        self._dense_shape.shape.assert_has_rank(1)
        self._indices.shape[:1].assert_is_compatible_with(self._values.shape)
        self._indices.shape[1:].assert_is_compatible_with(self._dense_shape.shape)

    indices = property(lambda self: self._indices)
    values = property(lambda self: self._values)
    dense_shape = property(lambda self: self._dense_shape)
    dtype = property(lambda self: self._values.dtype)

    @property
    def shape(self):
        known = _core.static_value(self._dense_shape)
        if known is not None:
            return TensorShape(known.tolist())
        rank = self._indices.shape[1] if self._dense_shape.shape[0] is None else self._dense_shape.shape[0]
        return self._static if rank is None else TensorShape([None] * rank).merge_with(self._static)

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self._static = self.shape.merge_with(shape)

    def with_values(self, new_values):
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def _cast_values(self, dtype):
        return self.with_values(execute("Cast", self._values, dtype=as_dtype(dtype)))

    # As an argument or result of functions, loops and branches.
    _tf_counted_by_data = (0, 1)  # of the components: indices and values

    def _tf_components(self):
        return [self._indices, self._values, self._dense_shape]

    def _tf_rebuild(self, parts):
        made = SparseTensor.__new__(SparseTensor)
        made._indices, made._values, made._dense_shape = parts
        return made

    @property
    def _type_spec(self):
        return SparseTensorSpec(self.shape, self.dtype)

    def __tf_dispatch__(self, op, inputs, attrs):
        """The few ops of dense tensors that take a sparse one: of its sizes, and elementwise ones that keep zeros."""
        if op in _KEEP_ZEROS:
            return self.with_values(execute(op, self._values, **attrs))
        if op == "Identity":
            return SparseTensor(*(execute(op, part) for part in self._tf_components()))
        if op == "Shape":
            return execute("Cast", self._dense_shape, dtype=as_dtype(attrs.get("out_type") or "int32"))
        if op == "Size":
            return execute("Cast", execute("Prod", self._dense_shape), dtype=as_dtype(attrs.get("out_type") or "int32"))
        if op == "Rank":
            return execute("Size", self._dense_shape)
        raise ValueError(
            f"{op} takes no tf.SparseTensor in Tandem: turn it dense with tf.sparse.to_dense(), or use its values."
        )

    def _with_dense(self, op, other):
        """The values with the elements of a dense tensor at their places; it is broadcast to this one's sizes."""
        other = convert_to_tensor(other, self.dtype)
        if other.shape.rank is not None and self.shape.rank is not None and other.shape.rank > self.shape.rank:
            raise ValueError(f"{op}: a dense tensor of shape {other.shape} cannot be broadcast to a sparse one of shape {self.shape}.")
        if other.shape.rank == 0:
            return self.with_values(execute(op, self._values, other))
        dense = execute("BroadcastTo", other, self._dense_shape)
        return self.with_values(execute(op, self._values, execute("GatherNd", dense, self._indices)))

    def __mul__(self, other):
        return self._with_dense("Mul", other)

    def __truediv__(self, other):
        return self._with_dense("RealDiv", other)

    def __repr__(self):
        parts = str(self._indices), str(self._values), str(self._dense_shape)
        return "SparseTensor(indices={}, values={}, dense_shape={})".format(*parts)


def _as_int64(tensor):
    return tensor if tensor.dtype == int64 else execute("Cast", tensor, dtype=int64)


def _zero(dtype):
    return convert_to_tensor("" if dtype.name == "string" else 0, dtype)


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """The dense tensor of a sparse one."""
    sparse_checks.in_bounds(sp_input)
    if validate_indices:
        sparse_checks.ordered(sp_input)
    fill = _zero(sp_input.dtype) if default_value is None else convert_to_tensor(default_value, sp_input.dtype)
    check.assert_scalar(fill, "default_value should be a scalar. ")
    background = execute("Fill", sp_input.dense_shape, fill)
    return execute("TensorScatterUpdate", background, sp_input.indices, sp_input.values)


def from_dense(tensor, name=None):
    """The elements of a dense tensor that are not zero."""
    tensor = convert_to_tensor(tensor)
    indices = execute("Where", execute("NotEqual", tensor, _zero(tensor.dtype)))
    return SparseTensor(indices, execute("GatherNd", tensor, indices), execute("Shape", tensor, out_type="int64"))


def reorder(sp_input, name=None):
    """The same elements in row-major order."""
    sparse_checks.in_bounds(sp_input)
    return _reordered(sp_input)


def _reordered(sp_input):
    order = _order(sp_input.indices, sp_input.dense_shape)
    return SparseTensor(execute("GatherV2", sp_input.indices, order), execute("GatherV2", sp_input.values, order),
                        sp_input.dense_shape)  # fmt: skip


def _order(indices, dense_shape):
    return execute("ArgSort", positions(indices, dense_shape), stable=True)


def map_values(op, *args, **kwargs):
    """Applies a function to the values; sparse arguments have the same indices."""
    found = [a for a in (*args, *kwargs.values()) if isinstance(a, SparseTensor)]
    if not found:
        raise ValueError("No SparseTensor in argument list of map_values")
    for other in found[1:]:
        sparse_checks.same_sizes(found[0].dense_shape, other.dense_shape, "Mismatched shapes!")
        if other.indices is not found[0].indices:
            check.assert_equal(found[0].indices, other.indices, message="Mismatched indices!")
    plain = lambda a: a.values if isinstance(a, SparseTensor) else a  # noqa: E731
    return found[0].with_values(op(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()}))


def add(a, b, threshold=0):
    """The sum of two tensors of which at least one is sparse."""
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not isinstance(a, SparseTensor):
        return _add_dense(b, convert_to_tensor(a, b.dtype))
    if not isinstance(b, SparseTensor):
        return _add_dense(a, convert_to_tensor(b, a.dtype))
    total = _merge(a, b)
    if isinstance(threshold, (int, float)) and threshold <= 0:
        return total
    size = execute("ComplexAbs" if total.dtype.is_complex else "Abs", total.values)
    return retain(total, size >= convert_to_tensor(threshold, size.dtype))


def _add_dense(sparse, dense):
    """Without broadcasting."""
    sparse_checks.in_bounds(sparse)
    sparse_checks.same_sizes(sparse.dense_shape, execute("Shape", dense, out_type=int64),
                             "Shapes do not match, and no broadcasting is supported.")  # fmt: skip
    return execute("TensorScatterAdd", dense, sparse.indices, sparse.values)


def _merge(a, b):
    """Elements of both, those at one place added, in row-major order."""
    sparse_checks.same_sizes(a.dense_shape, b.dense_shape, "Operands' shapes do not match.")
    for part in (a, b):
        sparse_checks.in_bounds(part)
    indices = execute("ConcatV2", [a.indices, b.indices], axis=0)
    values = execute("ConcatV2", [a.values, b.values], axis=0)
    places, ids = execute("Unique", positions(indices, a.dense_shape), out_idx="int64")
    count = execute("Shape", places, out_type="int64")[0]
    merged = execute("UnsortedSegmentSum", values, ids, count)
    order = execute("ArgSort", places, stable=True)
    first = execute("UnsortedSegmentMin", execute("Range", *(convert_to_tensor(v, "int64") for v in (
        0, execute("Shape", ids, out_type="int64")[0], 1))), ids, count)  # fmt: skip
    kept = execute("GatherV2", indices, execute("GatherV2", first, order))
    return SparseTensor(kept, execute("GatherV2", merged, order), a.dense_shape)


def _with_zeros(a, b, op):
    """Elementwise, an element that only one has meeting zero."""
    zero_a, zero_b = a.with_values(execute("ZerosLike", a.values)), b.with_values(execute("ZerosLike", b.values))
    left, right = add(a, zero_b), add(b, zero_a)  # with the same indices
    return left.with_values(execute(op, left.values, right.values))


def maximum(sp_a, sp_b, name=None):
    """The larger of two sparse tensors, elementwise."""
    return _with_zeros(sp_a, sp_b, "Maximum")


def minimum(sp_a, sp_b, name=None):
    """The smaller of two sparse tensors, elementwise."""
    return _with_zeros(sp_a, sp_b, "Minimum")


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
    for part in sp_inputs:
        sparse_checks.in_bounds(part)
        sparse_checks.same_length(part.dense_shape, shape, "Ranks of all input tensors must match.")
        if not expand_nonconcat_dims:
            sparse_checks.same_sizes(part.dense_shape * (1 - unit), shape * (1 - unit),
                                     f"Input shapes must match in all dimensions but {axis}.")  # fmt: skip
    if expand_nonconcat_dims:
        for part in sp_inputs[1:]:
            shape = execute("Maximum", shape, part.dense_shape)
    shape = shape * (1 - unit) + unit * offset
    joined = SparseTensor(execute("ConcatV2", indices, axis=0), execute("ConcatV2", values, axis=0), shape)
    return _reordered(joined)


def slice(sp_input, start, size, name=None):
    """A box of a sparse tensor."""
    start, size = convert_to_tensor(start, "int64"), convert_to_tensor(size, "int64")
    for given, what in ((start, "start"), (size, "size")):
        sparse_checks.same_length(check.with_rank(given, 1, 1), sp_input.dense_shape,
                                  f"Expected {what} to have an element for each dimension.")  # fmt: skip
        check.assert_non_negative(given, f"tf.sparse.slice: {what} must be non-negative.")
    sparse_checks.consistent(sp_input)
    end = execute("Minimum", start + size, sp_input.dense_shape)
    inside = execute("LogicalAnd", sp_input.indices >= start, sp_input.indices < end)
    kept = retain(sp_input, execute("All", inside, axis=[1]))
    return SparseTensor(kept.indices - start, kept.values, execute("Maximum", end - start, convert_to_tensor(0, "int64")))


_MOST_PARTS = 1 << 12  # of a dimension whose size is not known: each is a tensor of the graph


def split(sp_input=None, num_split=None, axis=None, name=None):
    """Parts of a sparse tensor along an axis; the first ones are longer by one where it cannot be divided."""
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("sp_input, num_split and axis are required.")
    many, axis, shape = int(num_split), int(axis), sp_input.dense_shape
    rank = sp_input.shape.rank
    if rank is None:
        raise ValueError("tf.sparse.split needs a sparse tensor of known rank.")
    if many < 1:
        sparse_checks.refuse(f"tf.sparse.split: num_split must be at least 1, got {many}.")
    if not -rank <= axis < rank:
        sparse_checks.refuse(f"tf.sparse.split: axis should be in range [{-rank}, {rank}), got {axis}.")
    known = sp_input.shape[axis]
    if many > (_MOST_PARTS if known is None else known):
        sparse_checks.refuse(f"tf.sparse.split: num_split {many} is larger than the dimension {known} or than what is taken apart.")
    check.assert_less_equal(convert_to_tensor(many, "int64"), shape[axis],
                            "tf.sparse.split: num_split must not be larger than the dimension.")  # fmt: skip
    unit = convert_to_tensor([int(i == axis % rank) for i in range(rank)], "int64")
    least, longer = shape[axis] // many, shape[axis] % many
    begins = [least * i + execute("Minimum", convert_to_tensor(i, "int64"), longer) for i in range(many + 1)]
    others = shape * (1 - unit)
    return [slice(sp_input, unit * a, others + unit * (b - a)) for a, b in zip(begins, begins[1:])]


def retain(sp_input, to_retain):
    """The elements that a vector of booleans marks."""
    marks = check.with_rank(convert_to_tensor(to_retain, "bool"), 1, 1)
    if not marks.shape.is_compatible_with(sp_input.values.shape):
        raise ValueError(f"to_retain of shape {marks.shape} does not mark the values of shape {sp_input.values.shape}")
    sparse_checks.same_length(marks, sp_input.values, "to_retain must have an element for each value.")
    sparse_checks.consistent(sp_input)
    kept = execute("Where", marks)[:, 0]
    return SparseTensor(execute("GatherV2", sp_input.indices, kept), execute("GatherV2", sp_input.values, kept),
                        sp_input.dense_shape)  # fmt: skip


def transpose(sp_input, perm=None, name=None):
    """Permutes dimensions; reverses them when perm is None."""
    rank = sp_input.shape.rank
    sparse_checks.in_bounds(sp_input)
    if isinstance(perm, _core.Tensor) and _core.static_value(perm) is None:
        moved = [execute("GatherV2", sp_input.indices, perm, axis=1), execute("GatherV2", sp_input.dense_shape, perm)]
        moved[0].set_shape([None, rank])
        moved[1].set_shape([rank])
        return _reordered(SparseTensor(moved[0], sp_input.values, moved[1]))
    perm = list(reversed(range(rank))) if perm is None else list(perm)
    if rank is not None and len(perm) != rank:
        raise ValueError(f"perm {perm} must name each of the {rank} dimensions once")
    moved = SparseTensor(execute("GatherV2", sp_input.indices, perm, axis=1), sp_input.values,
                         execute("GatherV2", sp_input.dense_shape, perm))  # fmt: skip
    return _reordered(moved)


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
    sparse_checks.in_bounds(sp_input)
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
    places = positions(sp_input.indices, sp_input.dense_shape)
    steps = execute("Cumprod", shape, axis=0, exclusive=True, reverse=True)
    return SparseTensor((places[:, None] // steps) % shape, sp_input.values, shape)


def expand_dims(sp_input, axis=None, name=None):
    """One more dimension of size one."""
    rank = sp_input.shape.rank
    if isinstance(axis, _core.Tensor) and _core.static_value(axis) is None:
        return _expanded_later(sp_input, axis)
    axis = -1 if axis is None else int(axis)
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis {axis} is out of range [{-rank - 1}, {rank}] for a sparse tensor of rank {rank}")
    axis = axis + rank + 1 if axis < 0 else axis
    indices, shape = sp_input.indices, sp_input.dense_shape
    column = execute("ZerosLike", indices[:, :1])
    indices = execute("ConcatV2", [indices[:, :axis], column, indices[:, axis:]], axis=1)
    shape = execute("ConcatV2", [shape[:axis], convert_to_tensor([1], "int64"), shape[axis:]], axis=0)
    return SparseTensor(indices, sp_input.values, shape)


def _expanded_later(sp_input, axis):
    """The same before an axis that only a run of the function knows."""
    axis, rank = execute("Cast", axis, dtype="int32"), sp_input.shape.rank
    axis = execute("FloorMod", axis, rank + 1)
    indices, shape = sp_input.indices, sp_input.dense_shape
    column = execute("ZerosLike", indices[:, :1])
    indices = execute("ConcatV2", [indices[:, :axis], column, indices[:, axis:]], axis=1)
    shape = execute("ConcatV2", [shape[:axis], convert_to_tensor([1], "int64"), shape[axis:]], axis=0)
    indices.set_shape([None, rank + 1])
    shape.set_shape([rank + 1])
    return SparseTensor(indices, sp_input.values, shape)


def reset_shape(sp_input, new_shape=None):
    """Another shape that holds the same elements, by default the smallest."""
    if new_shape is None:
        needed = execute("Max", sp_input.indices, axis=[0]) + 1
        none = convert_to_tensor(0, "int64")
        return SparseTensor(sp_input.indices, sp_input.values, execute("Maximum", needed, none))
    new_shape = execute("Cast", new_shape, dtype="int64") if isinstance(new_shape, _core.Tensor) else new_shape
    new_shape, old_shape = check.with_rank(convert_to_tensor(new_shape, "int64"), 1, 1), sp_input.dense_shape
    if not new_shape.shape.is_compatible_with(old_shape.shape):
        raise ValueError(f"new_shape {new_shape} does not fit a sparse tensor of rank {sp_input.shape.rank}")
    larger = "Requested new_shape should have dimension sizes >= sp_input.shape."
    wanted, known = _core.static_value(new_shape), _core.static_value(old_shape)
    if wanted is None or known is None:
        sparse_checks.same_length(new_shape, old_shape, "new_shape must have the rank of sp_input.")
        check.assert_less_equal(old_shape, new_shape, larger)
    elif (wanted < known).any():
        raise ValueError(f"{larger} Found new_shape {wanted}, sp_input.shape {known}.")
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


def to_indicator(sp_input, vocab_size, name=None):
    """True at the places that values name, in a last dimension of that size."""
    if sp_input.dtype.name not in ("int32", "int64"):
        raise TypeError(f"sp_input must be of type int32 or int64, got {sp_input.dtype}.")
    values = execute("Cast", sp_input.values, dtype="int64")
    indices = execute("ConcatV2", [sp_input.indices[:, :-1], values[:, None]], axis=1)
    later = isinstance(vocab_size, _core.Tensor) and vocab_size._symbolic
    size = execute("Reshape", execute("Cast", vocab_size, dtype="int64"), [1]) if later else [int(vocab_size)]
    size = convert_to_tensor(size, "int64")
    shape = execute("ConcatV2", [sp_input.dense_shape[:-1], size], axis=0)
    return to_dense(SparseTensor(indices, execute("OnesLike", values), shape), validate_indices=False) > 0


def mask(a, mask_indices, name=None):
    """Slices without those at some indices."""
    from tandem.framework.indexed_slices import IndexedSlices

    wanted = check.with_rank(convert_to_tensor(mask_indices, a.indices.dtype), 1, 1)
    same = execute("Equal", a.indices[:, None], wanted[None, :])
    kept = execute("Where", execute("LogicalNot", execute("Any", same, axis=[1])))[:, 0]
    return IndexedSlices(execute("GatherV2", a.values, kept), execute("GatherV2", a.indices, kept), a.dense_shape)


def fill_empty_rows(sp_input, default_value, name=None):
    """With one element in every row that has none, and which rows those are."""
    sparse_checks.in_bounds(sp_input)
    default_value = convert_to_tensor(default_value, sp_input.dtype)
    check.assert_scalar(default_value, "default_value must be a scalar. ")
    rows = sp_input.dense_shape[0]
    ones = execute("OnesLike", sp_input.indices[:, 0])
    empty = execute("UnsortedSegmentSum", ones, sp_input.indices[:, 0], rows) == 0
    places = execute("Where", empty)
    # The first element of a row: its number, and zeros.
    first = execute("Pad", places, convert_sizes([[0, 0], [0, execute("Size", sp_input.dense_shape) - 1]]))
    indices = execute("ConcatV2", [sp_input.indices, first], axis=0)
    fill = execute("Fill", execute("Shape", places)[:1], default_value)
    values = execute("ConcatV2", [sp_input.values, fill], axis=0)
    return _reordered(SparseTensor(indices, values, sp_input.dense_shape)), empty


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

    def _serialize(self):
        return self.shape, self.dtype

    @classmethod
    def _deserialize(cls, encoded):
        return cls(*encoded)

    def _with_tensor_ranks_only(self):
        return SparseTensorSpec(ranks_only(self.shape), self.dtype)

    def is_compatible_with(self, spec_or_value):
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else getattr(spec_or_value, "_type_spec", None)
        return isinstance(other, SparseTensorSpec) and self.dtype == other.dtype and self.shape.is_compatible_with(other.shape)

    def most_specific_compatible_type(self, other):
        if not isinstance(other, SparseTensorSpec) or self.dtype != other.dtype:
            self._refuse(other)
        return SparseTensorSpec(self.shape.most_specific_compatible_shape(other.shape), self.dtype)

    # As an argument of functions: made of the specs of its parts.
    def _tf_components(self):
        rank = self.shape.rank
        return [TensorSpec([None, rank], int64), TensorSpec([None], self.dtype), TensorSpec([rank], int64)]

    def _tf_key(self):
        return None

    def _tf_accepts(self, value):
        if not isinstance(value, SparseTensor):
            return False
        # Of a function's argument, whose tensors are in slots.
        known = _core.static_value(getattr(value._dense_shape, "tensor", value._dense_shape))
        return known is None or self.shape.is_compatible_with(known.tolist())

    def _tf_rebuild(self, parts):
        if all(isinstance(part, TypeSpec) for part in parts):
            return self
        made = SparseTensor(*parts)
        made._static = self.shape
        return made

    def __repr__(self):
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"
