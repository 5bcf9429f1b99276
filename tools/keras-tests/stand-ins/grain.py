"""Stands in for the package grain, which some of Keras's test files import at their top and do not use here.

Every name is an empty class: nothing is an instance of it.
"""

__version__ = "0.0.0"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})
