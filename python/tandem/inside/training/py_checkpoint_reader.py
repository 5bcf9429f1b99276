"""tensorflow.python.training.py_checkpoint_reader."""

from tandem.checkpoint.reader import CheckpointReader


def NewCheckpointReader(filepattern):  # noqa: N802
    """Reads a checkpoint by the names of its tensors."""
    return CheckpointReader(filepattern)
