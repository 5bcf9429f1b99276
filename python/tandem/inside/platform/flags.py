"""tensorflow.python.platform.flags: absl's."""

from absl.flags import *  # noqa: F403
