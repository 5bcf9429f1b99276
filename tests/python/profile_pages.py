"""Figures of TensorBoard's profile pages for one .xplane.pb file, as JSON. Runs under a Python that has `xprof`."""

import json
import sys

from xprof.convert import raw_to_tool_data


def page(path, tool):
    data, _ = raw_to_tool_data.xspace_to_tool_data([path], tool, {"use_saved_result": False})
    return json.loads(data) if data else None


def rows(table):
    names = [column["id"] for column in table["cols"]]
    return [dict(zip(names, (cell["v"] for cell in row["c"]))) for row in table["rows"]]


def main(path):
    overview = page(path, "overview_page")
    pipeline = page(path, "input_pipeline_analyzer")
    memory = page(path, "memory_profile")["memoryProfilePerAllocator"]
    trace = page(path, "trace_viewer")["traceEvents"]
    lines = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e.get("name") == "thread_name"}
    planes = {e["pid"]: e["args"]["name"] for e in trace if e.get("name") == "process_name"}
    return {
        "statement": overview[3]["p"]["statement"],
        "device_type": overview[2]["p"]["device_type"],
        "steps": rows(overview[1]),
        "pipeline_steps": rows(pipeline[1]),
        "stages": rows(pipeline[2]),
        "ops": rows(page(path, "framework_op_stats")[0]),
        "op_profile": {
            category["name"]: (category["metrics"]["occurrences"], category["metrics"]["rawTime"])
            for program in page(path, "op_profile")["byProgramExcludeIdle"]["children"]
            for category in program["children"]
        },
        "kernels": rows(page(path, "kernel_stats")),
        "memory": {
            name: {
                "peak": int(m["profileSummary"]["peakStats"]["peakBytesInUse"]),
                "capacity": int(m["profileSummary"]["memoryCapacity"]),
                "snapshots": len(m["sampledTimelineSnapshots"]),
                "active": len(m["activeAllocations"]),
            }
            for name, m in memory.items()
        },
        "trace": [
            {"plane": planes[e["pid"]], "line": lines[e["pid"], e["tid"]], "name": e["name"], "args": e.get("args", {})}
            for e in trace
            if e.get("ph") == "X"
        ],
    }


if __name__ == "__main__":
    json.dump(main(sys.argv[1]), sys.stdout)
