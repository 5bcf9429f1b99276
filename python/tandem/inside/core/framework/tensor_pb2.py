"""tensorflow.core.framework.tensor_pb2."""

from tandem.framework.messages import TensorProto  # noqa: F401
