"""The file `checkpoint` of a folder, which says what checkpoints there are and which is the newest.

It is the text form that TensorFlow writes: one `name: "path"` or `name: number` a line, paths from the folder.
"""

import collections
import json
import os
import re
import tempfile

CheckpointState = collections.namedtuple(
    "CheckpointState",
    [
        "model_checkpoint_path",
        "all_model_checkpoint_paths",
        "all_model_checkpoint_timestamps",
        "last_preserved_timestamp",
    ],
)

_LINE = re.compile(r'^\s*(\w+)\s*:\s*(?:("(?:[^"\\]|\\.)*")|(\S+))\s*$')


def _file(folder, name):
    return os.path.join(folder, name or "checkpoint")


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """What the file says, paths completed; None where there is none."""
    folder = os.fspath(checkpoint_dir)
    try:
        with open(_file(folder, latest_filename), encoding="utf-8") as lines:
            found = [match.groups() for match in map(_LINE.match, lines) if match]
    except (FileNotFoundError, NotADirectoryError):
        return None
    fields = {}
    for name, text, number in found:
        fields.setdefault(name, []).append(json.loads(text) if text else float(number))
    newest = fields.get("model_checkpoint_path", [None])[0]
    if newest is None:
        return None
    complete = [os.path.join(folder, path) for path in fields.get("all_model_checkpoint_paths", [])]
    return CheckpointState(
        os.path.join(folder, newest),
        complete,
        fields.get("all_model_checkpoint_timestamps", []),
        fields.get("last_preserved_timestamp", [None])[0],
    )


def update_checkpoint_state(
    save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
    all_model_checkpoint_timestamps=None, last_preserved_timestamp=None,
):  # fmt: skip
    """Replaces the file in one step."""
    folder = os.fspath(save_dir)
    paths = list(all_model_checkpoint_paths or [])
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
    relative = [os.path.relpath(path, folder or ".") for path in paths]
    lines = [f"model_checkpoint_path: {json.dumps(os.path.relpath(model_checkpoint_path, folder or '.'))}"]
    lines += [f"all_model_checkpoint_paths: {json.dumps(path)}" for path in relative]
    lines += [f"all_model_checkpoint_timestamps: {time!r}" for time in all_model_checkpoint_timestamps or ()]
    if last_preserved_timestamp is not None:
        lines.append(f"last_preserved_timestamp: {last_preserved_timestamp!r}")
    descriptor, temporary = tempfile.mkstemp(prefix="checkpoint.tmp", dir=folder or ".")
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    os.replace(temporary, _file(folder, latest_filename))


def checkpoint_exists(prefix):
    return os.path.exists(os.fspath(prefix) + ".index")


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The prefix of the newest checkpoint of a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is not None and checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    return None


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """Yields the newest checkpoint each time there is a new one."""
    import time

    last = None
    while True:
        deadline = None if timeout is None else time.monotonic() + timeout
        newest = latest_checkpoint(checkpoint_dir)
        while newest is None or newest == last:
            if deadline is not None and time.monotonic() >= deadline:
                if timeout_fn is None or timeout_fn():
                    return
                deadline = time.monotonic() + timeout
            time.sleep(min(1.0, timeout / 4 if timeout else 1.0))
            newest = latest_checkpoint(checkpoint_dir)
        last = newest
        start = time.monotonic()
        yield newest
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - start)))


def remove_checkpoint(prefix):
    """Removes the files of a checkpoint; those that are not there are no error."""
    folder, name = os.path.split(os.fspath(prefix))
    for entry in os.listdir(folder or "."):
        if entry == name + ".index" or entry.startswith(name + ".data-"):
            with_path = os.path.join(folder, entry)
            if os.path.exists(with_path):
                os.remove(with_path)
