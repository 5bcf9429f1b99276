"""tf.train.ExponentialMovingAverage of the variables and tensors of a graph."""

from tandem import _core
from tandem._namespaces import get
from tandem.graph_mode import graph as graphs, ops
from tandem.graph_mode.collections import GraphKeys, add_to_collection, moving_average_variables, trainable_variables
from tandem.graph_mode.optimizer import _slot_variable
from tandem.ops.moving_average import ExponentialMovingAverage


class GraphMovingAverage(ExponentialMovingAverage):
    def apply(self, var_list=None):
        """An operation that moves the averages towards what they are of."""
        wanted = trainable_variables() if var_list is None else list(var_list)
        for value in wanted:
            if id(value) not in self._averages:
                self._averages[id(value)] = value, self._average_of(value), None
        with get("name_scope")(self._name):
            decay = _core.convert_to_tensor(self._decay, "float32")
            if self._updates is not None:
                count = get("cast")(self._updates, "float32")
                decay = get("minimum")(decay, (1.0 + count) / (10.0 + count))
            return ops.group(*[self._moved(value, decay) for value in wanted])

    def _average_of(self, value):
        name = value.op.name
        with graphs.current().control_dependencies(None):
            if isinstance(value, _core.VariableBase):
                average = _slot_variable(value, self._name, value.initialized_value())
            else:
                from tandem.graph_mode.variables import GraphVariable

                zeros = get("zeros")(value.shape.as_list(), value.dtype)
                average = GraphVariable(zeros, trainable=False, name=f"{name}/{self._name}/")
        add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, value if isinstance(value, _core.VariableBase) else average)
        return average

    def _moved(self, value, decay):
        average = self._averages[id(value)][1]
        part = get("cast")(1.0 - decay, average.dtype)
        now = _core.convert_to_tensor(value)
        if isinstance(value, _core.VariableBase):
            return average.assign_sub((average.read_value() - now) * part, read_value=False)
        # Averages of tensors begin with nothing: their bias is taken out.
        biased = self._of(average, "biased", average.shape)
        steps = self._of(average, "local_step", [])
        moved = biased.assign_sub((biased.read_value() - now) * part)
        count = steps.assign_add(1.0)
        known = 1.0 - get("pow")(get("cast")(decay, average.dtype), count)
        return average.assign(moved / known, read_value=False)

    def _of(self, average, name, shape):
        from tandem.graph_mode.variables import GraphVariable

        full = f"{average._plain_name}/{average._plain_name}/{name}/"
        return GraphVariable(get("zeros")(shape, average.dtype), trainable=False, name=full)

    def average_name(self, var):
        found = self._averages.get(id(var))
        return f"{var.op.name}/{self._name}" if found is None else found[1].op.name

    def variables_to_restore(self, moving_avg_variables=None):
        from tandem.graph_mode.collections import global_variables

        averaged = moving_avg_variables or [*trainable_variables(), *moving_average_variables()]
        found = {self.average_name(v): v for v in averaged}
        kept = {id(v) for v in averaged}
        names = set(found)
        found.update({v.op.name: v for v in global_variables() if id(v) not in kept and v.op.name not in names})
        return found
