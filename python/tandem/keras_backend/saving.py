"""Keras's saved files appear when they are complete: its own functions write them into a folder beside, from where they
get their names. A kill leaves the old file or the new one."""

import contextlib
import functools
import json
import os
import re
import secrets
import tempfile
import threading

from keras.src.utils.file_utils import is_remote_path
from tandem import _core
from tandem.framework.errors import PermissionDeniedError
from tandem.keras_backend.interrupts import hearing


def install_saving_lib(module):
    """For keras.src.saving.saving_lib."""
    module.save_model = _beside(module.save_model, _publish_model)
    module.save_weights_only = _beside(module.save_weights_only, _publish_weights)
    _hear(module, "load_model", "load_weights_only")
    module.get_temp_dir = _temporary_folders(module.get_temp_dir)


_saving = threading.local()  # .into: the folder beside that a save writes into


def _temporary_folders(make):
    """Those of a save lie beside too, where the next save removes what a kill has left."""

    def get_temp_dir():
        into = getattr(_saving, "into", None)
        return tempfile.mkdtemp(dir=into) if into else make()

    return get_temp_dir


@contextlib.contextmanager
def _temporaries_in(folder):
    before = getattr(_saving, "into", None)
    _saving.into = folder
    try:
        yield
    finally:
        _saving.into = before


def install_h5(module):
    """For keras.src.legacy.saving.legacy_h5_format."""
    module.save_model_to_hdf5 = _beside(module.save_model_to_hdf5, _publish_file, makes_folder=True)
    _hear(module, "load_model_from_hdf5", "load_weights_from_hdf5_group", "load_weights_from_hdf5_group_by_name")


def _hear(module, *names):
    for name in names:
        setattr(module, name, hearing(getattr(module, name)))


def install_editor(module):
    """For keras.src.saving.file_editor."""
    module.KerasFileEditor.save = _beside(module.KerasFileEditor.save, _publish_file)


def _beside(save, publish, makes_folder=False):
    """`save(object, filepath, …)` with its file written beside and then given its name."""
    save = hearing(save)  # before what it made is published

    @functools.wraps(save)
    def saved(self, filepath, *args, **kwargs):
        path = _local(filepath, makes_folder)
        if path is None:
            return save(self, filepath, *args, **kwargs)
        target = os.path.realpath(path) if os.path.islink(path) else path
        try:
            folder = _core.NewFolder(target)
        except PermissionDeniedError:
            # The file may be written though its folder may not: as Keras does it.
            return save(self, filepath, *args, **kwargs)
        with folder:
            with telling_names(), _temporaries_in(folder.path):
                result = save(self, os.path.join(folder.path, os.path.basename(path)), *args, **kwargs)
            publish(folder, os.path.basename(path), target)
        return result

    return saved


def _local(filepath, makes_folder):
    """The path of a file to be written here, or None where Keras does what it does: a file object, an address, a folder
    that is there, a file that must not be written."""
    if not isinstance(filepath, (str, os.PathLike)) or is_remote_path(filepath):
        return None
    path = os.fspath(filepath)
    if not isinstance(path, str) or not os.path.basename(path) or "\0" in path:
        return None
    if os.path.exists(path) and not (os.path.isfile(path) and os.access(path, os.W_OK)):
        return None
    folder = os.path.dirname(path) or "."
    if makes_folder:
        os.makedirs(folder, exist_ok=True)
    return path if os.path.isdir(folder) else None


@contextlib.contextmanager
def telling_names():
    """Errors name the files that the user named, not those that lie beside."""
    try:
        yield
    except (OSError, ValueError) as error:
        error.args = tuple(_named(arg) for arg in error.args)
        if isinstance(error, OSError):
            error.filename, error.strerror = _named(error.filename), _named(error.strerror)
        raise
    except RuntimeError as error:
        # HDF5 on a full disk, when it closes a file.
        number = re.search(r"errno = (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), _named(str(error))) from error


def _named(text):
    return re.sub(r"/\.tandem-new-[^/']*", "", text) if isinstance(text, str) else text


def _publish_file(folder, name, target):
    if os.path.exists(os.path.join(folder.path, name)):
        folder.publish(name, target)


def _publish_model(folder, name, target):
    inner = os.path.join(folder.path, name)
    if not os.path.isdir(inner):
        return _publish_file(folder, name, target)
    with _core.NewFolder(target) as whole:  # zipped=False
        for entry in os.listdir(inner):
            os.rename(os.path.join(inner, entry), os.path.join(whole.path, entry))
        whole.commit()


def _publish_weights(folder, name, target):
    """One file, or shards and their list, which comes last. A save over a list gives its shards names that the old list does
    not have; Keras opens the first one under its own name in any case."""
    lists = [entry for entry in os.listdir(folder.path) if entry.endswith(".json")]
    if not lists:
        return _publish_file(folder, name, target)
    home = os.path.dirname(target)
    new_list = os.path.join(home, lists[0])
    former = _shards_of(new_list)
    shards = sorted(set(os.listdir(folder.path)) - set(lists))
    mark = secrets.token_hex(4)
    renamed = {shard: f"{mark}-{shard}" if os.path.exists(os.path.join(home, shard)) else shard for shard in shards}
    with open(os.path.join(folder.path, lists[0]), encoding="utf-8") as file:
        config = json.load(file)
    for key, files in config["weight_map"].items():
        config["weight_map"][key] = [renamed[f] for f in files] if isinstance(files, list) else renamed[files]
    for shard, new in renamed.items():
        folder.publish(shard, os.path.join(home, new))
    _core.write_file(new_list, json.dumps(config, indent=4).encode())
    # The new list is there: the shards of the old one are nobody's.
    first = shards[0]
    if renamed[first] != first:
        _core.write_file(os.path.join(home, first), _contents(os.path.join(home, renamed[first])))
    for old in former - set(renamed.values()) - {first}:
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(home, old))


def _contents(path):
    with open(path, "rb") as file:
        return file.read()


def _shards_of(path):
    """The files that a list of shards names, in its own folder."""
    try:
        with open(path, encoding="utf-8") as file:
            named = json.load(file)["weight_map"].values()
        files = {f for entry in named for f in (entry if isinstance(entry, list) else [entry])}
        return {f for f in files if os.path.basename(f) == f and f.endswith(".weights.h5")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
