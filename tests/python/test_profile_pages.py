"""What TensorBoard's profile plugin finds in the profile of a fit: the structure of the file, and the pages themselves.

The pages need the plugin: TANDEM_XPROF names a Python that has it (docs/profiling.md)."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
import xspace_reader
from conftest import environment

# As the plugin knows an op.
OP = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*:[A-Z_][A-Za-z0-9_]*")
STEPS, ROWS = 16, 32
PATH = "Iterator::Root::Prefetch::Batch::ParallelMap::Shuffle::FromTensorSlices"
WAIT = "IteratorGetNextOp::DoCompute"
NO_LAUNCH = 1 << 48
PROGRAM = """
    import json, pathlib, sys
    import numpy as np
    import tandem as tf
    from tandem import _core

    keras = tf.keras
    random = np.random.default_rng(0)
    x = random.normal(size=({rows}, 64)).astype("float32")
    y = random.integers(0, 10, {rows})
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100)
    data = data.map(lambda a, b: (tf.sqrt(tf.abs(tf.sin(a))), b), num_parallel_calls=2).batch(32).prefetch(2)
    model = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(128, "relu"), keras.layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(data, verbose=0)


    class Marks(keras.callbacks.Callback):
        # As keras.callbacks.TensorBoard marks the batches that it profiles.
        def on_train_batch_begin(self, batch, logs=None):
            self.mark = tf.profiler.experimental.Trace("Profiled batch", step_num=batch)
            self.mark.__enter__()

        def on_train_batch_end(self, batch, logs=None):
            self.mark.__exit__(None, None, None)


    _core.start_profile()
    model.fit(data, verbose=0, callbacks=[Marks()] if {marks} else [])
    profile = _core.stop_profile()
    folder = pathlib.Path(profile.write({folder!r}))
    (folder / "summary.json").write_text(json.dumps(profile.summary()))
"""


class Recorded:
    def __init__(self, folder, gpus, marks):
        (self.path,) = folder.rglob("*.xplane.pb")
        self.planes = xspace_reader.read(self.path)
        self.summary = json.loads((self.path.parent / "summary.json").read_text())
        self.gpus, self.marks = gpus, marks

    @property
    def host(self):
        return self.planes["/host:CPU"]

    @property
    def step_name(self):
        return "Profiled batch" if self.marks else "train_step"

    def step_line(self):
        """The events of the thread that trained."""
        (line,) = [events for events in self.host.lines.values() if any(e.name == self.step_name for e in events)]
        return line


@pytest.fixture(scope="module", params=[(0, False), (0, True), (1, False), (1, True)], ids=str)
def recorded(request, tmp_path_factory):
    """A fit on the CPU and on an emulated GPU; with marks of a callback, and with those of the loop alone."""
    gpus, marks = request.param
    folder = tmp_path_factory.mktemp("profile")
    code = PROGRAM.format(rows=ROWS * STEPS, marks=marks, folder=str(folder / "logs"))
    script = folder / "program.py"
    script.write_text(textwrap.dedent(code))
    made = {**environment(), "TANDEM_CUDA": "0", "TANDEM_EMULATE_GPUS": str(gpus)}
    ran = subprocess.run([sys.executable, str(script)], env=made, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return Recorded(folder / "logs", gpus, marks)


def total(events):
    return sum(e.end - e.begin for e in events) * 1e-12


def test_a_line_is_a_thread_whose_events_nest(recorded):
    assert all(re.fullmatch(r"thread \d+", name) for name in recorded.host.lines)
    for events in recorded.host.lines.values():
        around = []
        for event in events:
            while around and around[-1].end <= event.begin and around[-1] != event:
                around.pop()
            assert not around or around[-1].holds(event), (around[-1], event)
            around.append(event)


def test_steps_are_roots_with_the_wait_and_the_work_in_them(recorded):
    line = recorded.step_line()
    steps = [e for e in line if e.name == recorded.step_name]
    assert [e.values["step_num"] for e in steps] == list(range(STEPS))
    assert all(e.values["_r"] == 1 for e in steps)
    for step in steps:
        within = [e for e in line if step.holds(e) and e is not step]
        (wait,) = [e for e in within if e.name == WAIT]
        (stage,) = [e for e in within if e.name == "Iterator::Root::Prefetch"]
        assert wait.holds(stage)
        if recorded.gpus:
            assert any("correlation_id" in e.values for e in within)
        else:
            assert any(e.name.endswith(":FusedMatMul") for e in within)
    assert [s["number"] for s in recorded.summary["steps"]] == list(range(STEPS))


def test_ops_have_the_names_of_their_nodes(recorded):
    line = recorded.step_line()
    ops = [e.name for e in line if re.search(r"\w:[A-Z]", e.name) and "::" not in e.name]
    ops += [e.values["tf_op"] for plane in recorded.planes.values() for e in plane.events() if "tf_op" in e.values]
    assert ops and all(OP.fullmatch(name) for name in ops), ops
    assert any(name.startswith("train_step/") and name.endswith(":MatMul") for name in ops)
    assert any(name.startswith("train_step/compile_loss/") for name in ops)


def test_stages_have_their_path(recorded):
    parts = PATH.split("::")
    paths = {"::".join(parts[:n]) for n in range(3, len(parts) + 1)}
    assert {e.name for e in recorded.host.events() if e.name.startswith("Iterator::")} == paths
    stages = {s["path"]: s for s in recorded.summary["stages"]}
    assert set(stages) == paths
    for path in paths:
        events = recorded.host.events(path)
        assert stages[path]["elements"] == len(events)
        assert stages[path]["seconds"] == pytest.approx(total(events))


def test_a_device_has_streams_of_kernels_and_copies(recorded):
    planes = {name for name in recorded.planes if name.startswith("/device:")}
    assert planes == ({"/device:GPU:0"} if recorded.gpus else set())
    if not recorded.gpus:
        return
    gpu = recorded.planes["/device:GPU:0"]
    assert [name for name in gpu.lines if "waits" not in name] == [
        "Stream #1(Compute)",
        "Stream #2(MemcpyHToD)",
        *(["Stream #3(MemcpyDToH)"] if gpu.events("MemcpyDToH") else []),
    ]
    assert gpu.values["memory_size"] > 0 and gpu.values["device_vendor"] == "emulated"
    launches = {e.values["correlation_id"]: e for e in recorded.host.events() if "correlation_id" in e.values}
    for event in gpu.events():
        number = event.values["correlation_id"]
        if number < NO_LAUNCH:
            assert launches[number].begin <= event.begin
            assert launches[number].values["device_id"] == 0
    kernels = [e for e in gpu.events() if "kernel_details" in e.values]
    assert all("grid:1,1,1" in e.values["kernel_details"] for e in kernels)
    copies = [e for e in gpu.events("MemcpyHToD") if "memcpy_details" in e.values]
    sizes = [int(re.match(r"num_bytes:(\d+)\n", e.values["memcpy_details"])[1]) for e in copies]
    assert sizes.count(ROWS * 64 * 4) == STEPS
    waits = [e for line in gpu.lines for e in gpu.lines[line] if "waits" in line]
    assert all(e.name.startswith("MemcpyHToD ") for e in waits)
    busy = [e for e in gpu.events() if e not in waits]
    assert not any(w.begin < e.end and e.begin < w.end for w in waits for e in busy)


def test_totals_are_those_of_the_recording(recorded):
    ops = collections.defaultdict(list)
    for name, plane in recorded.planes.items():
        for event in plane.events():
            op = event.values.get("tf_op") if name != "/host:CPU" else event.name
            if op and OP.fullmatch(op):
                ops[name.rpartition("device:")[2], op].append(event)
    counted = {}
    for op in recorded.summary["ops"]:
        device = "/host:CPU" if op["device"] == "CPU:0" else op["device"]
        counted[device, f"{op['name']}:{op['type']}"] = (op["count"], pytest.approx(op["seconds"]))
    assert {key: (len(events), total(events)) for key, events in ops.items()} == counted
    kernels = collections.Counter()
    for kernel in recorded.summary["kernels"]:
        kernels[kernel["name"]] += kernel["count"]
    gpu = recorded.planes.get("/device:GPU:0")
    work = [e.name for e in gpu.events() if "waits" not in e.name] if gpu else []
    assert collections.Counter(work) == kernels


def test_memory_is_that_of_every_device(recorded):
    in_use = collections.defaultdict(list)
    for event in recorded.host.events("MemoryAllocation") + recorded.host.events("MemoryDeallocation"):
        values = event.values
        assert values["addr"] and values["allocation_bytes"] > 0
        assert values["bytes_allocated"] <= values["peak_bytes_in_use"]
        in_use[values["allocator_name"]].append(values["bytes_allocated"])
    peaks = {m["device"]: m["peak_bytes"] for m in recorded.summary["memory"]}
    assert {device: max(bytes_) for device, bytes_ in in_use.items()} == peaks
    assert ("GPU:0" in peaks) == bool(recorded.gpus)


@pytest.fixture(scope="module")
def pages(recorded):
    python = os.environ.get("TANDEM_XPROF")
    if not python:
        pytest.skip("TANDEM_XPROF names no Python that has the plugin `xprof`: `make test-profile` installs one")
    program = pathlib.Path(__file__).with_name("profile_pages.py")
    ran = subprocess.run([python, str(program), str(recorded.path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def close(value):
    return pytest.approx(value, rel=0.01, abs=1e-9)


def test_the_overview_has_steps_and_the_share_of_input(recorded, pages):
    steps = recorded.summary["steps"][1:-1]  # the page leaves the first and the last out
    for shown in (pages["steps"], pages["pipeline_steps"]):
        assert [s["stepTimeMs"] for s in shown] == [close(s["seconds"] * 1e3) for s in steps]
        assert [s["infeedTimeMs"] for s in shown] == [close(s["input_seconds"] * 1e3) for s in steps]
    share = 100 * sum(s["input_seconds"] for s in steps) / sum(s["seconds"] for s in steps)
    assert "input-bound" in pages["statement"]
    (said,) = re.findall(r"([\d.]+)% of the total step time", pages["statement"])
    assert float(said) == pytest.approx(share, rel=0.01, abs=0.06)
    assert pages["device_type"] == ("GPU" if recorded.gpus else "CPU")


def test_the_pipeline_page_has_its_stages(recorded, pages):
    ours = {s["path"]: s for s in recorded.summary["stages"]}
    assert {s["opName"] for s in pages["stages"]} == set(ours)
    for shown in pages["stages"]:
        mine = ours[shown["opName"]]
        assert shown["count"] == mine["elements"]
        assert shown["timeInMs"] == close(mine["seconds"] * 1e3)
        assert shown["selfTimeInMs"] == close(mine["self_seconds"] * 1e3)


def test_op_statistics(recorded, pages):
    ours = {}
    for op in recorded.summary["ops"]:
        ours["Host" if op["device"] == "CPU:0" else "Device", op["name"], op["type"]] = op
    shown = {(r["host_or_device"], r["operation"], r["type"]): r for r in pages["ops"]}
    assert {key for key in shown if key[2] not in ("IDLE", "Dataset")} == set(ours)
    for key, mine in ours.items():
        assert shown[key]["occurrences"] == mine["count"]
        assert shown[key]["total_time"] == close(mine["seconds"] * 1e6)
        assert shown[key]["total_self_time"] == close(mine["self_seconds"] * 1e6)


def test_the_op_profile_of_a_device(recorded, pages):
    ours = collections.defaultdict(lambda: [0, 0])
    for op in recorded.summary["ops"]:
        if op["device"] != "CPU:0":
            ours[op["type"]][0] += op["count"]
            ours[op["type"]][1] += op["seconds"] * 1e12
    assert set(pages["op_profile"]) == set(ours)
    for kind, (count, picoseconds) in ours.items():
        assert pages["op_profile"][kind] == [count, close(picoseconds)]


def test_kernel_statistics(recorded, pages):
    ours = {(k["name"], k["op"]): k for k in recorded.summary["kernels"] if not k["name"].startswith("Memcpy")}
    shown = {(k["kernel_name"], k["op_name"]): k for k in pages["kernels"]}
    assert set(shown) == set(ours) and bool(shown) == bool(recorded.gpus)
    for key, mine in ours.items():
        assert shown[key]["occurrences"] == mine["count"]
        assert shown[key]["total_duration_us"] == close(mine["seconds"] * 1e6)


def test_the_memory_page(recorded, pages):
    for memory in recorded.summary["memory"]:
        shown = pages["memory"][memory["device"]]
        assert shown["peak"] == memory["peak_bytes"]
        assert shown["capacity"] > shown["peak"] and shown["snapshots"] and shown["active"]
    assert len(pages["memory"]) == len(recorded.summary["memory"])


def test_the_trace_has_all_lines_and_numbered_steps(recorded, pages):
    hosts = {e["line"] for e in pages["trace"] if "/host:CPU" in e["plane"]}
    assert hosts == {name for name, events in recorded.host.lines.items() if events}
    numbers = [int(e["args"]["step_num"]) for e in pages["trace"] if "step_name" in e["args"] and e["line"] in hosts]
    assert sorted(numbers) == list(range(STEPS))
    if recorded.gpus:
        assert any(e["line"] == "Steps" for e in pages["trace"] if "GPU:0" in e["plane"])
