"""tensorflow.python.training.tracking.data_structures: its older place."""

from tandem.inside.trackable.data_structures import *  # noqa: F403
