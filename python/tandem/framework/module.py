"""tf.Module: a named container of variables and other modules."""

import collections.abc
import re

from tandem.framework import composites, nest
from tandem.framework.graph import name_scope
from tandem.framework.trackable import AutoTrackable
from tandem.framework.variable import Variable

_CAMEL = re.compile(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))")
_VALID = re.compile(r"^[A-Za-z_]\w*$")


class Module(AutoTrackable):
    """Finds the variables and modules among its attributes, however deep."""

    _TF_MODULE_IGNORED_PROPERTIES = frozenset(("(children)",))

    def __init__(self, name=None):
        if name is None:
            name = _CAMEL.sub(r"_\1", type(self).__name__).lower()
        elif not _VALID.match(name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers.")
        self._name = name
        # The whole name: methods that enter it may be called inside of other scopes.
        with name_scope(name) as scope:
            self._name_scope = name_scope(scope)

    @property
    def name(self):
        return self._name

    @property
    def name_scope(self):
        return self._name_scope

    @property
    def variables(self):
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Variable)))

    @property
    def trainable_variables(self):
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Variable) and value.trainable))

    @property
    def non_trainable_variables(self):
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Variable) and not value.trainable))

    @property
    def submodules(self):
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    @classmethod
    def with_name_scope(cls, method):
        def wrapper(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        wrapper.__name__ = method.__name__
        return wrapper

    def _flatten(self, recursive=True, predicate=None, attribute_traversal_key=None, with_path=False):
        """Values among the attributes for which the predicate holds, each once; those of submodules last."""
        seen = {id(self)}
        found = []
        queue = [(self, ())]
        while queue:
            module, path = queue.pop(0)
            below = []
            for key in sorted(vars(module)):
                if key in module._TF_MODULE_IGNORED_PROPERTIES:
                    continue
                for leaf_path, leaf in _leaves(vars(module)[key], path + (key,)):
                    if id(leaf) in seen:
                        continue
                    seen.add(id(leaf))
                    if predicate(leaf):
                        found.append((leaf_path, leaf) if with_path else leaf)
                    if recursive and isinstance(leaf, Module):
                        below.append((leaf, leaf_path))
            queue = below + queue
        return found


def _leaves(value, path):
    if not nest.is_nested(value):
        yield path, value
        return
    if isinstance(value, collections.abc.Mapping):
        items = [(key, value[key]) for key in composites.keys_of(value)]
    else:
        parts = nest.children(value)[0]
        items = zip(getattr(value, "_fields", range(len(parts))), parts)
    for key, item in items:
        yield from _leaves(item, path + (key,))
