"""tf.compat.v1.train.Optimizer: gradients, slots, and the operation that applies an update.

An optimizer says how rows change (`_change`): the same formula serves whole variables and, for gradients that are
IndexedSlices, the rows that they name.
"""

from tandem import _core
from tandem._namespaces import get
from tandem.framework import nest
from tandem.framework.indexed_slices import IndexedSlices
from tandem.framework.symbolic_gradients import gradients
from tandem.framework.trackable import Trackable
from tandem.graph_mode import graph as graphs, ops
from tandem.graph_mode.collections import GraphKeys, add_to_collection, get_collection, trainable_variables


class Optimizer(Trackable):
    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots = {}  # name of a slot: {key of a variable: (variable, slot)}
        self._others = {}  # (name, graph): variable
        self._deferred = None

    def get_name(self):
        return self._name

    # ---- Gradients

    def minimize(
        self, loss, global_step=None, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
        colocate_gradients_with_ops=False, name=None, grad_loss=None,
    ):  # fmt: skip
        pairs = self.compute_gradients(loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops,
                                       grad_loss)  # fmt: skip
        if not any(g is not None for g, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, between "
                f"variables {[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self, loss, var_list=None, gate_gradients=GATE_OP, aggregation_method=None, colocate_gradients_with_ops=False,
        grad_loss=None,
    ):  # fmt: skip
        if gate_gradients not in (0, 1, 2):
            raise ValueError("gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                             f"Optimizer.GATE_GRAPH. Not {gate_gradients}")
        if callable(loss):
            return self._by_tape(loss, var_list, grad_loss)
        if _core.executing_eagerly():
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution "
                               "is enabled.")
        wanted = nest.flatten(var_list) if var_list is not None else [
            *trainable_variables(), *get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)]  # fmt: skip
        if not wanted:
            raise ValueError("No variables to optimize.")
        found = gradients(loss, wanted, grad_ys=None if grad_loss is None else [grad_loss])
        return list(zip(found, wanted))

    def _by_tape(self, loss, var_list, grad_loss):
        with get("GradientTape")() as tape:
            if var_list is not None:
                tape.watch([v for v in nest.flatten(var_list) if not v.trainable])
            value = loss()
        wanted = nest.flatten(var_list) if var_list is not None else tape.watched_variables()
        return list(zip(tape.gradient(value, wanted, grad_loss), wanted))

    # ---- Updates

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        pairs = [(_as_gradient(g), v) for g, v in pairs]
        used = [(g, v) for g, v in pairs if g is not None]
        if not used:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        with _unprefixed():
            self._create_slots([v for _, v in used])
        with get("name_scope")(name or self._name) as scope:
            self._prepare()
            updates = [self._update(g, v) for g, v in used]
            done = self._finish(updates, scope)
            if global_step is not None:
                with graphs.control_dependencies([done] if done is not None else []):
                    step = global_step.assign_add(1, read_value=False)
                done = step if ops.is_operation(step) else done
        if ops.is_operation(done):
            train = get_collection(GraphKeys.TRAIN_OP)
            if done not in train:
                add_to_collection(GraphKeys.TRAIN_OP, done)
        return done

    def _update(self, gradient, variable):
        """One operation for a variable and its slots."""
        if isinstance(gradient, IndexedSlices):
            return self._update_rows(gradient, variable)
        slots = {name: of[_key(variable)][1] for name, of in self._slots.items() if _key(variable) in of}
        before = {name: slot.read_value() for name, slot in slots.items()}
        gradient = _core.convert_to_tensor(gradient, variable.dtype)
        value, after = self._change(gradient, variable.read_value(), variable.dtype, **before)
        written = [_write(slots[name], new) for name, new in after.items()]
        new = variable.constraint(value) if getattr(variable, "constraint", None) is not None else value
        return ops.group(*_present([*written, _write(variable, new)]))

    def _update_rows(self, slices, variable):
        indices, rows = _sum_duplicates(slices)
        slots = {name: of[_key(variable)][1] for name, of in self._slots.items() if _key(variable) in of}
        before = {name: slot.sparse_read(indices) for name, slot in slots.items()}
        value, after = self._change(rows, variable.sparse_read(indices), variable.dtype, **before)
        written = [_write_rows(slots[name], indices, new) for name, new in after.items()]
        written.append(_write_rows(variable, indices, value))
        if getattr(variable, "constraint", None) is not None:
            with graphs.control_dependencies(_present(written)):
                written.append(_write(variable, variable.constraint(variable.read_value())))
        return ops.group(*_present(written))

    def _change(self, gradient, value, dtype, **slots):
        """The new value, and {name of a slot: its new value}."""
        raise NotImplementedError(f"{type(self).__name__} has to say how values change: _change().")

    def _create_slots(self, variables):
        """Makes the slots of variables that have none."""

    def _prepare(self):
        """Makes tensors of what the optimizer was made with."""

    def _finish(self, update_ops, name_scope):
        return ops.group(*_present(update_ops), name=name_scope)

    def _number(self, value, dtype):
        """A hyperparameter (a number, a tensor, or a function of nothing) as a scalar of this dtype."""
        value = value() if callable(value) else value
        if isinstance(value, (_core.Tensor, _core.VariableBase)):
            value = _core.convert_to_tensor(value)
            return value if value.dtype is dtype else _core.execute("Cast", value, dtype=dtype)
        return _core.convert_to_tensor(value, dtype)

    # ---- Slots

    def get_slot(self, var, name):
        found = self._slots.get(name, {}).get(_key(var))
        return None if found is None else found[1]

    def get_slot_names(self):
        return sorted(self._slots)

    def variables(self):
        found = [slot for of in self._slots.values() for _, slot in of.values()]
        found += self._others.values()
        return sorted(found, key=lambda v: v.name)

    def _zeros_slot(self, var, slot_name, op_name):
        return self._slot(var, slot_name, op_name, 0.0)

    def _slot(self, var, slot_name, op_name, first):
        of = self._slots.setdefault(slot_name, {})
        if _key(var) not in of:
            of[_key(var)] = var, _slot_variable(var, op_name, first)
        return of[_key(var)][1]

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        return self._slot(var, slot_name, op_name, val)

    def _create_non_slot_variable(self, initial_value, name, colocate_with=None):
        key = name, graphs.current()
        if key not in self._others:
            self._others[key] = _variable(initial_value, name=name, trainable=False)
        return self._others[key]

    def _get_non_slot_variable(self, name, graph=None):
        return self._others.get((name, graph or graphs.current()))


def _variable(value, **options):
    from tandem.inside.ops.variable_v1 import VariableV1

    return VariableV1(value, **options)


def _key(variable):
    return variable._unique_id


def _unprefixed():
    from tandem.graph_mode.scopes import graphs_root

    return graphs_root()


def _slot_variable(var, op_name, first):
    """A variable beside another one: "w/Adam", "w/Adam_1"."""
    from tandem.graph_mode import scopes

    def initial(shape, dtype=None, partition_info=None):
        if isinstance(first, _core.Tensor):
            return first
        return get("fill")(shape, _core.convert_to_tensor(first, var.dtype))

    if graphs.current() is None:
        value = initial(var.shape.as_list())
        return _variable(value, name=f"{var._plain_name}/{op_name}", trainable=False)
    with scopes.variable_scope(None, f"{var.op.name}/{op_name}", reuse=None):
        store = scopes.get_variable_scope()
        store._reuse = False
        return scopes.get_variable(
            "", var.shape, var.dtype, initial, regularizer=None, trainable=False, validate_shape=var.shape.is_fully_defined()
        )


def _as_gradient(gradient):
    if gradient is None or isinstance(gradient, (_core.Tensor, IndexedSlices)):
        return gradient
    try:
        return _core.convert_to_tensor(gradient)
    except TypeError:
        raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {gradient}") from None


def _present(written):
    return [w for w in written if w is not None]


def _write(variable, value):
    return variable.assign(value, read_value=False)


def _write_rows(variable, indices, rows):
    if graphs.current() is None:
        variable.scatter_update(IndexedSlices(rows, indices))
        return None
    from tandem.graph_mode.variables import operation_of_write

    return operation_of_write(variable, "ResourceScatterUpdate", indices, rows)


def _sum_duplicates(slices):
    """Indices without repetition, and the sum of the rows of each."""
    unique, places = get("unique")(slices.indices)
    count = get("shape")(unique)[0]
    return unique, get("math.unsorted_segment_sum")(slices.values, places, count)
