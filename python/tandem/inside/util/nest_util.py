"""tensorflow.python.util.nest_util, tensorflow.python.data.util.nest: the same functions once more."""

from tandem.inside.util.nest import *  # noqa: F403
from tandem.inside.util.nest import sequence_like, yield_sorted_items  # noqa: F401
