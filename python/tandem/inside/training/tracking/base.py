"""tensorflow.python.training.tracking.base: its older place."""

from tandem.inside.trackable.base import *  # noqa: F403
