"""Keras's BackupAndRestore with backups that survive a kill and damage, and CSVLogger's lines after one.

A backup is two files, weights and where training was. The second holds a checksum of the first, and the pair before
stays beside it: at any moment one of the two pairs is whole, and a start takes the newest that is.
"""

import contextlib
import functools
import json
import os
import shutil
import warnings
import zlib

import h5py
from keras.src.utils.file_utils import is_remote_path
from tandem import _core
from tandem.keras_backend.interrupts import heard
from tandem.keras_backend.saving import telling_names

_CHECKSUM = "weights_crc32c"
_OWN_CHECKSUM = "crc32"  # of the other fields


def install(module):
    """For keras.src.callbacks.backup_and_restore."""
    cls = module.BackupAndRestore
    cls._save_model = _saving(cls._save_model)
    cls.on_train_begin = _restoring(cls.on_train_begin)
    cls.on_train_end = _ending(cls.on_train_end)


def install_csv(module):
    """For keras.src.callbacks.csv_logger."""
    begin = module.CSVLogger.on_train_begin

    @functools.wraps(begin)
    def on_train_begin(self, logs=None):
        if self.append and os.path.isfile(self.filename):
            _end_last_line(self.filename)
        return begin(self, logs)

    module.CSVLogger.on_train_begin = on_train_begin


def _end_last_line(path):
    """A kill or a full disk may have cut the last line: the next one begins a line of its own."""
    with open(path, "rb+") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\r\n")


@contextlib.contextmanager
def _paths(callback, weights, metadata):
    before = callback._weights_path, callback._training_metadata_path
    callback._weights_path, callback._training_metadata_path = weights, metadata
    try:
        yield
    finally:
        callback._weights_path, callback._training_metadata_path = before


def _pairs(callback):
    """(weights, metadata) of the newest backup and of the one before."""
    return (
        (callback._weights_path, callback._training_metadata_path),
        (callback._prev_weights_path, callback._prev_training_metadata_path),
    )


def _saving(save):
    @functools.wraps(save)
    def saved(self):
        if is_remote_path(self.backup_dir):
            return save(self)
        os.makedirs(self.backup_dir, exist_ok=True)
        newest, former = _pairs(self)
        with _core.NewFolder(newest[0]) as folder:
            made = [os.path.join(folder.path, os.path.basename(path)) for path in newest]
            with _paths(self, *made), telling_names():
                save(self)
            with open(made[1], encoding="utf-8") as file:
                metadata = json.load(file)
            metadata[_CHECKSUM] = _core.checksum_of_file(made[0])
            metadata[_OWN_CHECKSUM] = _own_checksum(metadata)
            with open(made[1], "w", encoding="utf-8") as file:
                json.dump(metadata, file)
            # A damaged newest backup must not take the place of a whole one before.
            if _whole(*newest):
                _keep(folder, newest, former, os.link)
            for path in newest:
                folder.publish(os.path.basename(path), path)

    return saved


def _keep(folder, pair, names, bring):
    """Gives the pair these names, too; `bring` links or copies a file."""
    for path, name in zip(pair, names):
        beside = os.path.join(folder.path, os.path.basename(name))
        try:
            bring(path, beside)
        except OSError:  # a file system without links
            shutil.copyfile(path, beside)
        folder.publish(os.path.basename(name), name)


def _own_checksum(metadata):
    fields = {name: value for name, value in metadata.items() if name != _OWN_CHECKSUM}
    return zlib.crc32(json.dumps(fields, sort_keys=True).encode())


def _whole(weights, metadata):
    """Whether the pair can be restored from."""
    try:
        with open(metadata, "rb") as file:
            stored = json.loads(file.read().decode())
        if type(stored["epoch"]) is not int:
            return False
        if _CHECKSUM in stored or _OWN_CHECKSUM in stored:
            return (
                stored[_OWN_CHECKSUM] == _own_checksum(stored)
                and stored[_CHECKSUM] == _core.checksum_of_file(weights)
            )  # fmt: skip
        # Of Keras on another backend: all of it can be read.
        with heard(), h5py.File(weights, "r") as file:
            file.visititems(lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None)
    except Exception:  # noqa: BLE001  (h5py raises anything for a damaged file)
        return False
    return True


def _restoring(begin):
    @functools.wraps(begin)
    def restored(self, logs=None):
        if is_remote_path(self.backup_dir):
            return begin(self, logs)
        newest, former = _pairs(self)
        there = [pair for pair in (newest, former) if any(map(os.path.exists, pair))]
        for pair in there:
            if _whole(*pair):
                if pair is not there[0]:
                    warnings.warn(
                        f"BackupAndRestore: the newest backup in {self.backup_dir} is damaged or incomplete; training goes on "
                        "from the one before.", stacklevel=2
                    )  # fmt: skip
                if pair is former:
                    with _core.NewFolder(newest[0]) as folder:
                        _keep(folder, former, newest, shutil.copyfile)
                return begin(self, logs)
        if there:
            warnings.warn(
                f"BackupAndRestore: the backup in {self.backup_dir} is damaged and cannot be restored; training starts anew, "
                "and the next backup replaces it.", stacklevel=2
            )  # fmt: skip
        # Keras checks the model, too, and finds nothing to load.
        nothing = os.path.join(self.backup_dir, "none")
        with _paths(self, nothing, nothing):
            return begin(self, logs)

    return restored


def _ending(end):
    """The backup goes at once: half of one is damaged."""

    @functools.wraps(end)
    def ended(self, logs=None):
        if self.delete_checkpoint and os.path.isdir(self.backup_dir) and not is_remote_path(self.backup_dir):
            with _core.NewFolder(os.path.abspath(self.backup_dir)) as folder:
                os.rename(self.backup_dir, os.path.join(folder.path, "backup"))
        return end(self, logs)

    return ended
