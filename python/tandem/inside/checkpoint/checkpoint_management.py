"""tensorflow.python.checkpoint.checkpoint_management."""

from tandem.checkpoint.state import update_checkpoint_state


def update_checkpoint_state_internal(
    save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None, save_relative_paths=False,
    all_model_checkpoint_timestamps=None, last_preserved_timestamp=None,
):  # fmt: skip
    """Notes the newest checkpoint of a folder; paths are relative to it in any case."""
    update_checkpoint_state(
        save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps, last_preserved_timestamp=last_preserved_timestamp,
    )  # fmt: skip
