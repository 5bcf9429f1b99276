"""Loads the one Keras of the process, running on Tandem in TensorFlow's place.

`keras` is the package from PyPI, unchanged: its modules are loaded with an `__import__` that maps
`tensorflow` to `tandem`, and its TensorFlow backend then runs on Tandem. The version is pinned exactly. An `except:`
that goes on becomes `except Exception:`, so that Ctrl-C is not lost while a model is traced.
"""

import ast
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import os
import re
import sys

from tandem import _core
from tandem._loading import alone, running_a_module, wait_for_package
from tandem.import_map import MappedImportlib, mapped_builtins, wants_keras_2

# The minor versions that are tested; pyproject.toml asks for the same ones.
MINORS = ("3.14", "3.15")
RANGE = "keras>=3.14,<3.16"
VERSION_2 = "2.21.0"

# Modules of Keras that look up modules by name.
_BY_NAME = ("keras.src.utils.module_utils",)
# Modules of Keras that Tandem has parts of its own for, and the functions that put those in place.
_EXTENDED = {
    "keras.src.backend.common.dtypes": ("tandem.keras_backend.kept_answers", "install_dtypes"),
    "keras.src.backend.common.variables": ("tandem.keras_backend.kept_answers", "install_variables"),
    "keras.src.backend.tensorflow.rnn": ("tandem.keras_backend.recurrent", "install"),
    "keras.src.backend.tensorflow.trainer": ("tandem.keras_backend.trainer", "install"),
    "keras.src.callbacks.backup_and_restore": ("tandem.keras_backend.backups", "install"),
    "keras.src.callbacks.csv_logger": ("tandem.keras_backend.backups", "install_csv"),
    "keras.src.legacy.saving.legacy_h5_format": ("tandem.keras_backend.saving", "install_h5"),
    "keras.src.models.functional": ("tandem.keras_backend.inputs_by_key", "install_functional"),
    "keras.src.ops.function": ("tandem.keras_backend.inputs_by_key", "install_function"),
    "keras.src.saving.file_editor": ("tandem.keras_backend.saving", "install_editor"),
    "keras.src.saving.saving_lib": ("tandem.keras_backend.saving", "install_saving_lib"),
    "keras.src.trainers.compile_utils": ("tandem.keras_backend.inputs_by_key", "install_losses"),
    "keras.src.trainers.data_adapters": ("tandem.keras_backend.adapters", "install"),
    "keras.src.saving.serialization_lib": ("tandem.keras_backend.functions_by_name", "install"),
    "keras.src.tree.optree_impl": ("tandem.keras_backend.kept_answers", "install_tree"),
    "tf_keras.src.engine.keras_tensor": ("tandem.keras_backend.keras2.operators", "install"),
    "tf_keras.src.saving.legacy.saved_model.load": ("tandem.keras_backend.keras2.saved_models", "install"),
    "tf_keras.src.saving.serialization_lib": ("tandem.keras_backend.functions_by_name", "install"),
    "tf_keras.src.mixed_precision.autocast_variable": ("tandem.keras_backend.keras2.autocast", "install"),
    "tf_keras.src.layers.rnn.gru": ("tandem.keras_backend.keras2.recurrent", "install_gru"),
    "tf_keras.src.layers.rnn.gru_lstm_utils": ("tandem.keras_backend.keras2.recurrent", "install_choice"),
    "tf_keras.src.layers.rnn.lstm": ("tandem.keras_backend.keras2.recurrent", "install_lstm"),
}


# Modules with an `except:` that goes on, which would take Ctrl-C for whatever it expects.
_CATCHING_ALL = frozenset(
    f"keras.src.{name}"
    for name in (
        "backend.common.variables", "backend.tensorflow.core", "dtype_policies", "layers.attention.multi_head_attention",
        "layers.core.lambda_layer", "layers.layer", "legacy.saving.saving_utils", "models.functional", "models.model",
        "models.sequential", "ops.core", "saving.saving_lib", "trainers.compile_utils", "utils.python_utils",
    )
)  # fmt: skip


def _without_interrupts(source, path):
    """The module's code, whose handlers of everything catch exceptions: not an interrupt, nor SystemExit."""
    tree = ast.parse(source, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None and not _raises_again(node):
            node.type = ast.copy_location(ast.Name("Exception", ast.Load()), node)
    return compile(tree, path, "exec", dont_inherit=True)


def _raises_again(handler):
    return any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


class _Loader(importlib.abc.Loader):
    """Runs a module of Keras with mapped imports."""

    def __init__(self, inner):
        self._inner = inner
        self._spec = None  # of a module that is there

    def create_module(self, spec):
        # Not in the finder, which Python asks under the lock of all imports.
        package = spec.name.partition(".")[0]
        if spec.name != package:
            wait_for_package(package)
            loaded = sys.modules.get(spec.name)
            if loaded is not None:
                self._spec = loaded.__spec__
                return loaded
        return self._inner.create_module(spec)

    def exec_module(self, module):
        if self._spec is not None:
            module.__spec__ = self._spec
            return
        with running_a_module():
            self._exec_module(module)

    def _exec_module(self, module):
        module.__dict__["__builtins__"] = _BUILTINS
        if module.__name__ in _CATCHING_ALL:
            source = self._inner.get_source(module.__name__)
            exec(_without_interrupts(source, self._inner.path), module.__dict__)  # noqa: S102
        else:
            self._inner.exec_module(module)
        if module.__name__ in _BY_NAME:
            module.importlib = MappedImportlib()
        if module.__name__ in _OLD_NAMES:
            _find_old_names(module)
        if module.__name__ in _EXTENDED:
            part, function = _EXTENDED[module.__name__]
            getattr(importlib.import_module(part), function)(module)

    def __getattr__(self, name):
        # get_data, get_source, is_package: for inspect, tracebacks and resources.
        return getattr(self._inner, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] not in ("keras", "tf_keras"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader)
        return spec


_BUILTINS = mapped_builtins()
_FINDER = _Finder()


def install_finder():
    """From now on `import keras` gives Keras on Tandem."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def _is_ours(module):
    return module.__dict__.get("__builtins__") is _BUILTINS


def _check_version():
    """Another minor version is refused before its modules are changed: what breaks in it would say less."""
    spec = importlib.machinery.PathFinder.find_spec("keras")
    if spec is None or spec.origin is None:
        return
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "src", "version.py")) as file:
            found = re.search(r"^__version__ = [\"']((\d+\.\d+)[^\"']*)", file.read(), re.M)
    except OSError:
        found = None
    if found is None or found[2] not in MINORS:
        installed = f"{found[1]} is" if found else "one of an unknown version is"
        raise ImportError(
            f"tandem.keras runs Keras {' and '.join(MINORS)}, but {installed} installed; run: pip install '{RANGE}'"
        )


def load():
    """The package keras on Tandem, or tf_keras where the environment asks for Keras 2; loaded on first use."""
    with alone():
        return _load_2() if wants_keras_2() else _load()


def _load_2():
    loaded = sys.modules.get("tf_keras")
    if loaded is not None and not _is_ours(loaded):
        raise ImportError(
            "tf_keras is already loaded on TensorFlow, and a process has only one. Call tandem.install_as_tensorflow() "
            "before the first `import tf_keras`, or start the script with `tandem run`."
        )
    install_finder()
    try:
        keras = importlib.import_module("tf_keras.api._v2.keras")
    except ModuleNotFoundError as error:
        if error.name == "tf_keras":
            raise ImportError(
                "TF_USE_LEGACY_KERAS=1 makes tf.keras the package tf_keras; run: pip install --no-deps tf-keras=="
                f"{VERSION_2}"
            ) from error
        raise
    folder = os.path.dirname(sys.modules["tf_keras"].__file__)
    _core.add_library_folders([folder + os.sep, os.path.realpath(folder) + os.sep])
    return keras


def _load():
    loaded = sys.modules.get("keras")
    if loaded is not None:
        if _is_ours(loaded):
            return importlib.import_module("keras")  # waits for another thread that is importing it
        backend = getattr(getattr(loaded, "backend", None), "backend", lambda: "another")()
        raise ImportError(
            f"Keras is already loaded on the {backend} backend, and a process has only one Keras. Import it as "
            "`from tandem import keras`, or call tandem.install_as_tensorflow() before the first `import keras`."
        )
    _check_version()
    install_finder()
    # Keras reads its backend's name while it is imported.
    previous = os.environ.get("KERAS_BACKEND")
    os.environ["KERAS_BACKEND"] = "tensorflow"
    try:
        keras = importlib.import_module("keras")
    except ModuleNotFoundError as error:
        if error.name == "keras":
            raise ImportError(f"tandem.keras needs the package keras; run: pip install '{RANGE}'") from error
        raise
    finally:
        if previous is None:
            os.environ.pop("KERAS_BACKEND", None)
        else:
            os.environ["KERAS_BACKEND"] = previous
    folder = os.path.dirname(keras.__file__)
    _core.add_library_folders([folder + os.sep, os.path.realpath(folder) + os.sep])
    return keras


# Parts of Keras that have more names in TensorFlow than in Keras itself: tf.keras.backend.eval, tf.keras.losses.MSE.
_OLD_PARTS = ("activations", "backend", "layers", "losses", "metrics", "preprocessing", "preprocessing.image", "preprocessing.sequence")
_OLD_NAMES = frozenset(f"keras.{part}" for part in _OLD_PARTS)


def _find_old_names(module):
    """Lets a part of Keras find the names that only TensorFlow's form of Keras has, when they are asked for."""

    def find(name):
        # While it is being loaded, names are missing that will be there: another import of Keras would be one too many.
        if not name.startswith("_") and not getattr(module.__spec__, "_initializing", False):
            with alone(), contextlib.suppress(AttributeError, ModuleNotFoundError):
                return getattr(importlib.import_module(module.__name__.replace("keras.", "keras._tf_keras.keras.", 1)), name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = find


def __getattr__(name):
    if name == "keras":
        return load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
