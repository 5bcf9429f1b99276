"""Looking into checkpoints: tf.train.load_checkpoint, list_variables, load_variable."""

import os

from tandem import _core
from tandem.checkpoint.state import latest_checkpoint
from tandem.framework import gfile


class CheckpointReader(_core.CheckpointReaderBase):
    """Names, shapes, dtypes and values of what a checkpoint holds."""

    def __init__(self, filename):
        super().__init__(gfile.local_path(filename))

    def get_variable_to_shape_map(self):
        return {name: shape for name, shape, _ in self.tensors()}

    def get_variable_to_dtype_map(self):
        return {name: dtype for name, _, dtype in self.tensors()}

    def get_tensor(self, tensor_str):
        """The value as a NumPy array; a string tensor gives bytes."""
        value = self.read(tensor_str).numpy()
        return value[()] if getattr(value, "ndim", None) == 0 else value

    def debug_string(self):
        rows = [f"{name} ({dtype.name}) {shape}" for name, shape, dtype in self.tensors()]
        return "\n".join(rows).encode()


def load_checkpoint(ckpt_dir_or_file):
    """A reader of the checkpoint with that prefix, or of the newest one of that folder."""
    path = gfile.local_path(ckpt_dir_or_file)
    if os.path.isdir(path):
        newest = latest_checkpoint(path)
        if newest is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = newest
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file):
    """(name, shape) of every tensor, by name."""
    return [(name, shape) for name, shape, _ in load_checkpoint(ckpt_dir_or_file).tensors()]


def load_variable(ckpt_dir_or_file, name):
    if name.endswith(":0"):
        name = name[:-2]
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
