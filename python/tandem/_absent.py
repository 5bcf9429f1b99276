"""What stands for a function, class or constant of TensorFlow's that Tandem does not have.

It can be imported, derived from, named in annotations and asked with isinstance(), as a library does with names that
it may never need; calling it, or anything derived from it, raises one sentence.
"""

import typing

_SAID = {
    "absent": "is not available in Tandem",
    "later": "is not available in Tandem yet",
    "out of scope": "is out of Tandem's scope",
}


# Roots of names that are not public.
_INSIDE = ("python", "core", "compiler", "tools", "dtensor", "tsl")


class Absent:
    """`status` is "absent", "later" or "out of scope"; `kind` that of the table: c, f, v."""

    absent = True

    def __init__(self, full, status, alternative="", kind="f"):
        self.status = status
        self.kind = kind
        self.__name__ = self.__qualname__ = full.rpartition(".")[2]
        self.__module__ = ("tensorflow." + full).rpartition(".")[0]
        hint = f": {alternative}" if alternative else ""
        shown = f"tensorflow.{full}" if full.partition(".")[0] in _INSIDE else f"tf.{full}"
        self.__doc__ = f"{shown} {_SAID[status]}{hint}."
        self.alternative = alternative
        self._full = full
        self._base = None

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(self.__doc__)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self.kind == "c" and name[:1].isupper():  # a class in it, or a value of an enumeration
            return Absent(f"{self._full}.{name}", self.status, self.alternative, "v" if name.isupper() else "c")
        raise AbsentError(self.__doc__)

    def __mro_entries__(self, bases):
        """`class C(absent):` derives from a class that cannot be instantiated; it has no metaclass to be in conflict."""
        if self._base is None:
            self._base = type(self.__name__, (), {"__new__": _refused(self.__doc__), "__module__": self.__module__})
        return (self._base,)

    __bases__ = (object,)  # issubclass(absent, C)

    def __instancecheck__(self, value):
        """Nothing is of a class that is not there."""
        return False

    def __subclasscheck__(self, cls):
        return cls is self or (self._base is not None and self._base in getattr(cls, "__mro__", ()))

    def __or__(self, other):
        return typing.Union[self, other]  # noqa: UP007  (of what is no class)

    def __ror__(self, other):
        return typing.Union[other, self]  # noqa: UP007

    def __getitem__(self, parameters):
        """`Absent[int]` in an annotation."""
        return self

    __iter__ = None  # which would ask __getitem__ for ever

    def __reduce__(self):
        return Absent, (self._full, self.status, self.alternative, self.kind)

    def __repr__(self):
        return f"<absent: tf.{self._full}>"


def _refused(sentence):
    def refuse(cls, *args, **kwargs):
        raise NotImplementedError(sentence)

    return refuse


class AbsentError(NotImplementedError, AttributeError):
    """A part of something that is not there was asked for; hasattr() gives False."""
