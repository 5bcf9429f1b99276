"""The default writer, the step and whether to record, per thread."""

import contextlib
import threading

from tandem import _core


class _State(threading.local):
    def __init__(self):
        self.writer = None
        self.step = None
        self.recording = True


STATE = _State()


def get_step():
    """The step that summaries without one of their own get, or None."""
    return STATE.step


def set_step(step):
    STATE.step = step


@contextlib.contextmanager
def record_if(condition):
    """Summaries of the block are written where the condition (a bool, a tensor or a function) holds."""
    previous, STATE.recording = STATE.recording, condition
    try:
        yield
    finally:
        STATE.recording = previous


def should_record_summaries():
    """Whether summaries are written now: there is a writer, and record_if() does not forbid it."""
    if STATE.writer is None:
        return False
    condition = STATE.recording
    if callable(condition):
        condition = condition()
    if isinstance(condition, (_core.Tensor, _core.VariableBase)):
        tensor = _core.convert_to_tensor(condition)
        return tensor if tensor._symbolic else bool(tensor)
    return bool(condition)


@contextlib.contextmanager
def summary_scope(name, default_name="summary", values=None):
    """Yields (tag, scope): the name with those of the scopes around it in front."""
    from tandem.framework.graph import current_name_scope, name_scope

    name = name or default_name
    around = current_name_scope()
    tag = f"{around}/{name}" if around else name
    # A tag may hold what a name of a node may not.
    cleaned = "".join(c if c.isalnum() or c in "._/-" else "_" for c in name).lstrip("./-_") or default_name
    with name_scope(cleaned) as scope:
        yield tag, scope
