"""The module `tensorflow` that programs get: Tandem's names under TensorFlow's version.

It is an object of its own, because `tandem.__version__` is Tandem's version, and libraries compare
`tensorflow.__version__` with those of TensorFlow. `tf.compat.v2` is the same module.
"""

import importlib.machinery
import sys
import types

NAME = "tensorflow"
VERSION = "2.21.0"  # of TensorFlow


class Served(types.ModuleType):
    def __getattr__(self, name):
        if name == "__all__":
            return sorted(n for n in dir(self) if not n.startswith("_"))
        value = getattr(sys.modules["tandem"], name)
        setattr(self, name, value)
        return value

    def __dir__(self):
        return dir(sys.modules["tandem"])


def _made():
    tandem = sys.modules["tandem"]
    module = Served(NAME, tandem.__doc__)
    module.__spec__ = importlib.machinery.ModuleSpec(NAME, None, origin=tandem.__file__, is_package=True)
    module.__file__, module.__path__, module.__package__ = tandem.__file__, [], NAME
    module.__version__ = VERSION
    return module


_module = None


def served():
    global _module  # noqa: PLW0603  (one per process)
    if _module is None:
        _module = _made()
    return _module
