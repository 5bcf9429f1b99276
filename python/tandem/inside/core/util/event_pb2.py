"""tensorflow.core.util.event_pb2."""

from tandem.framework.messages import Event  # noqa: F401
