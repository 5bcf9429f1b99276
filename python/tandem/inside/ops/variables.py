"""tensorflow.python.ops.variables."""


def is_variable_initialized(variable):
    return variable.is_initialized()
