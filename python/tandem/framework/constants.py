"""Constants among TensorFlow's names. The version is TensorFlow's: libraries compare it (`tandem.__version__` is ours)."""

from tandem.served import VERSION  # noqa: F401

newaxis = None
GIT_VERSION = "v2.21.0-rc1-5-ga481b10260d"
COMPILER_VERSION = "Tandem"
GRAPH_DEF_VERSION = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
CXX11_ABI_FLAG = 1
CXX_VERSION = 201703
MONOLITHIC_BUILD = 0
