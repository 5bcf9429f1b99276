"""The file `checkpoint` of a folder, which says what checkpoints there are and which is the newest.

It is the text form that TensorFlow writes: one `name: "path"` or `name: number` a line, paths from the folder.
"""

import collections
import json
import os
import re

from tandem import _core
from tandem.framework import gfile
from tandem.framework.errors import AlreadyExistsError
from tandem.framework.log import log as _log

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
    """What the file says, paths completed; None where there is none, or one that says nothing: that is logged."""
    folder = gfile.local_path(checkpoint_dir)
    path = _file(folder, latest_filename)
    try:
        fields = _fields(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        _log.warning("%s: checkpoint ignored: %s", path, problem)
        return None
    newest = fields["model_checkpoint_path"][0]
    complete = [os.path.join(folder, path) for path in fields.get("all_model_checkpoint_paths", [])]
    return CheckpointState(
        os.path.join(folder, newest),
        complete,
        fields.get("all_model_checkpoint_timestamps", []),
        fields.get("last_preserved_timestamp", [None])[0],
    )


def _fields(path):
    """{name: [values]}; ValueError, with the line, for what is no such file."""
    fields = {}
    if not os.path.isfile(path):
        raise FileNotFoundError(path)
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            match = _LINE.match(raw.decode())
            if match is None:
                raise ValueError("it is not of the form `name: value`")
            name, text, value = match.groups()
            is_path = name.endswith(("_path", "_paths"))
            if is_path != (text is not None):
                raise ValueError(f"a {'path' if is_path else 'number'} is wanted")
            fields.setdefault(name, []).append(_unquoted(text) if text else float(value))
        except ValueError as problem:
            raise ValueError(f"line {number} is damaged: {problem}") from None
    if "model_checkpoint_path" not in fields:
        raise ValueError("it names no checkpoint")
    return fields


def _unquoted(text):
    """A text in quotes: JSON's escapes, which Tandem writes, and TensorFlow's octal ones."""
    octal = re.sub(r"\\([0-3][0-7]{2})", lambda match: f"\\u{int(match[1], 8):04x}", text)
    plain = json.loads(octal.replace("\\'", "'"))
    if octal != text:
        plain = plain.encode("latin-1").decode()
    plain.encode()  # half of a surrogate pair is a ValueError
    if "\0" in plain:
        raise ValueError(f"no file is called {plain!r}")
    return plain


def refuse_foreign(save_dir, latest_filename=None):
    """Raises where the folder's list of checkpoints names another program's: they are not ours to count and remove."""
    folder = gfile.local_path(save_dir)
    path = _file(folder, latest_filename)
    try:
        fields = _fields(path)
    except (OSError, ValueError):
        return
    for name in fields.get("all_model_checkpoint_paths", []) + fields["model_checkpoint_path"]:
        index = os.path.join(folder, name) + ".index"
        kind = _core.describe_file(index)
        if kind and not is_ours(index):
            raise AlreadyExistsError(
                None, None, f"{path} lists the checkpoint {name}, which is {kind}, no checkpoint of Tandem's: it is not "
                "overwritten. Save into another folder."
            )  # fmt: skip


def is_ours(index):
    """Whether a file begins as the index of one of Tandem's checkpoints."""
    try:
        with open(index, "rb") as file:
            return file.read(8) == b"TDMCKPT1"
    except OSError:
        return False


def _keep_damaged(path):
    """What cannot be read as a list of checkpoints is put aside, not written over."""
    try:
        _fields(path)
    except ValueError as problem:
        os.replace(path, path + ".damaged")
        _log.warning("%s is no list of checkpoints (%s); it is %s.damaged now.", path, problem, path)
    except OSError:
        pass


def update_checkpoint_state(
    save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
    all_model_checkpoint_timestamps=None, last_preserved_timestamp=None,
):  # fmt: skip
    """Replaces the file in one step."""
    folder = gfile.local_path(save_dir)
    paths = list(all_model_checkpoint_paths or [])
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
    relative = [os.path.relpath(path, folder or ".") for path in paths]
    lines = [f"model_checkpoint_path: {json.dumps(os.path.relpath(model_checkpoint_path, folder or '.'))}"]
    lines += [f"all_model_checkpoint_paths: {json.dumps(path)}" for path in relative]
    lines += [f"all_model_checkpoint_timestamps: {time!r}" for time in all_model_checkpoint_timestamps or ()]
    if last_preserved_timestamp is not None:
        lines.append(f"last_preserved_timestamp: {last_preserved_timestamp!r}")
    path = _file(folder, latest_filename)
    _keep_damaged(path)
    _core.write_file(path, ("\n".join(lines) + "\n").encode())


def checkpoint_exists(prefix):
    return os.path.exists(gfile.local_path(prefix) + ".index")


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
    """Removes the files of a checkpoint of Tandem's, the index first: without it there is none. Files that are not there
    are no error, and those of others stay."""
    folder, name = os.path.split(gfile.local_path(prefix))
    index = os.path.join(folder, name + ".index")
    if os.path.exists(index):
        if not is_ours(index):
            return
        os.remove(index)
    for end in (".data-00000-of-00001", ".data-00000-of-00001.b"):
        data = os.path.join(folder, name + end)
        if os.path.exists(data):
            os.remove(data)
