"""Classes of the Python interface: shapes, variables, tapes, specs, modules, errors."""
