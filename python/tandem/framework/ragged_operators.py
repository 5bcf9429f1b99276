"""Python's operators and elementwise ops on ragged tensors: what an operand is in places of the other's values."""

import operator

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import int64

BINARY = frozenset(
    """Add AddV2 Sub Mul RealDiv FloorDiv FloorMod TruncateDiv TruncateMod Pow Maximum Minimum SquaredDifference Equal
    NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr Atan2 DivNoNan MulNoNan Xdivy Xlogy BitwiseAnd
    BitwiseOr BitwiseXor""".split()
)
ELEMENTWISE = BINARY | frozenset(
    """Abs Neg Sign Square Sqrt Rsqrt Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh
    Sigmoid Floor Ceil Round Rint Erf Erfc Lgamma Digamma IsNan IsInf IsFinite LogicalNot Relu Relu6 Elu Selu Gelu Silu
    LeakyRelu Softplus Softsign Reciprocal Cast OneHot Identity ZerosLike OnesLike StopGradient ClipByValue AsString
    StringLength StringLower StringUpper StringStrip StringToNumber StaticRegexReplace StaticRegexFullMatch Substr
    StringToHashBucket StringToHashBucketFast StringToHashBucketStrong""".split()
)


class RaggedOperators:
    """Base of RaggedTensor, its only subclass."""

    def __abs__(self):
        return self.with_flat_values(abs(self.flat_values))

    def __neg__(self):
        return self.with_flat_values(-self.flat_values)

    def __invert__(self):
        return self.with_flat_values(~self.flat_values)


def assert_same_rows(a, b):
    """That two ragged tensors have rows of the same lengths."""
    from tandem.ops.check import assert_equal

    if a is b:
        return
    if a.ragged_rank != b.ragged_rank:
        raise ValueError(f"Ragged tensors of {a.ragged_rank} and {b.ragged_rank} ragged dimensions do not go together in Tandem.")
    for mine, theirs in zip(a.nested_row_splits, b.nested_row_splits):
        if mine is not theirs:
            assert_equal(execute("Cast", mine, dtype=int64), execute("Cast", theirs, dtype=int64),
                         "The rows of two ragged tensors differ in length.")  # fmt: skip


def operand(x, like, dtype=None):
    """An operand beside the flat values of a ragged tensor: ragged with the same rows, or dense and broadcast."""
    if isinstance(x, RaggedOperators):
        assert_same_rows(like, x)
        return x.flat_values
    x = convert_to_tensor(x, like.dtype if dtype is None else dtype)
    rank = x.shape.rank
    if rank is None:
        from tandem.ops.ranks import by_rank

        return by_rank(lambda known: operand(known, like), x, 0, like.shape.rank)
    if rank > like.shape.rank:
        raise ValueError(f"An operand of shape {x.shape} has more dimensions than a ragged tensor of shape {like.shape}.")
    return x if not rank else _broadcast(x, like)


def _broadcast(x, like):
    """Dimensions are aligned at the last one, as those of arrays are. One ragged dimension at a time is left behind."""
    from tandem.ops.check import assert_equal

    while isinstance(like, RaggedOperators):
        rank = like.shape.rank
        if x.shape.rank == rank and x.shape[0] == 1:
            x = x[0]
        if x.shape.rank == rank - 1 and x.shape[0] == 1:
            x = x[0]
        if x.shape.rank >= rank - 1:
            sizes = execute("Shape", x, out_type=int64)
            if x.shape.rank == rank:
                assert_equal(sizes[0], like.nrows(int64), "A dense operand has another number of rows.")
            width = sizes[x.shape.rank - rank + 1]
            if x.shape.rank == rank and x.shape[1] == 1:
                x = execute("GatherV2", execute("Squeeze", x, axis=[1]), like.value_rowids())
            else:
                assert_equal(execute("Cast", like.row_lengths(), dtype=int64), width, "A dense operand has rows of another length.")
                x = _all_rows(x, like, sizes, rank)
        like = like.values
    return x


def _all_rows(x, like, sizes, rank):
    """The rows one after the other; a single row as often as there are rows."""
    if x.shape.rank == rank:
        inner = sizes[2:]
        return execute("Reshape", x, execute("ConcatV2", [sizes[:1] * sizes[1:2], inner], axis=0))
    rows = execute("Reshape", like.nrows(int64), [1])
    return execute("Tile", x, execute("ConcatV2", [rows, execute("OnesLike", sizes[1:])], axis=0))


def _binary(name):
    function = getattr(operator, name)

    def forward(self, other):
        return self.with_flat_values(function(self.flat_values, operand(other, self)))

    def backward(self, other):
        return self.with_flat_values(function(operand(other, self), self.flat_values))

    return forward, backward


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
    _forward, _backward = _binary(_name)
    setattr(RaggedOperators, f"__{_name.rstrip('_')}__", _forward)
    setattr(RaggedOperators, f"__r{_name.rstrip('_')}__", _backward)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(RaggedOperators, f"__{_name}__", _binary(_name)[0])
