"""tensorflow.core.framework.summary_pb2."""

from tandem.framework.messages import Summary  # noqa: F401
from tandem.summary_ops.metadata import SummaryMetadata  # noqa: F401
