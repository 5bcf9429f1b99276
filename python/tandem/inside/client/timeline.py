"""tensorflow.python.client.timeline: what a session measured of a run, for a browser's tracing page."""


class Timeline:
    """`step_stats`: of the RunMetadata of a run with a trace_level."""

    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False, op_time="schedule"):
        return self._step_stats._trace
