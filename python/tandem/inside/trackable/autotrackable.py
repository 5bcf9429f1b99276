"""tensorflow.python.trackable.autotrackable."""

from tandem.framework.trackable import AutoTrackable  # noqa: F401
