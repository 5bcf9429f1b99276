"""tensorflow.core.example.example_pb2."""

from tandem.framework.messages import Example, SequenceExample  # noqa: F401
