"""tensorflow.python.ops.while_loop: TensorFlow 1's loop, which gives one variable without its list."""

from tandem import _core, _namespaces
from tandem.framework import nest


def while_loop(
    cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None,
    maximum_iterations=None, return_same_structure=False,
):  # fmt: skip
    bare = False

    def step(*values):
        nonlocal bare
        made = body(*values)
        bare = len(loop_vars) == 1 and not isinstance(made, (list, tuple))
        return (made,) if bare else made

    result = _namespaces.get("while_loop")(
        cond, step, loop_vars, shape_invariants, maximum_iterations=maximum_iterations
    )
    if return_same_structure:
        return result
    flat = nest.flatten(result)
    if _core.executing_eagerly():
        return flat[0] if bare else result
    return flat[0] if len(flat) == 1 else result
