"""save, load and snapshot: elements in files of the native side, described by a JSON file (docs/data.md)."""

import functools
import json
import os
import secrets
import shutil

from tandem import _core
from tandem.framework import gfile
from tandem.framework.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from tandem.pipeline import structure as nest
from tandem.pipeline.base import make
from tandem.saving import description

_data = _core.data

FILE = "dataset.json"
FORMAT = "tandem-dataset"
VERSION = 1
_PREFIX = "elements-"
# What versions before 1 wrote: one file of elements beside a pickle.
_OLD_ELEMENTS = "elements.tandem"
_THEIRS = ("dataset_spec.pb", "snapshot.metadata")


class Storing:
    def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
        """Writes all elements into the folder `path`, into a file for each number that `shard_func` gives."""
        from tandem.pipeline import stored_spec

        folder = gfile.local_path(path)
        spec = stored_spec.to_json(self.element_spec)
        source = self if shard_func is None else self.map(functools.partial(_with_shard, shard_func))
        gfile.makedirs(folder)
        _refuse_foreign(folder)
        name = _PREFIX + secrets.token_hex(4)
        with _core.NewFolder(os.path.join(folder, name)) as made:
            files = _data.save(source._core, made.path, shard_func is not None)
            shards = [{"file": f"{name}/{file}", "elements": count} for file, count in files]
            model = {"format": FORMAT, "version": VERSION, "element_spec": spec, "shards": shards}
            with _core.FolderLock(folder):
                made.commit()
                _core.write_file(os.path.join(folder, FILE), json.dumps(model, indent=1).encode())
                _remove_others(folder, name)

    @staticmethod
    def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
        """A dataset of what save() wrote."""
        folder = gfile.local_path(path)
        spec, shards = _read(folder, element_spec)
        structure = nest.Structure(spec)
        datasets = [
            make(_data.load(file, structure.components(), count), structure, "_LoadDataset") for file, count in shards
        ]
        if reader_func is None and len(datasets) == 1:
            return datasets[0]
        kind = type(datasets[0])
        shards_of = functools.reduce(kind.concatenate, map(kind.from_tensors, datasets))
        if reader_func is not None:
            return reader_func(shards_of)
        # An element of each shard in turn, as TensorFlow reads them.
        return shards_of.interleave(lambda shard: shard, cycle_length=len(datasets), block_length=1)

    def snapshot(self, path, compression="AUTO", reader_func=None, shard_func=None, name=None):
        """The elements of the first complete pass, from a file in the folder `path`."""
        if compression not in (None, "", "AUTO", "GZIP", "SNAPPY"):
            raise InvalidArgumentError(
                None, None, f"compression must be None, 'AUTO', 'GZIP' or 'SNAPPY', not {compression!r}."
            )
        folder = gfile.local_path(path)
        gfile.makedirs(folder)
        core = _data.cache(self._core, os.path.join(folder, "snapshot"))
        return self._like(core, "_SnapshotDataset", self._structure)


def _with_shard(shard_func, *element):
    shard = _core.execute("Cast", _core.convert_to_tensor(shard_func(*element)), dtype=_core.as_dtype("int64"))
    return shard, element[0] if len(element) == 1 else element


def _refuse_foreign(folder):
    if os.path.exists(os.path.join(folder, FILE)) or os.path.exists(os.path.join(folder, _OLD_ELEMENTS)):
        return
    theirs = [name for name in _THEIRS if os.path.exists(os.path.join(folder, name))]
    if theirs:
        raise AlreadyExistsError(
            None, None, f"{folder} holds a dataset in TensorFlow's own format ({', '.join(theirs)}): it is not "
            "overwritten. Save into another folder, or remove it."
        )  # fmt: skip


def _remove_others(folder, kept):
    """What saves before have written, complete or not: nothing names it any more."""
    for entry in os.listdir(folder):
        digits = entry.removeprefix(_PREFIX)
        if entry != kept and digits != entry and len(digits) == 8 and set(digits) <= set("0123456789abcdef"):
            shutil.rmtree(os.path.join(folder, entry), ignore_errors=True)
    if os.path.exists(os.path.join(folder, _OLD_ELEMENTS)):
        for old in (_OLD_ELEMENTS, "dataset_spec.pb"):
            if os.path.exists(os.path.join(folder, old)):
                os.remove(os.path.join(folder, old))


def _read(folder, element_spec):
    """(spec, [(file, number of elements)])."""
    from tandem.pipeline import stored_spec

    path = os.path.join(folder, FILE)
    if not os.path.isfile(path):
        return _read_old(folder, element_spec)
    model = description.read(path, FORMAT, VERSION)
    with description.place(path, "element_spec"):
        spec = stored_spec.from_json(model["element_spec"])
        components = nest.Structure(spec).components()
    shards = []
    with description.place(path, "shards"):
        for row in model["shards"]:
            file = _core.path_inside(folder, description.text(row["file"]), path)
            shards.append((file, description.number(row["elements"], below=2**63)))
        if not shards:
            raise ValueError("there are none")
    if element_spec is not None:
        given = nest.Structure(element_spec).components()
        fits = len(given) == len(components) and all(
            dtype == stored and shape.is_compatible_with(size)
            for (dtype, shape), (stored, size) in zip(given, components)
        )
        if not fits:
            raise InvalidArgumentError(
                None, None, f"Dataset.load: the elements in {folder} are {spec}, and element_spec is {element_spec}."
            )
        spec = element_spec
    return spec, shards


def _read_old(folder, element_spec):
    elements = os.path.join(folder, _OLD_ELEMENTS)
    if os.path.exists(elements):
        if element_spec is not None:
            return element_spec, [(elements, -2)]
        raise InvalidArgumentError(
            None, None, f"{folder} was written by an earlier version of Tandem, which described the elements by a Python "
            "pickle. Reading one can run any code, so it is not read: give element_spec, and save the dataset again."
        )  # fmt: skip
    if any(os.path.exists(os.path.join(folder, name)) for name in _THEIRS):
        raise InvalidArgumentError(
            None, None, f"{folder} holds a dataset in TensorFlow's own format, which Tandem does not read. Load it with "
            "TensorFlow and write its elements to a TFRecord file."
        )  # fmt: skip
    raise NotFoundError(None, None, f"Could not find metadata file of a saved dataset in {folder}.")
