"""Messages of TensorFlow that graph mode gives or takes."""

from tandem.framework.messages import HistogramProto, Summary  # noqa: F401
from tandem.graph_mode.configuration import _Message


class SummaryDescription(_Message):
    _fields = {"type_hint": ""}


class TensorInfo(_Message):
    """Which tensor of a graph an argument or a result of a signature is."""

    _fields = {"name": "", "dtype": 0, "tensor_shape": None}


class AttrValue(_Message):
    _fields = {"s": b"", "i": 0, "f": 0.0, "b": False, "type": 0, "shape": None, "tensor": None, "list": None}


class NameAttrList(_Message):
    _fields = {"name": "", "attr": dict}


class MetaGraphDef(_Message):
    _fields = {"meta_info_def": None, "graph_def": None, "saver_def": None, "collection_def": dict, "signature_def": dict}
