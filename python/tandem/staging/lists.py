"""List idioms of converted code (Feature.LISTS): a list that a staged loop appends to becomes a TensorArray."""

import collections

from tandem import _core
from tandem.ops.tensor_array import TensorArray
from tandem.staging.values import in_loop

ListStackOpts = collections.namedtuple("ListStackOpts", ("element_dtype", "original_call"))
ListPopOpts = collections.namedtuple("ListPopOpts", ("element_dtype", "element_shape"))
GetItemOpts = collections.namedtuple("GetItemOpts", ("element_dtype",))


def new_list(elements=None):
    return list(elements) if elements else []


def list_append(list_, x):
    if isinstance(list_, TensorArray):
        return list_.write(list_.size(), x)
    if in_loop() and type(list_) is list:
        # The loop looks at what its body leaves: the list from before must stay as it was.
        return [*list_, x]
    list_.append(x)
    return list_


def array_of(list_, longer):
    """A TensorArray of the elements of a list that a loop makes longer."""
    like = _core.convert_to_tensor(longer[-1])
    array = TensorArray(like.dtype, len(list_), dynamic_size=True, clear_after_read=False, element_shape=like.shape)
    for i, element in enumerate(list_):
        array = array.write(i, element)
    return array


def list_pop(list_, i, opts):
    if isinstance(list_, TensorArray):
        raise NotImplementedError("pop() from a list of a staged loop is not available: read the last element.")
    return (list_, list_.pop() if i is None else list_.pop(i))


def list_stack(list_, opts):
    if isinstance(list_, TensorArray):
        return list_.stack()
    return opts.original_call(list_)


def get_item(target, i, opts):
    return target.read(i) if isinstance(target, TensorArray) else target[i]


def set_item(target, i, x):
    if isinstance(target, TensorArray):
        return target.write(i, x)
    if isinstance(target, _core.Tensor):
        return _core.execute("TensorScatterUpdate", target, [[i]], [x])
    target[i] = x
    return target


def staged_call(f, args):
    """tf.stack and tf.concat of what was a list before a loop appended to it."""
    if not args or not isinstance(args[0], TensorArray):
        return None
    name = getattr(f, "__name__", "")
    if name == "stack":
        return args[0].stack
    if name == "concat":
        return args[0].concat
    return None
