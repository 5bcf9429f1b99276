"""tensorflow.python.ops.variable_v1: variables by TensorFlow 1's arguments."""

from tandem.framework.graph import session_graph
from tandem.framework.variable import Variable, VariableAggregation, VariableSynchronization, _in_graph


class VariableV1(Variable):
    """Makes a tf.Variable; in the graph of a session, one that belongs to its collections."""

    def __new__(
        cls, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None,
        variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None, use_resource=None,
        synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, shape=None,
        experimental_enable_variable_lifting=None,
    ):  # fmt: skip
        if cls is not VariableV1:
            return super().__new__(cls)
        if session_graph() is not None:
            return _in_graph("v1")
        return Variable(
            initial_value, trainable=trainable, validate_shape=validate_shape, name=name, dtype=dtype,
            constraint=constraint, synchronization=synchronization, aggregation=aggregation, shape=shape,
        )  # fmt: skip


def is_variable_initialized(variable):
    return variable.is_initialized()
