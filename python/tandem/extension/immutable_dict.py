"""A dict that cannot change: what a field annotated as a Mapping holds."""

import collections.abc


class ImmutableDict(collections.abc.Mapping):
    """Keys and values in the order they were given in."""

    def __init__(self, *args, **kwargs):
        self._items = dict(*args, **kwargs)

    def __getitem__(self, key):
        return self._items[key]

    def __contains__(self, key):
        return key in self._items

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __repr__(self):
        return f"ImmutableDict({self._items})"

    def _tf_components(self):
        return list(self._items.values())

    def _tf_key(self):
        return tuple(self._items)

    def _tf_rebuild(self, parts):
        return ImmutableDict(zip(self._items, parts))
