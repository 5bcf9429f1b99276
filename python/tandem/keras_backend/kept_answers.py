"""Answers of Keras's that are kept: functions of dtypes and types alone, asked dozens of times at each call of a layer.

What is kept is what Keras's own function returned for the same arguments.
"""

import functools

import numpy as np

from tandem import _core

# Values of these types are leaves of any structure.
_LEAVES = frozenset({_core.EagerTensor, _core.Tensor, _core.DType, np.ndarray, str, bytes, int, float, bool, type(None)})


def install_dtypes(module):
    """keras.src.backend.common.dtypes"""
    original = module.result_type
    kept = functools.lru_cache(maxsize=4096)(lambda floatx, *dtypes: original(*dtypes))

    @functools.wraps(original)
    def result_type(*dtypes):
        try:
            return kept(module.config.floatx(), *dtypes)
        except TypeError:  # something that has no hash
            return original(*dtypes)

    module.result_type = result_type


def install_variables(module):
    """keras.src.backend.common.variables"""
    original = module.standardize_dtype
    kept = functools.lru_cache(maxsize=4096)(original)

    @functools.wraps(original)
    def standardize_dtype(dtype):
        if dtype is None:
            return module.config.floatx()
        try:
            return kept(dtype)
        except TypeError:
            return original(dtype)

    module.standardize_dtype = standardize_dtype


def install_tree(module):
    """keras.src.tree.optree_impl"""
    original = module.is_nested

    @functools.wraps(original)
    def is_nested(structure):
        return type(structure) not in _LEAVES and original(structure)

    module.is_nested = is_nested
