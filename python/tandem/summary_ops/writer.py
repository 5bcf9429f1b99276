"""Summary writers: who puts events into a file."""

import contextlib

from tandem import _core
from tandem.framework import gfile
from tandem.summary_ops.state import STATE


class SummaryWriter:
    """What summary writers have in common."""

    def set_as_default(self, step=None):
        """Summaries of this thread go to this writer from now on."""
        self._check_open()
        STATE.writer = self
        if step is not None:
            STATE.step = step

    @contextlib.contextmanager
    def as_default(self, step=None):
        """Summaries of the block go to this writer."""
        self._check_open()
        previous_writer, previous_step = STATE.writer, STATE.step
        STATE.writer = self
        if step is not None:
            STATE.step = step
        try:
            yield self
            self.flush()
        finally:
            STATE.writer = previous_writer
            if step is not None:
                STATE.step = previous_step

    def _check_open(self):
        pass

    def init(self):
        """A writer is ready when it exists."""

    def flush(self):
        raise NotImplementedError

    def close(self):
        raise NotImplementedError


class FileWriter(SummaryWriter):
    """Writes one event file."""

    def __init__(self, logdir, max_queue, flush_millis, filename_suffix):
        self._native = _core.SummaryWriterBase(logdir, max_queue, flush_millis, filename_suffix)

    @property
    def native(self):
        return self._native

    @property
    def path(self):
        return self._native.path

    def _check_open(self):
        if self._native.closed:
            raise RuntimeError("SummaryWriter is already closed")

    def flush(self):
        if _core.executing_eagerly():
            self._native.flush()
        else:
            _core.execute("FlushSummaryWriter", writer=self._native.number)

    def close(self):
        with _core.init_scope():
            if not self._native.closed:
                self._native.close()


class NoopWriter(SummaryWriter):
    """Writes nothing."""

    native = None

    def flush(self):
        pass

    def close(self):
        pass


def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None,
                       experimental_trackable=False, experimental_mesh=None):  # fmt: skip
    """A writer of an event file in that folder, which is made."""
    if logdir is None:
        return NoopWriter()
    return FileWriter(
        gfile.local_path(logdir),
        10 if max_queue is None else int(max_queue),
        2 * 60 * 1000 if flush_millis is None else int(flush_millis),
        ".v2" if filename_suffix is None else str(filename_suffix),
    )


def create_noop_writer():
    return NoopWriter()


def default_writer():
    return STATE.writer


def flush(writer=None, name=None):
    """Brings what a writer (the default one) holds to its file."""
    writer = writer or STATE.writer
    if writer is not None:
        writer.flush()
