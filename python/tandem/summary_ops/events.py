"""Reading event files: tf.compat.v1.train.summary_iterator and the messages it yields."""

from google.protobuf.message import DecodeError

from tandem.framework.errors import DataLossError
from tandem.framework.messages import Event, Summary, TensorProto, make_ndarray  # noqa: F401


def summary_iterator(path):
    """The events of an event file."""
    from tandem.pipeline.readers import tf_record_iterator

    offset = 0
    for record in tf_record_iterator(path):
        try:
            event = Event.FromString(record)
        except DecodeError as error:
            raise DataLossError(None, None, f"{path}: the event in the record at {offset} is damaged: {error}") from None
        yield event
        offset += 16 + len(record)  # its length, the two checksums
