"""tensorflow.python.lib.io.file_io: files by the older names."""

from tandem.framework import gfile as _gfile
from tandem.framework.gfile import GFile, join, stat  # noqa: F401

FileIO = GFile
file_exists_v2, is_directory_v2, list_directory_v2 = _gfile.exists, _gfile.isdir, _gfile.listdir
get_matching_files_v2, recursive_create_dir_v2, create_dir_v2 = _gfile.glob, _gfile.makedirs, _gfile.mkdir
delete_file_v2, delete_recursively_v2, copy_v2, rename_v2 = _gfile.remove, _gfile.rmtree, _gfile.copy, _gfile.rename
stat_v2, walk_v2 = stat, _gfile.walk


def read_file_to_string(filename, binary_mode=False):
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename, file_content):
    with GFile(filename, "w") as file:
        file.write(file_content)



def get_file_statistics(filename):
    return stat(filename)
