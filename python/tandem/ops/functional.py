"""tf.map_fn, tf.scan, tf.foldl, tf.foldr, tf.vectorized_map: loops over the rows of tensors."""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.extension import batches
from tandem.framework import composites, nest
from tandem.framework.graph import FuncGraph
from tandem.framework.spec import TensorSpec
from tandem.ops import check
from tandem.ops.control_flow import as_tensor, plain_form, require_form, while_loop
from tandem.ops.tensor_array import TensorArray


class _Rows:
    """The rows of the tensors of a structure."""

    def __init__(self, elems, what):
        # As in TensorFlow, None is its own row for map_fn, and no tensor for the others.
        convert = as_tensor if what == "map_fn" else convert_to_tensor
        self._elems = composites.rebuild(elems, lambda leaf, path: convert(leaf))
        self._flat = [leaf for leaf in composites.leaves(self._elems) if leaf is not None]
        if not self._flat:
            raise ValueError(f"tf.{what}: elems must contain at least one Tensor.")
        for tensor in self._flat:
            if tensor.shape.rank == 0:
                raise ValueError(f"tf.{what}: elements in elems must be 1+ dimensional Tensors, not scalars.")
        known = {t.shape[0] for t in self._flat if t.shape.rank is not None} - {None}
        if len(known) > 1:
            raise ValueError(f"tf.{what}: elems differ in their first dimension: {sorted(known)}.")
        self.static_count = known.pop() if known else None
        open_ones = [t for t in self._flat if t.shape.rank is None or t.shape[0] is None]
        if len(self._flat) > 1:
            for tensor in open_ones:
                message = f"tf.{what}: elems differ in their first dimension."
                check.assert_equal(execute("Shape", tensor)[0], self.count, message=message)
        self._form = composites.number(batches.rows(self._elems), [])
        self._arrays = [TensorArray(t.dtype, 0, clear_after_read=False).unstack(t) for t in self._flat]

    @property
    def count(self):
        if self.static_count is not None:
            return convert_to_tensor(self.static_count)
        return execute("Shape", self._flat[0])[0]

    def row(self, index):
        return composites.unpack(self._form, [array.read(index) for array in self._arrays])


def _arrays(structure, count):
    """One TensorArray per tensor of the structure, which may be of specs, dtypes or tensors."""
    return [
        TensorArray(getattr(s, "dtype", s), size=count, element_shape=getattr(s, "shape", None))
        for s in composites.leaves(structure)
        if s is not None
    ]


def map_fn(
    fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None,
    fn_output_signature=None,
):  # fmt: skip
    """fn of each row, the results stacked."""
    if not callable(fn):
        raise TypeError(f"The provided function {fn} is not callable. fn must be callable.")
    signature = fn_output_signature if fn_output_signature is not None else dtype
    if _rows_differ(elems) or _rows_differ(signature):
        from tandem.ops.ragged_map import ragged_map_fn

        return ragged_map_fn(fn, elems, signature)
    rows = _Rows(elems, "map_fn")
    if signature is None:
        # As in TensorFlow: without a signature results are like elems.
        specs = composites.rebuild(rows._elems, lambda t, path: None if t is None else TensorSpec(None, t.dtype))
        signature = batches.rows(specs)
    for spec in nest.flatten(signature):
        if _core.is_tensor_like(spec):
            raise TypeError(f"fn_output_signature takes dtypes and specs, not tensors: {spec!r}.")
    if rows.static_count == 0:
        signature = _made_of_a_row(rows, fn)
    return _stacked(rows, fn, signature)


def _made_of_a_row(rows, fn):
    """What the results are: one row, traced and forgotten."""
    with FuncGraph("scratch").as_default():
        made = composites.rebuild(fn(rows.row(0)), lambda leaf, path: as_tensor(leaf))
        return composites.rebuild(made, lambda t, path: None if t is None else TensorSpec(t.shape, t.dtype))


def _rows_differ(structure):
    from tandem.framework.ragged import RaggedTensor, RaggedTensorSpec
    from tandem.framework.sparse import SparseTensor, SparseTensorSpec

    kinds = (RaggedTensor, RaggedTensorSpec, SparseTensor, SparseTensorSpec)
    return any(isinstance(leaf, kinds) for leaf in nest.flatten(structure))


def _stacked(rows, fn, signature):
    count = rows.count
    form = composites.number(batches.stacked(signature, rows.static_count), [])
    row = plain_form(composites.number(signature, []))
    dtypes = [_core.as_dtype(getattr(s, "dtype", s)) for s in composites.leaves(signature) if s is not None]

    def body(i, arrays):
        result, tensors = fn(rows.row(i)), []
        require_form(composites.number(result, tensors), row, result, signature, "The function of each row returned")
        values = [of_dtype(t, d) for t, d in zip(tensors, dtypes)]
        return i + 1, [a.write(i, v) for a, v in zip(arrays, values)]

    arrays = _arrays(signature, count)
    _, arrays = while_loop(lambda i, arrays: i < count, body, (convert_to_tensor(0), arrays))
    return composites.unpack(form, [_with_count(a.stack(), rows.static_count) for a in arrays])


def of_dtype(value, dtype):
    value = convert_to_tensor(value) if _core.is_tensor_like(value) else convert_to_tensor(value, dtype)
    if value.dtype != dtype:
        raise TypeError(
            f"The function returned a tensor of {value.dtype!r} where {dtype!r} was expected. Give the dtype of the "
            "results in fn_output_signature."
        )
    return value


def _with_count(tensor, count):
    if tensor._symbolic and count is not None and tensor.shape.rank is not None:
        tensor.set_shape([count, *tensor.shape.as_list()[1:]])
    return tensor


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """fn of each row, the results stacked; their dtypes need not be given."""
    if _rows_differ(elems):
        return map_fn(fn, elems)
    rows = _Rows(elems, "vectorized_map")
    if rows.static_count == 0 and _core.executing_eagerly():
        return _of_no_rows(fn, rows._elems)
    return _stacked(rows, fn, _made_of_a_row(rows, fn))


def _of_no_rows(fn, elems):
    """What the function would give of a row: it is traced for a number of rows that is not known, and never run."""
    from tandem.framework.function import function

    opened = lambda leaf, path: TensorSpec([None, *leaf.shape[1:]], leaf.dtype)  # noqa: E731
    specs = composites.rebuild(elems, opened)
    return function(lambda given: vectorized_map(fn, given), input_signature=[specs], autograph=False)(elems)


def _fold(fn, elems, initializer, reverse, what, keep):
    """The last state, and with `keep` the states of all turns stacked."""
    if not callable(fn):
        raise TypeError(f"{fn} is not callable.")
    rows = _Rows(elems, what)
    count = rows.count
    start = 0
    if initializer is None:
        if rows.static_count == 0:
            raise ValueError(f"tf.{what}: elems has no rows and there is no initializer.")
        state, start = rows.row(count - 1 if reverse else convert_to_tensor(0)), 1
    else:
        state = composites.rebuild(initializer, lambda leaf, path: convert_to_tensor(leaf))
    form = composites.number(state, [])
    wanted = plain_form(form)
    tensors = composites.leaves(state)
    arrays = _arrays(state, count) if keep else []

    def place(turn):
        return count - 1 - turn if reverse else turn

    if keep and start:
        arrays = [a.write(place(0), t) for a, t in zip(arrays, tensors)]

    def body(turn, tensors, arrays):
        at = place(turn)
        result, made = fn(composites.unpack(form, tensors), rows.row(at)), []
        require_form(composites.number(result, made), wanted, result, state, "The function of each row returned")
        made = [of_dtype(v, t.dtype) for v, t in zip(made, tensors)]
        return turn + 1, made, [a.write(at, v) for a, v in zip(arrays, made)]

    loop = (convert_to_tensor(start), tensors, arrays)
    _, tensors, arrays = while_loop(lambda turn, *rest: turn < count, body, loop)
    if keep:
        return composites.unpack(form, [_with_count(a.stack(), rows.static_count) for a in arrays])
    return composites.unpack(form, tensors)


def scan(
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
    reverse=False, name=None,
):  # fmt: skip
    """fn of what came before and of each row, all results stacked."""
    return _fold(fn, elems, initializer, reverse, "scan", True)


def foldl(
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None
):
    """fn of what came before and of each row, the last result."""
    return _fold(fn, elems, initializer, False, "foldl", False)


def foldr(
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None
):
    """foldl from the last row to the first."""
    return _fold(fn, elems, initializer, True, "foldr", False)
