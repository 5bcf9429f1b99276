"""tensorflow.python.platform.resource_loader: files beside the module that asks."""

import os
import sys


def _folder(depth):
    return os.path.dirname(os.path.abspath(sys._getframe(depth + 1).f_globals.get("__file__", sys.argv[0])))


def get_data_files_path():
    return _folder(1)


def get_root_dir_with_all_resources():
    return _folder(1)


def get_path_to_datafile(path):
    return os.path.join(_folder(1), path)


def readahead_file_path(path, readahead="128M"):
    return path


def load_resource(path):
    with open(os.path.join(_folder(1), path), "rb") as file:
        return file.read()
