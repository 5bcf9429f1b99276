"""tensorflow.python.util.lazy_loader: modules that are imported by their first use."""

import importlib
import types


class LazyLoader(types.ModuleType):
    def __init__(self, local_name, parent_module_globals, name, warning=None):
        self._local_name, self._globals = local_name, parent_module_globals
        super().__init__(str(name))

    def __getattr__(self, name):
        module = importlib.import_module(self.__name__)
        self._globals[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return getattr(module, name)
