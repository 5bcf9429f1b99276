"""save, load and snapshot: elements in files of the native side, their structure beside them."""

import os
import pickle

from tandem import _core
from tandem.framework.errors import NotFoundError
from tandem.pipeline import structure as nest
from tandem.pipeline.base import make

_data = _core.data


class Storing:
    def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
        """Writes all elements into the folder `path`."""
        os.makedirs(path, exist_ok=True)
        count = _data.save(self._core, _elements(path))
        with open(_spec(path), "wb") as file:
            pickle.dump((self.element_spec, count), file)

    @staticmethod
    def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
        """A dataset of what save() wrote."""
        try:
            with open(_spec(path), "rb") as file:
                spec, count = pickle.load(file)
        except FileNotFoundError:
            raise NotFoundError(None, None, f"Could not find metadata file of a saved dataset in {path}.") from None
        structure = nest.Structure(spec if element_spec is None else element_spec)
        dataset = make(_data.load(_elements(path), structure.components(), count), structure, "_LoadDataset")
        if reader_func is None:
            return dataset
        return reader_func(type(dataset).from_tensors(dataset))

    def snapshot(self, path, compression="AUTO", reader_func=None, shard_func=None, name=None):
        """The elements of the first complete pass, from a file in the folder `path`."""
        os.makedirs(path, exist_ok=True)
        core = _data.cache(self._core, os.path.join(path, "snapshot"))
        return self._like(core, "_SnapshotDataset", self._structure)


def _elements(path):
    return os.path.join(path, "elements.tandem")


def _spec(path):
    return os.path.join(path, "dataset_spec.pb")
