"""tensorflow.python.util.object_identity: sets and mappings by what an object is, not by what it equals."""

import collections.abc
import weakref


class Reference:
    """An object as a key: equal to references to the same object only."""

    def __init__(self, unwrapped):
        self._unwrapped = unwrapped

    unwrapped = property(lambda self: self._unwrapped)

    def deref(self):
        return self._unwrapped

    def __eq__(self, other):
        return isinstance(other, Reference) and self.unwrapped is other.unwrapped

    def __hash__(self):
        return id(self.unwrapped)

    def __repr__(self):
        return f"<Reference wrapping {self.unwrapped!r}>"


class _WeakReference(Reference):
    def __init__(self, unwrapped, gone=None):
        self._weak, self._id = weakref.ref(unwrapped, gone and (lambda _: gone(self))), id(unwrapped)

    unwrapped = property(lambda self: self._weak())

    def deref(self):
        return self._weak()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        return self is other or (self.unwrapped is not None and super().__eq__(other))


class ObjectIdentityDictionary(collections.abc.MutableMapping):
    def __init__(self, *args, **kwargs):
        self._storage = {}
        self.update(dict(*args, **kwargs))

    def _wrap_key(self, key):
        return Reference(key)

    def __getitem__(self, key):
        return self._storage[self._wrap_key(key)]

    def __setitem__(self, key, value):
        self._storage[self._wrap_key(key)] = value

    def __delitem__(self, key):
        del self._storage[self._wrap_key(key)]

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        return iter([key.unwrapped for key in self._storage])

    def __repr__(self):
        return f"{type(self).__name__}({list(self.items())!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    def _wrap_key(self, key):
        return _WeakReference(key, lambda reference: self._storage.pop(reference, None))


class ObjectIdentitySet(collections.abc.MutableSet):
    def __init__(self, *args):
        self._storage = {self._wrap_key(value) for value in list(*args)}

    def _wrap_key(self, key):
        return Reference(key)

    @classmethod
    def _from_iterable(cls, values):
        return cls(list(values))

    def __contains__(self, key):
        return self._wrap_key(key) in self._storage

    def add(self, key):
        self._storage.add(self._wrap_key(key))

    def discard(self, key):
        self._storage.discard(self._wrap_key(key))

    def update(self, items):
        for item in items:
            self.add(item)

    def difference(self, items):
        return self - type(self)(items)

    def intersection(self, items):
        return self & type(self)(items)

    def clear(self):
        self._storage.clear()

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        return iter([key.unwrapped for key in self._storage])


class ObjectIdentityWeakSet(ObjectIdentitySet):
    def _wrap_key(self, key):
        return _WeakReference(key, lambda reference: self._storage.discard(reference))

    def __len__(self):
        return sum(key.unwrapped is not None for key in self._storage)

    def __iter__(self):
        return iter([value for value in (key.unwrapped for key in list(self._storage)) if value is not None])
