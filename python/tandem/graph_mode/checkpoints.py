"""Files of checkpoints, and variables that begin with what one has."""

import collections
import os

from tandem.checkpoint.state import CheckpointState, remove_checkpoint, update_checkpoint_state  # noqa: F401
from tandem.framework import gfile

VocabInfo = collections.namedtuple(
    "VocabInfo", ["new_vocab", "new_vocab_size", "num_oov_buckets", "old_vocab", "old_vocab_size",
                  "backup_initializer", "axis"], defaults=(-1, None, 0),
)  # fmt: skip


def checkpoint_exists(checkpoint_prefix):
    return os.path.exists(gfile.local_path(checkpoint_prefix) + ".index")


def get_checkpoint_mtimes(checkpoint_prefixes):
    """When each of those that are there was written."""
    paths = [gfile.local_path(prefix) + ".index" for prefix in checkpoint_prefixes]
    return [os.path.getmtime(path) for path in paths if os.path.exists(path)]


def generate_checkpoint_state_proto(
    save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, all_model_checkpoint_timestamps=None,
    last_preserved_timestamp=None,
):  # fmt: skip
    paths = list(all_model_checkpoint_paths or [])
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
    return CheckpointState(model_checkpoint_path, paths, list(all_model_checkpoint_timestamps or []),
                           last_preserved_timestamp)  # fmt: skip


def warm_start(ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_vocab_info=None, var_name_to_prev_var_name=None):
    """Variables of the graph begin with the values of a checkpoint."""
    import re

    from tandem.graph_mode.collections import GraphKeys, get_collection
    from tandem.graph_mode.saver import init_from_checkpoint

    if var_name_to_vocab_info:
        raise NotImplementedError("warm_start is there without var_name_to_vocab_info.")
    if isinstance(vars_to_warm_start, str):
        found = [v for v in get_collection(GraphKeys.TRAINABLE_VARIABLES) if re.match(vars_to_warm_start, v.op.name)]
    else:
        names = [v if isinstance(v, str) else v.op.name for v in vars_to_warm_start]
        found = [v for v in get_collection(GraphKeys.GLOBAL_VARIABLES) if v.op.name in names]
    before = var_name_to_prev_var_name or {}
    for variable in found:
        init_from_checkpoint(ckpt_to_initialize_from, {before.get(variable.op.name, variable.op.name): variable})
