"""tf.profiler.experimental: files that name steps, ops, copies and lines."""

import json
import pathlib

import pytest
import tandem as tf

profiler = tf.profiler.experimental


@tf.function
def step(x):
    return tf.reduce_sum(tf.matmul(x, x))


def files(folder):
    return [p for p in pathlib.Path(folder).rglob("*") if p.is_file()]


def trace_of(folder):
    (path,) = pathlib.Path(folder).rglob("*.trace.json")
    return json.loads(path.read_text())["traceEvents"]


def work_of(events, op):
    """Events of an op: what the device itself said, where it did (a real GPU), else what the host ran or enqueued."""
    found = [e for e in events if op in e["name"] and e.get("cat") in ("op", "activity")]
    return [e for e in found if e["cat"] == "activity"] or found


def test_steps_ops_and_lines(tmp_path):
    x = tf.random.normal((16, 16))
    step(x)
    profiler.start(tmp_path)
    for i in range(3):
        with profiler.Trace("train", step_num=i, _r=1) as trace:
            float(step(x + 1.0))
            trace.set_metadata(loss=i * 0.5)
    profiler.stop()
    step(x)
    events = trace_of(tmp_path)
    marks = [e for e in events if e["name"] == "train"]
    assert [m["args"]["step_num"] for m in marks] == [0, 1, 2]
    assert marks[1]["args"] == {"step_num": 1, "_r": 1, "loss": "0.5"}
    products = work_of(events, "MatMul")
    slack = 100 if products[0]["cat"] == "activity" else 0  # µs by which two clocks may differ
    for mark in marks:
        begin, end = mark["ts"] - slack, mark["ts"] + mark["dur"] + slack
        assert any(begin <= e["ts"] and e["ts"] + e["dur"] <= end for e in products)
    if not slack:
        assert len(products) == 3
    sums = [e for e in events if e["name"] == "AddV2" and e["cat"] == "op"]
    assert len(sums) == 3 and all(__file__ in e["args"]["source"] for e in sums)
    lanes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert lanes[marks[0]["pid"]] == "Program" and lanes[products[0]["pid"]].startswith(("CPU", "GPU"))
    (space,) = tmp_path.rglob("*.xplane.pb")
    data = space.read_bytes()
    assert all(name in data for name in (b"train", b"step_num", b"MatMul", b"/host:CPU"))
    assert all(str(p).startswith(str(tmp_path / "plugins" / "profile")) for p in files(tmp_path))


def test_start_and_stop(tmp_path):
    with pytest.raises(tf.errors.UnavailableError, match="No profiler is running"):
        profiler.stop()
    profiler.start(tmp_path)
    with pytest.raises(tf.errors.AlreadyExistsError, match="Another profiler is running"):
        profiler.start(tmp_path)
    profiler.stop(save=False)
    assert files(tmp_path) == []
    with pytest.raises(tf.errors.UnavailableError):
        profiler.stop()


def test_context_and_options(tmp_path):
    options = profiler.ProfilerOptions(host_tracer_level=3, python_tracer_level=1, device_tracer_level=1)
    assert options.delay_ms is None and options.host_tracer_level == 3
    with profiler.Profile(tmp_path, options=options):
        with profiler.Trace("inside"):
            tf.add(1, 2)
    assert "inside" in {e["name"] for e in trace_of(tmp_path)}


def test_devices_and_copies(run_python, tmp_path):
    status, _, err = run_python(
        f"""
        import tandem as tf
        with tf.device("CPU:0"):
            x = tf.ones((32, 32))
        tf.profiler.experimental.start({str(tmp_path)!r})
        with tf.device("GPU:0"):
            y = tf.matmul(x, x)
        y.numpy()
        tf.profiler.experimental.stop()
        """,
        gpus=1,
    )
    assert status == 0, err
    events = trace_of(tmp_path)
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    placed = [(names.get(e["pid"]), rows.get(e.get("tid")), e) for e in events if e["ph"] == "X"]
    for stream in ("copy_in", "copy_out"):
        assert [e["args"]["bytes"] for *at, e in placed if at == ["GPU:0", stream]] == [4096]
    assert any("MatMul" in e["name"] for *at, e in placed if at == ["GPU:0", "compute"])


def test_a_whole_script(run_python, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import tensorflow as tf\nprint(tf.matmul([[1.0]], [[2.0]]).numpy())\n")
    trace = tmp_path / "out" / "trace.json"
    status, out, err = run_python(
        f"""
        from tandem.command import main
        raise SystemExit(main(["run", "--quiet", "--trace", {str(trace)!r}, {str(script)!r}]))
        """
    )
    assert status == 0, err
    assert out.strip() == "[[2.]]"
    events = json.loads(trace.read_text())["traceEvents"]
    (product,) = [e for e in events if e["name"] == "MatMul" and e["cat"] == "op"]
    assert product["args"]["source"].endswith("script.py:2")


def test_a_script_that_profiles_itself_ends_the_trace_of_run(run_python, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import tensorflow as tf\n"
        "tf.matmul([[1.0]], [[2.0]])\n"
        f"with tf.profiler.experimental.Profile({str(tmp_path / 'own')!r}):\n"
        "    tf.exp(1.0)\n"
        f"with tf.profiler.experimental.Profile({str(tmp_path / 'second')!r}):\n"
        "    tf.sin(1.0)\n"
    )
    trace = tmp_path / "trace.json"
    status, out, err = run_python(
        f"""
        from tandem.command import main
        raise SystemExit(main(["run", "--quiet", "--trace", {str(trace)!r}, {str(script)!r}]))
        """
    )
    assert status == 0, err
    assert err.count("profiles itself") == 1
    names = {e["name"] for e in json.loads(trace.read_text())["traceEvents"]}
    assert "MatMul" in names and "Exp" not in names
    assert "Exp" in {e["name"] for e in trace_of(tmp_path / "own")}
    assert "Sin" in {e["name"] for e in trace_of(tmp_path / "second")}
