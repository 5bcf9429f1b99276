"""tensorflow.python.ops.variable_scope."""


def no_regularizer(_):
    """Ends the regularizer of an outer scope."""
