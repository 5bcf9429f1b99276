"""Functions whose Python code asks for ranks, of tensors whose ranks are known only when a traced function runs."""

import numpy as np

from tandem._core import convert_to_tensor, execute
from tandem.framework import composites
from tandem.framework.errors import InvalidArgumentError
from tandem.ops import check
from tandem.ops.control_flow import switch_case

MOST = 8  # of what most ops take


def least_rank(axes):
    """Of a tensor that has these axes."""
    return 0 if axes is None else max((a + 1 if a >= 0 else -a for a in np.reshape(axes, -1).tolist()), default=0)


def by_rank(function, tensor, least=0, most=MOST):
    """function(tensor). Where the rank is not known, each one from `least` to `most` is a branch, and the one that the
    tensor has is taken when the function runs; others, and those that the function refuses, are refused then. All branches
    give one structure."""
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank is not None:
        return function(tensor)
    made = []

    def of_rank(rank):
        def branch():
            try:
                made.append(function(execute("EnsureShape", tensor, shape=[None] * rank)))
            except (ValueError, InvalidArgumentError) as error:
                if not made:
                    raise
                return refused(str(error))
            return made[-1]

        return branch

    def refused(why=f"The rank must be {least} to {most}."):
        check.Assert(convert_to_tensor(False), [why, "shape:", execute("Shape", tensor)])
        return composites.rebuild(made[0], lambda leaf, path: None if leaf is None else _anything_like(leaf))

    rank = execute("Rank", tensor)
    return switch_case(rank - least, [of_rank(r) for r in range(least, most + 1)], default=refused)


def _anything_like(leaf):
    """What nobody sees, for an assertion has failed."""
    leaf = convert_to_tensor(leaf)
    sizes = [1] * (leaf.shape.rank or 0)
    nothing = "" if leaf.dtype.name == "string" else False if leaf.dtype.is_bool else 0
    return execute("Fill", sizes, convert_to_tensor(nothing, leaf.dtype))
