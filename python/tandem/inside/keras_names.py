"""tensorflow.python.keras: TensorFlow's old copy of Keras. What has a public name in Keras is found by it."""

import importlib

from tandem import _tables, reasons
from tandem._absent import Absent

# Where the public names of Keras are, the likelier ones first.
_PARTS = (
    "layers", "models", "optimizers", "losses", "metrics", "callbacks", "initializers", "regularizers", "constraints",
    "activations", "utils", "backend", "saving", "optimizers.schedules", "mixed_precision", "preprocessing.sequence",
    "preprocessing.image",
)  # fmt: skip


def find(where, name):
    """What tensorflow.python.keras.… calls `name`."""
    from tandem import keras_loader

    keras = keras_loader.load()
    part = where.removeprefix("python.keras").strip(".")
    for path in (part, *_PARTS, ""):
        try:
            return getattr(importlib.import_module(f"keras.{path}".strip(".")) if path else keras, name)
        except (ModuleNotFoundError, AttributeError):
            continue
    if _tables.inside(where, name) is None:
        raise AttributeError(f"{where}.{name}")
    return Absent(f"{where}.{name}", *reasons.private(where), "c" if name[:1].isupper() else "f")
