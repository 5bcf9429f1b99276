"""Diagonals of matrices whose number, k, is only known when the function runs: elements picked by their places."""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import int32


def is_later(k):
    """Whether k is one number that only a run knows."""
    return isinstance(k, _core.Tensor) and k._symbolic and k.shape.rank == 0 and _core.static_value(k) is None


def _none():
    return convert_to_tensor(0, int32)


def _starts(k):
    """The row and the column where the diagonal begins."""
    k = execute("Cast", k, dtype=int32)
    return k, execute("Maximum", -k, _none()), execute("Maximum", k, _none())


def _on_diagonal(diagonal, k, rows, columns):
    """Where the diagonal runs in matrices of that size, and for every row its element."""
    k, first_row, _ = _starts(k)
    row, column = (execute("Range", _none(), execute("Cast", n, dtype=int32), 1) for n in (rows, columns))
    last = execute("Maximum", execute("Shape", diagonal)[-1] - 1, _none())
    place = execute("Minimum", execute("Maximum", row - first_row, _none()), last)
    values = execute("GatherV2", diagonal, place, axis=diagonal.shape.rank - 1)
    return execute("Equal", column[None, :] - row[:, None], k), execute("ExpandDims", values, axis=-1)


def diag(diagonal, k, padding):
    """Matrices with these diagonals, and the padding elsewhere."""
    size = execute("Shape", diagonal)[-1] + execute("Abs", execute("Cast", k, dtype=int32))
    on, values = _on_diagonal(diagonal, k, size, size)
    return execute("SelectV2", on, values, padding)


def set_diag(matrices, diagonal, k):
    """The matrices with other elements on that diagonal."""
    sizes = execute("Shape", matrices)
    on, values = _on_diagonal(diagonal, k, sizes[-2], sizes[-1])
    result = execute("SelectV2", on, values, matrices)
    result.set_shape(matrices.shape)
    return result


def diag_part(matrices, k):
    """The elements on that diagonal."""
    _, row, column = _starts(k)
    sizes, rank = execute("Shape", matrices), matrices.shape.rank
    rows, columns = sizes[-2], sizes[-1]
    count = execute("Minimum", rows - row, columns - column)
    steps = execute("Range", _none(), count, 1)
    flat = execute("Reshape", matrices, execute("ConcatV2", [sizes[:-2], [-1]], axis=0))
    flat.set_shape([*matrices.shape.as_list()[:-2], None])
    return execute("GatherV2", flat, (row + steps) * columns + column + steps, axis=rank - 2)
