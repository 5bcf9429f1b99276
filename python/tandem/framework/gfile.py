"""tf.io.gfile on the local file system, with TensorFlow's errors."""

import collections
import errno
import glob as _glob
import os
import shutil

from tandem._core import Tensor
from tandem.framework import errors


def local_path(path):
    """The name of a file on this machine, which may be given as a tensor, as bytes or as a URL of files."""
    if isinstance(path, Tensor):
        if path._symbolic or path.dtype.name != "string" or path.shape.rank != 0:
            raise TypeError(f"Expected binary or unicode string, got {path!r}")
        path = path.numpy()
    path = os.fspath(path)
    path = path.decode() if isinstance(path, bytes) else path
    if "\0" in path:
        raise errors.InvalidArgumentError(None, None, f"{path!r}: the name has a zero byte, which no file has.")
    return path.removeprefix("file://")


def _raise(error, path):
    kinds = {
        FileNotFoundError: errors.NotFoundError,
        FileExistsError: errors.AlreadyExistsError,
        PermissionError: errors.PermissionDeniedError,
        IsADirectoryError: errors.FailedPreconditionError,
        NotADirectoryError: errors.FailedPreconditionError,
    }
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    kind = errors.ResourceExhaustedError if full else kinds.get(type(error), errors.UnknownError)
    raise kind(None, None, f"{path}; {error.strerror or error}") from None


class GFile:
    """A file that is opened when it is first used."""

    def __init__(self, name, mode="r"):
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise errors.InvalidArgumentError(None, None, f"mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+': {mode}")
        self._name, self._mode, self._opened = name, mode, None

    name = property(lambda self: self._name)
    mode = property(lambda self: self._mode)

    @property
    def _file(self):
        if self._opened is None:
            try:
                text = {} if "b" in self._mode else {"encoding": "utf-8", "newline": ""}
                self._opened = open(local_path(self._name), self._mode, **text)  # noqa: SIM115
            except OSError as error:
                _raise(error, self._name)
        return self._opened

    def _readable(self):
        if not ("r" in self._mode or "+" in self._mode):
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        return self._file

    def size(self):
        return stat(self._name).length

    def read(self, n=-1):
        return self._readable().read(n)

    def readline(self):
        return self._readable().readline()

    def readlines(self):
        return self._readable().readlines()

    def write(self, file_content):
        if "r" in self._mode and "+" not in self._mode:
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        self._file.write(file_content)

    def seek(self, offset=None, whence=0, position=None):
        return self._file.seek(position if position is not None else offset, whence)

    def tell(self):
        return self._file.tell()

    def seekable(self):
        return True

    def flush(self):
        if self._opened is not None:
            self._opened.flush()

    def close(self):
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __enter__(self):
        if "r" not in self._mode:
            self._file  # made even when nothing is written
        return self

    def __exit__(self, *_):
        self.close()

    def __iter__(self):
        return self

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__


def exists(path):
    """Whether there is such a file or folder."""
    return os.path.exists(local_path(path))


def isdir(path):
    """Whether that is a folder."""
    return os.path.isdir(local_path(path))


def listdir(path):
    """The names in a folder."""
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path}")
    return os.listdir(local_path(path))


def glob(pattern):
    """The names of files that match a pattern, or any of several."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [name for p in patterns for name in sorted(_glob.glob(local_path(p)))]


def makedirs(path):
    """Makes a folder and those it lies in."""
    try:
        os.makedirs(local_path(path), exist_ok=True)
    except OSError as error:
        _raise(error, path)


def mkdir(path):
    """Makes a folder."""
    try:
        os.mkdir(local_path(path))
    except OSError as error:
        _raise(error, path)


def remove(path):
    """Deletes a file."""
    try:
        os.remove(local_path(path))
    except OSError as error:
        _raise(error, path)


def rmtree(path):
    """Deletes a folder and everything in it."""
    try:
        shutil.rmtree(local_path(path))
    except OSError as error:
        _raise(error, path)


def _check_overwrite(dst, overwrite):
    if not overwrite and exists(dst):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {dst}")


def copy(src, dst, overwrite=False):
    """Copies a file."""
    _check_overwrite(dst, overwrite)
    try:
        shutil.copyfile(local_path(src), local_path(dst))
    except OSError as error:
        _raise(error, src)


def rename(src, dst, overwrite=False):
    """Gives a file or folder another name."""
    _check_overwrite(dst, overwrite)
    try:
        os.replace(local_path(src), local_path(dst))
    except OSError as error:
        _raise(error, src)


def join(path, *paths):
    """Parts of a name, joined."""
    return os.path.join(path, *paths)


def walk(top, topdown=True, onerror=None):
    """Folders below one, each with the names in it."""
    yield from os.walk(local_path(top), topdown=topdown, onerror=onerror)


FileStatistics = collections.namedtuple("FileStatistics", ["length", "mtime_nsec", "is_directory"])


def stat(path):
    """Size, time of the last change and kind of a file."""
    try:
        found = os.stat(local_path(path))
    except OSError as error:
        _raise(error, path)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(local_path(path)))


def get_registered_schemes():
    """The kinds of file systems there are."""
    return ["", "file"]


