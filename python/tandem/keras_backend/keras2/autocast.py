"""Keras 2's variables that cast themselves, for variables with a copy per replica.

tf_keras derives a class from two classes of variables, which native objects cannot be. Here the second is the class of values
per replica alone: what it holds is asked of the wrapped variable.
"""

from tandem.distribution.values import DistributedValues


def install(module):
    """tf_keras.src.mixed_precision.autocast_variable"""

    class AutoCastDistributedVariable(module.AutoCastVariable, DistributedValues):
        def __init__(self, variable):
            module.AutoCastVariable.__init__(self, variable)

        values = property(lambda self: self._variable.values)
        _values = property(lambda self: self._variable._values)

        def __repr__(self):
            return (
                f"<AutoCastDistributedVariable dtype={self.dtype.name} dtype_to_cast_to={self._cast_dtype.name} "
                f"inner_variable={self._variable}>"
            )

    def create_autocast_variable(variable):
        """The variable, which casts itself where autocasting is on."""
        kind = AutoCastDistributedVariable if isinstance(variable, DistributedValues) else module.AutoCastVariable
        return kind(variable)

    module.create_autocast_variable = create_autocast_variable
