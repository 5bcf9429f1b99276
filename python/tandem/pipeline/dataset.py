"""tf.data.Dataset."""

from tandem.pipeline.base import BaseDataset, dataset_class
from tandem.pipeline.grouping import Grouping
from tandem.pipeline.sources import Sources
from tandem.pipeline.storing import Storing
from tandem.pipeline.transforms import Transforms


@dataset_class
class Dataset(Transforms, Grouping, Storing, Sources, BaseDataset):
    """A pipeline of elements: an immutable description that can be iterated over any number of times."""
