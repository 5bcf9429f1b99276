"""tf.map_fn over the rows of ragged or sparse tensors, and with such rows as results."""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework import composites, nest
from tandem.framework.dtypes import int64
from tandem.framework.graph import FuncGraph
from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
from tandem.framework.sparse import SparseTensor, SparseTensorSpec, retain
from tandem.framework.spec import TensorSpec
from tandem.ops.control_flow import as_tensor, plain_form, require_form, while_loop
from tandem.ops.functional import of_dtype
from tandem.ops.sizes import as_int32
from tandem.ops.tensor_array import TensorArray


def row_of(value, index):
    """Row `index` of a tensor, which may be ragged or sparse, or of None; the index may be a tensor."""
    if value is None:
        return None
    if isinstance(value, SparseTensor):
        here = retain(value, execute("Equal", value.indices[:, 0], execute("Cast", index, dtype=int64)))
        return SparseTensor(here.indices[:, 1:], here.values, here.dense_shape[1:])
    if not isinstance(value, RaggedTensor):
        return value[index]
    return between(value.values, value.row_splits[:-1][index], value.row_splits[1:][index])


def between(value, begin, end):
    """Rows `begin` to `end` of a tensor, which may be ragged."""
    if not isinstance(value, RaggedTensor):
        return value[begin:end]
    splits = value.row_splits[begin : end + 1]
    inner = between(value.values, splits[0], splits[-1])
    return RaggedTensor(inner, splits - splits[0], internal=True, uniform_row_length=value._uniform)


class _Results:
    """The results of all turns for one leaf: of one shape, or rows of any length, whose lengths are kept, too."""

    def __init__(self, spec, count, shape):
        self.varies = isinstance(spec, RaggedTensorSpec)
        self._levels = 1 + spec.ragged_rank if self.varies else 0
        self.dtype = _core.as_dtype(getattr(spec, "dtype", spec))
        if self.varies:
            known = spec.shape.rank is not None
            shape = [None, *spec.shape.as_list()[self._levels :]] if known else None
        self.arrays = [TensorArray(self.dtype, size=count, infer_shape=False, element_shape=shape)]
        for _ in range(self._levels):
            self.arrays.append(TensorArray(int64, size=count, infer_shape=False, element_shape=[None]))

    def write(self, arrays, index, value):
        if not self.varies:
            return [arrays[0].write(index, of_dtype(value, self.dtype))]
        lengths, inner = [], value
        for _ in range(self._levels - 1):
            if not isinstance(inner, RaggedTensor):
                raise ValueError(f"The function returned {value!r} where a ragged tensor of {self._levels - 1} ragged dimensions was expected.")
            lengths.append(execute("Cast", inner.row_lengths(), dtype=int64))
            inner = inner.values
        flat = of_dtype(inner.to_tensor() if isinstance(inner, RaggedTensor) else inner, self.dtype)
        outer = value.nrows(int64) if isinstance(value, RaggedTensor) else execute("Shape", flat, out_type=int64)[0]
        parts = [flat, execute("ExpandDims", outer, axis=0), *lengths]
        return [array.write(index, part) for array, part in zip(arrays, parts)]

    def result(self, arrays):
        if not self.varies:
            return arrays[0].stack()
        flat, *lengths = [array.concat() for array in arrays]
        return RaggedTensor.from_nested_row_lengths(flat, lengths, validate=False)


class _SparseResults:
    """Sparse rows: their parts, of which the index gets the number of the row in front."""

    def __init__(self, spec, count, shape):
        rank = spec.shape.rank
        self.arrays = [TensorArray(spec.dtype, size=count, infer_shape=False, element_shape=[None])]
        for shape in ([None, rank], [1], [rank]):
            self.arrays.append(TensorArray(int64, size=count, infer_shape=False, element_shape=shape))

    def write(self, arrays, index, value):
        if not isinstance(value, SparseTensor):
            raise TypeError(f"The function returned {value!r} where a sparse row was expected: give fn_output_signature.")
        parts = [value.values, value.indices, execute("Shape", value.values, out_type=int64), value.dense_shape]
        return [array.write(index, part) for array, part in zip(arrays, parts)]

    def result(self, arrays):
        from tandem.ops.array import repeat

        values, indices, counts = (array.concat() for array in arrays[:3])
        size = execute("Size", counts, out_type=int64)
        numbers = execute("Range", convert_to_tensor(0, int64), size, convert_to_tensor(1, int64))
        rows = execute("ExpandDims", repeat(numbers, counts), axis=1)
        # Without rows the largest size is the smallest number there is.
        largest = execute("Maximum", execute("Max", arrays[3].stack(), axis=0), convert_to_tensor(0, int64))
        shape = execute("ConcatV2", [execute("ExpandDims", size, axis=0), largest], axis=0)
        return SparseTensor(execute("ConcatV2", [rows, indices], axis=1), values, shape)


class _NoResults:
    """None in every turn."""

    arrays = ()

    def __init__(self, spec, count, shape):
        pass

    def write(self, arrays, index, value):
        if value is not None:
            raise ValueError(f"The function returned {value!r} where None was expected.")
        return []

    def result(self, arrays):
        return None


def _kind_of_results(spec):
    if spec is None:
        return _NoResults
    return _SparseResults if isinstance(spec, SparseTensorSpec) else _Results


def _form(structure):
    """The form of a structure (composites.number) whatever its leaves are."""
    return composites.number(nest.map_structure(lambda leaf: "", structure), [])


def _like_row(value):
    """The signature of a row: without one, results are like elems."""
    if value is None:
        return None
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec(value.shape[1:], value.dtype, value.ragged_rank - 1)
    if isinstance(value, SparseTensor):
        rank = value.dense_shape.shape[0]  # known in a trace, where sizes are not
        unknown = value.shape.rank is None and rank is not None
        return SparseTensorSpec([None] * (rank - 1) if unknown else value.shape[1:], value.dtype)
    return TensorSpec(None, value.dtype)


def _absent_row(value):
    """What a row would be where there are none."""
    if value is None:
        return None
    if isinstance(value, SparseTensor):
        return SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
    if isinstance(value, RaggedTensor):
        return value.values
    return execute("Fill", execute("Shape", value)[1:], convert_to_tensor("" if value.dtype.name == "string" else 0, value.dtype))


def _shapes_made(fn, elems, flat):
    """The shapes of the results without any row: a row that is not there, traced and forgotten."""
    with FuncGraph("scratch").as_default():
        made = fn(nest.pack_sequence_as(elems, [_absent_row(e) for e in flat]))
        return [getattr(leaf, "shape", ()) for leaf in nest.flatten(made)]


def _count(value):
    if isinstance(value, SparseTensor):
        return value.dense_shape[0]
    return value.nrows() if isinstance(value, RaggedTensor) else execute("Shape", value, out_type=int64)[0]


def ragged_map_fn(fn, elems, signature):
    """fn of each row, the results put together."""
    flat = [e if isinstance(e, (RaggedTensor, SparseTensor)) else as_tensor(e) for e in nest.flatten(elems)]
    if signature is None:
        signature = nest.pack_sequence_as(elems, [_like_row(e) for e in flat])
    first = next(e for e in flat if e is not None)
    count = as_int32(_count(first), "the number of rows")
    kinds = [_kind_of_results(spec) for spec in nest.flatten(signature)]
    # Arrays that stay empty cannot tell the shape of what would have been in them.
    shapes = _shapes_made(fn, elems, flat) if _core.static_value(count) == 0 else [None] * len(kinds)
    results = [kind(spec, count, shape) for kind, spec, shape in zip(kinds, nest.flatten(signature), shapes)]

    wanted = plain_form(_form(signature))

    def body(i, arrays):
        made = fn(nest.pack_sequence_as(elems, [row_of(e, i) for e in flat]))
        require_form(_form(made), wanted, made, signature, "The function of each row returned")
        return i + 1, [r.write(a, i, value) for r, a, value in zip(results, arrays, nest.flatten(made))]

    start = (convert_to_tensor(0), [list(r.arrays) for r in results])
    _, arrays = while_loop(lambda i, arrays: i < count, body, start)
    return nest.pack_sequence_as(signature, [r.result(a) for r, a in zip(results, arrays)])
