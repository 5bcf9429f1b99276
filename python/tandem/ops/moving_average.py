"""tf.train.ExponentialMovingAverage: shadow variables that follow others."""

from tandem import _core
from tandem.framework.graph import session_graph
from tandem.framework.variable import Variable


class ExponentialMovingAverage:
    """Averages of variables in which older values count less and less."""

    def __new__(cls, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        if session_graph() is not None and cls is ExponentialMovingAverage:
            from tandem.graph_mode.averages import GraphMovingAverage

            cls = GraphMovingAverage
        return super().__new__(cls)

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        self._decay, self._updates, self._debias, self._name = decay, num_updates, zero_debias, name
        self._averages = {}  # id of a variable → (variable, average, how much of the average is known)

    @property
    def name(self):
        return self._name

    def apply(self, var_list=None):
        """Moves the averages towards the values of the variables."""
        if var_list is None:
            raise ValueError("Give the variables whose averages are kept: there is no collection of all of them.")
        decay = _core.convert_to_tensor(self._decay, "float32")
        if self._updates is not None:
            count = _core.execute("Cast", _core.convert_to_tensor(self._updates), dtype="float32")
            decay = _core.execute("Minimum", decay, (1.0 + count) / (10.0 + count))
        for variable in var_list:
            if not isinstance(variable, _core.VariableBase):
                raise TypeError(f"ExponentialMovingAverage keeps averages of variables, not of {variable!r}.")
            _, average, known = self._kept(variable)
            part = _core.execute("Cast", 1.0 - decay, dtype=variable.dtype)
            average.assign_sub((average.read_value() - variable.read_value()) * part)
            if known is not None:
                known.assign_sub((known.read_value() - 1) * part)

    def _kept(self, variable):
        found = self._averages.get(id(variable))
        if found is None:
            with _core.init_scope():
                start = variable.read_value()
                if self._debias:
                    start = _core.execute("ZerosLike", start)
                name = variable.name.split(":")[0]
                average = Variable(start, trainable=False, name=f"{name}/{self._name}")
                known = Variable(0, dtype=variable.dtype, trainable=False) if self._debias else None
            found = self._averages[id(variable)] = (variable, average, known)
        return found

    def average(self, var):
        """The average of a variable; None where apply() was never given it."""
        found = self._averages.get(id(var))
        if found is None:
            return None
        return found[1] if found[2] is None else found[1].read_value() / found[2].read_value()

    def average_name(self, var):
        found = self._averages.get(id(var))
        return f"{var.name.split(':')[0]}/{self._name}" if found is None else found[1].name.split(":")[0]

    def variables_to_restore(self, moving_avg_variables=None):
        """Variables by the names under which their averages are stored."""
        return {self.average_name(v): v for v in moving_avg_variables or [entry[0] for entry in self._averages.values()]}
