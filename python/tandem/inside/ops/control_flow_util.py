"""tensorflow.python.ops.control_flow_util: in what graph one is. Branches and loops are nodes with graphs of their own."""

from tandem import _core

ENABLE_CONTROL_FLOW_V2 = True


def EnableControlFlowV2(graph):  # noqa: N802
    return True


def enable_control_flow_v2(unused_fn):
    return unused_fn


def GraphOrParentsInXlaContext(graph):  # noqa: N802
    return False


def IsInXLAContext(op):  # noqa: N802
    return False


InXlaContext = GraphOrParentsInXlaContext


def GetContainingXLAContext(ctxt):  # noqa: N802
    return None


GetContainingWhileContext = GetContainingCondContext = GetContainingXLAContext


def IsInWhileLoop(op):  # noqa: N802
    return False


IsInCond = IsInWhileLoop


def in_while_loop_defun(graph):
    return _core.current_graph() is not None and "while" in getattr(graph, "name", "")
