"""tf.Module: a named container of variables and other modules."""

import re

from tandem.framework import nest
from tandem.framework.graph import name_scope
from tandem.framework.trackable import AutoTrackable
from tandem.framework.variable import Variable

_VALID = re.compile(r"^[A-Za-z_]\w*$")


class Module(AutoTrackable):
    """Finds the variables and modules among its attributes, however deep."""

    _TF_MODULE_IGNORED_PROPERTIES = frozenset(("_self_tracked",))

    def __init__(self, name=None):
        if name is None:
            name = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", type(self).__name__).lower()
        elif not _VALID.match(name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers.")
        self._name = name

    @property
    def name(self):
        return self._name

    @property
    def name_scope(self):
        return name_scope(self._name)

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
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in sorted(items) if isinstance(value, dict) else items:
        yield from _leaves(item, path + (key,))
