"""Names of tf that few programs use and that are a line or two here: operators as functions, xla, marks of tests."""

import contextlib

from tandem._core import convert_to_tensor, execute

# ---- tf.__operators__


def add(x, y, name=None):
    """x + y, of numbers and texts."""
    x = convert_to_tensor(x)
    return execute("Add" if x.dtype.name == "string" else "AddV2", x, y)


def eq(self, other):
    """self == other as elements; false where other is None."""
    return False if other is None else self == other


def ne(self, other):
    """self != other as elements; true where other is None."""
    return True if other is None else self != other


def getitem(tensor, slice_spec, var=None):
    """tensor[slice_spec]."""
    return tensor[slice_spec]


def ragged_getitem(rt_input, key):
    """The same of a ragged tensor."""
    return rt_input[key]


# ---- tf.xla


def compile(computation, inputs=None):  # noqa: A001
    """What a function gives, computed as one compiled function; operations without results give None."""
    from tandem.framework.function import function

    inputs = [] if inputs is None else list(inputs)
    return function(computation)(*map(convert_to_tensor, inputs))


@contextlib.contextmanager
def jit_scope(compile_ops=True, separate_compiled_gradients=False):
    """Tandem compiles functions whole: nothing to choose."""
    yield


# ---- tf.experimental, tf.saved_model, tf.test


@contextlib.contextmanager
def function_executor_type(executor_type):
    """Tandem has one way to run functions: nothing to choose."""
    yield


def as_dict(value):
    """The fields of an extension type by name."""
    if not hasattr(type(value), "_tf_field_names"):
        raise TypeError(f"as_dict takes an object of an extension type, got {value!r}.")
    return {name: getattr(value, name) for name in type(value)._tf_field_names}


def with_eager_op_as_function(cls=None, only_as_function=False):
    """Ops run in one way here: the tests of a class as they are."""
    return (lambda decorated: decorated) if cls is None else cls


def nondifferentiable_batch_function(
    num_batch_threads, max_batch_size, batch_timeout_micros, allowed_batch_sizes=None, max_enqueued_batches=10, autograph=True,
    enable_large_batch_splitting=True,
):  # fmt: skip
    """A function whose calls could be brought together; here each call is computed by itself, with the same results."""

    def decorate(function):
        from tandem.framework.function import function as compiled

        made = compiled(function, autograph=autograph)

        def call(*args):
            if any(a.shape.rank == 0 for a in map(convert_to_tensor, args)):
                from tandem.framework.errors import InvalidArgumentError

                raise InvalidArgumentError(None, None, "Batching input tensors must have at least one dimension")
            return made(*args)

        return call

    return decorate
