"""Datasets of placeholders: made when an iterator is initialized, from what is fed then.

Until then a dataset of zeros stands for it, which says what its elements are; what is called on the one is called on
the other later.
"""

import numpy as np

from tandem import _core
from tandem.framework import nest
from tandem.pipeline.base import BaseDataset


def values_now(structure):
    """(the structure with constants of the graph as values, whether all of it is known)."""
    known = True

    def value(leaf):
        nonlocal known
        if not isinstance(leaf, _core.Tensor) or not leaf._symbolic:
            return leaf
        found = _core.static_value(leaf)
        if found is None:
            known = False
            return leaf
        return _core.convert_to_tensor(found, leaf.dtype)

    with _core.init_scope():
        return nest.map_structure(value, structure), known


def _stand_in(leaf):
    if isinstance(leaf, _core.Tensor) and leaf._symbolic:
        shape = [1 if d is None else d for d in leaf.shape.as_list()] if leaf.shape.rank is not None else [1]
        dtype = leaf.dtype.as_numpy_dtype
        return np.full(shape, b"", object) if dtype is object else np.zeros(shape, dtype)
    return leaf


class Deferred(BaseDataset):
    """`make(values)` gives the dataset for values of `inputs`; `sample` is one of zeros."""

    def __init__(self, make, inputs, sample):
        self._make, self._inputs, self._sample = make, inputs, sample

    _core = property(lambda self: self._sample._core)
    _structure = property(lambda self: self._sample._structure)
    element_spec = property(lambda self: self._sample.element_spec)

    def _real(self, session, feed_dict):
        flat = nest.flatten(self._inputs)
        wanted = [leaf for leaf in flat if isinstance(leaf, _core.Tensor) and leaf._symbolic]
        found = iter(session.run(wanted, feed_dict))
        values = [next(found) if isinstance(leaf, _core.Tensor) and leaf._symbolic else leaf for leaf in flat]
        return self._make(nest.pack_sequence_as(self._inputs, values))

    def __getattr__(self, name):
        method = getattr(self._sample, name)
        if not callable(method):
            return method

        def call(*args, **kwargs):
            with _core.init_scope():
                sample = method(*args, **kwargs)
            if not isinstance(sample, BaseDataset):
                return sample
            return Deferred(lambda values: getattr(self._make(values), name)(*args, **kwargs), self._inputs, sample)

        return call


def deferred(make, inputs):
    """make(inputs), or what stands for it where inputs are fed later."""
    values, known = values_now(inputs)
    with _core.init_scope():
        if known:
            return make(values)
        return Deferred(make, inputs, make(nest.map_structure(_stand_in, values)))
