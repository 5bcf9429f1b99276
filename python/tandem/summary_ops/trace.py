"""Graphs in event files: tf.summary.graph, trace_on and trace_export."""

import threading

from tandem import _core
from tandem.summary_ops import state
from tandem.summary_ops.values import write

_lock = threading.Lock()
_on = {"graph": False, "profiler": False, "outdir": None}


def graph(graph_data):
    """Writes the graph of a traced function (`concrete_function.graph`)."""
    writer = state.STATE.writer
    if writer is None or writer.native is None:
        return False
    if not _core.executing_eagerly():
        raise ValueError("graph() cannot be invoked inside a graph context.")
    if not state.should_record_summaries():
        return False
    if isinstance(graph_data, bytes):
        message = graph_data
    elif hasattr(graph_data, "SerializeToString"):
        message = graph_data.SerializeToString()
    elif isinstance(graph_data, (_core.FuncGraph, _core.CompiledFunction)):
        message = _core.graph_def(graph_data)
    else:
        raise ValueError(f"'graph_data' is not tf.Graph or tf.compat.v1.GraphDef: {type(graph_data)}")
    writer.native.write_graph(0, message)
    return True


def trace_on(graph=True, profiler=False, profiler_outdir=None):
    """From now on functions that are called are noted, and with `profiler` what they do."""
    from tandem.profiling import profiler as profilers

    with _lock:
        if not (graph or profiler) or _on["graph"] or _on["profiler"]:
            return
        if graph:
            _core.start_call_log()
        if profiler:
            profilers.start(profiler_outdir or "")
        _on.update(graph=graph, profiler=profiler, outdir=profiler_outdir)


def trace_export(name, step=None, profiler_outdir=None):
    """Writes what was noted since trace_on(): graphs to the default writer, a profile to its folder."""
    with _lock:
        if not (_on["graph"] or _on["profiler"]):
            raise ValueError("Must enable trace before export through tf.summary.trace_on.")
        if _on["profiler"] and not (profiler_outdir or _on["outdir"]):
            raise ValueError("Argument `profiler_outdir` is not specified.")
        functions = _core.stop_call_log() if _on["graph"] else None
    if functions is not None:
        metadata = _core.summary_metadata("graph_run_metadata_graph", b"1", "", 3)
        with state.summary_scope(name, "run_metadata") as (tag, _):
            write(tag, _core.convert_to_tensor(_core.run_metadata(functions)), step, metadata)
    trace_off(profiler_outdir)


def trace_off(profiler_outdir=None):
    """Ends trace_on() without writing graphs."""
    from tandem.profiling import profiler as profilers

    with _lock:
        if _on["graph"]:
            _core.stop_call_log()
        profiling, outdir = _on["profiler"], profiler_outdir or _on["outdir"]
        _on.update(graph=False, profiler=False, outdir=None)
    if profiling:
        profilers.stop_into(outdir)
