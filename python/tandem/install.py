"""install_as_tensorflow(): from then on `import tensorflow` and `import keras` are served by Tandem."""

import importlib.machinery
import sys

from tandem import import_map
from tandem._loading import running_a_module


class _Loader:
    """Gives out the module of Tandem or Keras that stands for a name, and leaves it as it is."""

    def __init__(self, stands_for):
        self._stands_for = stands_for
        self._spec = None

    def create_module(self, spec):
        with running_a_module():
            module = import_map.import_target(self._stands_for)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec


class _TensorFlowLoader(_Loader):
    def create_module(self, spec):
        try:
            return super().create_module(spec)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"No module named '{spec.name}': Tandem serves `tensorflow` in this process and has no such part.",
                name=spec.name,
            ) from error


# Python asks finders under a lock that every import takes: nothing is imported there.


class _Finder:
    def find_spec(self, fullname, path=None, target=None):
        if not import_map.is_mapped(fullname) or not import_map.is_known(fullname):
            return None
        return importlib.machinery.ModuleSpec(fullname, _TensorFlowLoader(fullname), is_package=True)

    def find_distributions(self, context):
        """importlib.metadata.version("tensorflow"), which libraries ask, too."""
        if context.name is None or context.name.lower() not in ("tensorflow", "tensorflow-cpu"):
            return iter(())
        from tandem import _distribution

        return iter([_distribution.TensorFlow()])


class _KerasFinder:
    """`import tandem.keras.layers`: the package keras under Tandem's names. First of all, because the files are found
    under these names, too, and would be run once more."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("tandem.") or "keras" not in fullname or "keras_" in fullname:
            return None
        stands_for = "tensorflow" + fullname.removeprefix("tandem")
        if not import_map.target_of(stands_for).startswith(("keras", "tf_keras")):
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(stands_for), is_package=True)


class _NameFinder:
    """`import tandem.compat.v1`: modules that are no files of Tandem's package."""

    def find_spec(self, fullname, path=None, target=None):
        stands_for = "tensorflow" + fullname.removeprefix("tandem")
        if not fullname.startswith("tandem.") or not import_map.is_known(stands_for):
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(stands_for), is_package=True)


_FINDER = _Finder()
_KERAS_FINDER = _KerasFinder()
_NAME_FINDER = _NameFinder()


def install_names():
    """Called once when tandem is imported; loads nothing by itself."""
    if _NAME_FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _KERAS_FINDER)
        sys.meta_path.append(_NAME_FINDER)


def install_as_tensorflow():
    """Serves `import tensorflow` and `import keras` by Tandem in this process."""
    loaded = sys.modules.get("tensorflow")
    if loaded is not None and loaded is not import_map.import_target("tensorflow"):
        raise ImportError(
            "TensorFlow is already imported in this process. Call tandem.install_as_tensorflow() before the first "
            "`import tensorflow`, or start the script with `tandem run`."
        )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    from tandem import _core

    # Libraries know tensors by the name of their module.
    for kind in (_core.Tensor, _core.EagerTensor):
        kind.__module__ = "tensorflow.python.framework.ops"
    # By its full name: `from tandem import` would ask tandem for such a name first.
    import tandem.keras_loader

    tandem.keras_loader.install_finder()
