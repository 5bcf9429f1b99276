"""Constants among TensorFlow's names."""

from tandem import _core

newaxis = None
VERSION = _core.__version__
GIT_VERSION = _core.__version__
