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


class SessionLog(_Message):
    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = 0, 1, 2, 3
    _fields = {"status": 0, "checkpoint_path": "", "msg": ""}


class LogMessage(_Message):
    UNKNOWN, DEBUGGING, INFO, WARN, ERROR, FATAL = 0, 10, 20, 30, 40, 50
    _fields = {"level": 0, "message": ""}


class TaggedRunMetadata(_Message):
    _fields = {"tag": "", "run_metadata": b""}


class SaverDef(_Message):
    LEGACY, V1, V2 = 0, 1, 2
    _fields = {
        "filename_tensor_name": "", "save_tensor_name": "", "restore_op_name": "", "max_to_keep": 0, "sharded": False,
        "keep_checkpoint_every_n_hours": 0.0, "version": 0,
    }  # fmt: skip


class ServerDef(_Message):
    _fields = {"cluster": None, "job_name": "", "task_index": 0, "default_session_config": None, "protocol": "", "port": 0}


class TFRecordCompressionType:
    NONE, ZLIB, GZIP = 0, 1, 2
