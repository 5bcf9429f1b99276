"""tf.Variable."""

import enum
import functools
import weakref

from tandem import _core
from tandem.framework import creation
from tandem.framework.errors import InvalidArgumentError
from tandem.framework.graph import name_in_scope, session_graph
from tandem.framework.tensor import Reference
from tandem.framework.trackable import Trackable


class VariableSynchronization(enum.Enum):
    """When the replicas of a variable are brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How the replicas of a variable are brought together."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


# Variables that live, by the id of their handle: tapes know only handles.
_BY_HANDLE = weakref.WeakValueDictionary()


def variable_of_handle(handle):
    """The living Variable with this handle, or None."""
    return _BY_HANDLE.get(handle)


def variable_of(resource):
    """The variable that a resource is: itself, or the living one with this handle."""
    if isinstance(resource, _core.VariableBase):
        return resource
    found = _BY_HANDLE.get(getattr(resource, "_id", None))
    if found is None:
        raise InvalidArgumentError(None, None, f"Expected the handle of a variable, got {resource!r}.")
    return found


# Says which class tf.Variable(…) makes; set by tandem.distribution, None outside strategies.
_choose_class = None


def _in_graph(form):
    """A variable of a session's graph, which takes the arguments of TensorFlow 1 or 2."""
    from tandem.graph_mode.variables import GraphVariable

    made = _core.VariableBase.__new__(GraphVariable)
    made._form = form
    return made


class Variable(_core.VariableBase, Trackable):
    """A tensor whose value can be replaced. Reading gives a snapshot."""

    def __new__(cls, *args, **kwargs):
        if cls is Variable:
            if session_graph() is not None:
                return _in_graph("v2")
            if creation.creators():
                return _created(args, kwargs)
            if _choose_class is not None:
                cls = _choose_class(kwargs.get("synchronization")) or cls
        return super().__new__(cls)

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        import_scope=None,
        constraint=None,
        synchronization=VariableSynchronization.AUTO,
        aggregation=VariableAggregation.NONE,
        shape=None,
        experimental_enable_variable_lifting=True,
    ):
        if self.__dict__.pop("_was_created", False):  # Python calls it once more for what __new__ returns
            return
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except when you are not providing "
                "a `variable_def`. You provided neither."
            )
        if trainable is None:
            trainable = synchronization is not VariableSynchronization.ON_READ
        creation.check()
        scoped = _base_name(name)
        # A variable outlives the function in which it is made: its first value is an eager one.
        initial_value = creation.first_value(initial_value)
        with _core.init_scope():
            if callable(initial_value):
                initial_value = initial_value()
            if isinstance(initial_value, Trackable) and hasattr(initial_value, "read_value"):
                initial_value = initial_value.read_value()
            value = _core.convert_to_tensor(initial_value, dtype)
            super().__init__(value, name=scoped, trainable=bool(trainable), shape=shape)
        _BY_HANDLE[self.handle._id] = self
        creation.made(self)
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation

    # ---- What it is

    @property
    def name(self):
        return self._plain_name + ":0"

    @property
    def _shared_name(self):
        return self._plain_name

    @property
    def _unique_id(self):
        """Different for every variable of the process; Keras's optimizers keep their slots by it."""
        return f"{self._plain_name}_{self.handle._id}"

    _in_graph_mode = False  # there is a value, whatever is being traced
    op = None  # what a write returns is the variable, which no op has made
    graph = property(lambda self: _no_graph())

    def _as_graph_element(self):
        return None

    @property
    def initializer(self):
        """A variable has its first value when it is made: there is nothing to run."""
        return None

    @property
    def constraint(self):
        return self._constraint

    @property
    def synchronization(self):
        return self._synchronization

    @property
    def aggregation(self):
        return self._aggregation

    @property
    def ndim(self):
        return self.shape.rank

    def get_shape(self):
        return self.shape

    def set_shape(self, shape):
        self.shape.assert_is_compatible_with(shape)

    def ref(self):
        return Reference(self, ("variable", self.handle._id))

    experimental_ref = ref

    # ---- Reading

    def value(self):
        return self.read_value()

    def numpy(self):
        return self.read_value().numpy()

    def __array__(self, dtype=None, copy=None):
        return self.read_value().__array__(dtype, copy)

    __array_priority__ = 100

    def __bool__(self):
        return bool(self.read_value())

    def __int__(self):
        return int(self.read_value())

    def __float__(self):
        return float(self.read_value())

    def __index__(self):
        return self.read_value().__index__()

    def __len__(self):
        return len(self.read_value())

    def __tf_tensor__(self, dtype=None, name=None):
        return _core.convert_to_tensor(self.read_value(), dtype)

    def sparse_read(self, indices, name=None):
        return _core.execute("ResourceGather", self, indices)

    # ---- Writing

    def _assign(self, op, value, read_value):
        if op == "AssignVariableOp":
            value = _core.convert_to_tensor(value, self.dtype)
            if not self.shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable shape "
                    f"{self.shape}, and the assigned value shape {value.shape} are incompatible."
                )
        self._update(op, value)
        return self if read_value else None

    def assign(self, value, use_locking=False, name=None, read_value=True):
        return self._assign("AssignVariableOp", value, read_value)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        return self._assign("AssignAddVariableOp", delta, read_value)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        return self._assign("AssignSubVariableOp", delta, read_value)

    def _scatter(self, op, slices):
        self._update(op, slices.indices, slices.values)
        return self

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("ResourceScatterUpdate", sparse_delta)

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("ResourceScatterAdd", sparse_delta)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("ResourceScatterSub", sparse_delta)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("ResourceScatterMul", sparse_delta)

    def scatter_div(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("ResourceScatterDiv", sparse_delta)

    def scatter_max(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("ResourceScatterMax", sparse_delta)

    def scatter_min(self, sparse_delta, use_locking=False, name=None):
        return self._scatter("ResourceScatterMin", sparse_delta)

    def _scatter_nd(self, op, indices, updates):
        value = _core.execute(op, self.read_value(), indices, _core.convert_to_tensor(updates, self.dtype))
        return self.assign(value)

    def scatter_nd_add(self, indices, updates, name=None):
        return self._scatter_nd("TensorScatterAdd", indices, updates)

    def scatter_nd_sub(self, indices, updates, name=None):
        return self._scatter_nd("TensorScatterSub", indices, updates)

    def __getitem__(self, key):
        """A part of the value. It can be assigned to: `v[1].assign(2.)` changes the variable."""
        part = super().__getitem__(key)
        if isinstance(part, _core.Tensor):
            part.assign = functools.partial(self._assign_part, key)
        return part

    def _assign_part(self, key, value, use_locking=False, name=None, read_value=True):
        execute = _core.execute
        before = self.read_value()
        shape = execute("Shape", before)
        numbers = execute("Reshape", execute("Range", 0, execute("Size", before), 1), shape)[key]
        new = execute("BroadcastTo", _core.convert_to_tensor(value, self.dtype), execute("Shape", numbers))
        flat = (execute("Reshape", before, [-1]), execute("Reshape", numbers, [-1, 1]), execute("Reshape", new, [-1]))
        return self.assign(execute("Reshape", execute("TensorScatterUpdate", *flat), shape), read_value=read_value)

    def scatter_nd_update(self, indices, updates, name=None):
        return self._scatter_nd("TensorScatterUpdate", indices, updates)

    def scatter_nd_max(self, indices, updates, name=None):
        return self._scatter_nd("TensorScatterMax", indices, updates)

    def scatter_nd_min(self, indices, updates, name=None):
        return self._scatter_nd("TensorScatterMin", indices, updates)

    def batch_scatter_update(self, sparse_delta, use_locking=False, name=None):
        indices = _core.convert_to_tensor(sparse_delta.indices)
        rows = _core.execute("Range", 0, _core.execute("Shape", indices)[0], 1)
        rows = _core.execute("BroadcastTo", _core.execute("Cast", rows, dtype=indices.dtype)[:, None],
                             _core.execute("Shape", indices))  # fmt: skip
        places = _core.execute("Pack", [rows, indices], axis=-1)
        return self._scatter_nd("TensorScatterUpdate", places, sparse_delta.values)

    def gather_nd(self, indices, name=None):
        return _core.execute("GatherNd", self.read_value(), indices)

    def count_up_to(self, limit):
        from tandem.framework.errors import OutOfRangeError

        value = self.read_value()
        if int(value) >= limit:
            raise OutOfRangeError(None, None, f"Reached limit of {limit}")
        self.assign_add(1)
        return value

    def is_initialized(self, name=None):
        return _core.convert_to_tensor(True)

    def initialized_value(self):
        return self.read_value()

    # ---- Checkpoints

    def _serialize_to_tensors(self):
        return {"VARIABLE_VALUE": self}

    def _restore_from_tensors(self, restored_tensors):
        value = restored_tensors["VARIABLE_VALUE"]
        if value.dtype != self.dtype:
            raise InvalidArgumentError(
                None, None,
                f"tensor_name = {self.name}; expected dtype {self.dtype.name} does not equal original dtype "
                f"{value.dtype.name}",
            )  # fmt: skip
        if not self.shape.is_compatible_with(value.shape):
            raise ValueError(
                f"Received incompatible tensor with shape {value.shape} when attempting to restore variable with "
                f"shape {self.shape} and name {self.name}."
            )
        return self.assign(value)

    # ---- Copies

    def __deepcopy__(self, memo):
        copy = Variable(
            self.read_value(), trainable=self.trainable, name=self._plain_name, shape=self.shape,
            constraint=self._constraint, synchronization=self._synchronization, aggregation=self._aggregation,
        )  # fmt: skip
        memo[id(self)] = copy
        return copy

    def __reduce__(self):
        return _rebuild, (self.numpy(), self.dtype, self._plain_name, self.trainable, self.shape)


_DEFAULTS = Variable.__init__.__defaults__


def _created(args, kwargs):
    """What the creators around make of the arguments of tf.Variable(…)."""
    arguments = dict(zip(creation.PARAMETERS, _DEFAULTS))
    arguments.update(zip(creation.PARAMETERS, args), **kwargs)
    made = creation.through_creators(Variable, arguments)
    if isinstance(made, Variable):
        made._was_created = True
    return made


def _rebuild(value, dtype, name, trainable, shape):
    return Variable(value, dtype=dtype, name=name, trainable=trainable, shape=shape)


def _no_graph():
    raise AttributeError("Variable.graph is undefined: variables belong to no graph.")


def _base_name(name):
    """The name with those of the scopes around."""
    return name_in_scope("Variable" if name is None else str(name))
