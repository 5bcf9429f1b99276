"""What the raw ops are that have no op of their own here: tables of expressions, and the functions that those call."""

import ast
import importlib

from tandem import _core

_TABLES = ("arrays", "maths", "pictures", "sequences", "sparse", "state")
_read = {}


def expressions():
    """{raw op: expression of its parameters}."""
    if not _read:
        for name in _TABLES:
            for line in _module(name).TABLE.strip().split("\n"):
                ops, _, expression = line.partition(": ")
                for op in ops.split(", "):
                    _read[op] = expression.strip(), name
    return _read


def _module(name):
    return importlib.import_module(f"{__name__}.{name}")


def compiled(op, parameters, expression, table):
    """A function of keywords. In an expression Op(…) runs an op, tf has the public functions, and other names are
    those of the table's module."""
    source = f"lambda *, {parameters}{', ' if parameters else ''}name=None: {expression}"
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return eval(source, {name: _global(name, table) for name in used if _is_global(name, table)})  # noqa: S307


def _is_global(name, table):
    return name == "tf" or name in _core.op_names() or (table and hasattr(_module(table), name))


def _global(name, table):
    if name == "tf":
        return importlib.import_module("tandem")
    if table and hasattr(_module(table), name):
        return getattr(_module(table), name)
    return lambda *inputs, **attrs: _core.execute(name, *inputs, **attrs)
