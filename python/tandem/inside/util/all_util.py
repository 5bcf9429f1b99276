"""tensorflow.python.util.all_util: names that are taken off a module again. Nothing is taken off here."""

import sys


def make_all(module_name, doc_string_modules=None):
    return [name for name in dir(sys.modules[module_name]) if not name.startswith("_")]


def remove_undocumented(module_name, allowed_exception_list=None, doc_string_modules=None):
    """The module keeps all of its names."""


def reveal_undocumented(symbol_name, target_module=None):
    """It was never hidden."""
