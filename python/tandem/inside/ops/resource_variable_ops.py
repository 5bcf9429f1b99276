"""tensorflow.python.ops.resource_variable_ops: every variable is one of a resource."""

from tandem._core import VariableBase
from tandem.framework.variable import Variable

BaseResourceVariable = ResourceVariable = Variable


def is_resource_variable(var):
    return isinstance(var, VariableBase)


def variable_accessed(variable):
    """Tapes see reads of variables by themselves."""
