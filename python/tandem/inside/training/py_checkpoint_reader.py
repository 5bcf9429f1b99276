"""tensorflow.python.training.py_checkpoint_reader."""

import os

from tandem.checkpoint.reader import CheckpointReader
from tandem.framework.errors import DataLossError
from tandem.framework.gfile import local_path


def NewCheckpointReader(filepattern):  # noqa: N802
    """Reads a checkpoint by the names of its tensors. A file of another kind is a DataLossError: Keras 2 tries others."""
    path = local_path(filepattern)
    if os.path.isfile(path) and not os.path.exists(path + ".index"):
        raise DataLossError(None, None, f"Unable to open table file {path}: it is no checkpoint. Give a checkpoint's prefix.")
    return CheckpointReader(filepattern)
