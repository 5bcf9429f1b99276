"""What tests of TensorFlow 1 use: attributes that are replaced for a while, benchmarks, graphs that are compared."""

import time


class StubOutForTesting:
    """Replaces attributes until it is told to put them back."""

    def __init__(self):
        self._set, self._smart = [], []

    def Set(self, parent, child_name, new_child):  # noqa: N802
        self._set.append((parent, child_name, getattr(parent, child_name)))
        setattr(parent, child_name, new_child)

    def UnsetAll(self):  # noqa: N802
        for parent, name, value in reversed(self._set):
            setattr(parent, name, value)
        self._set = []

    def SmartSet(self, obj, attr_name, new_attr):  # noqa: N802
        self._smart.append((obj, attr_name, getattr(obj, attr_name)))
        setattr(obj, attr_name, new_attr)

    def SmartUnsetAll(self):  # noqa: N802
        for parent, name, value in reversed(self._smart):
            setattr(parent, name, value)
        self._smart = []

    def CleanUp(self):  # noqa: N802
        self.SmartUnsetAll()
        self.UnsetAll()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.CleanUp()


def assert_equal_graph_def(actual, expected, checkpoint_v2=False, hash_table_shared_name=False):
    """Raises unless both have the same nodes."""
    found, wanted = ({n.name: n for n in g.node} for g in (actual, expected))
    if sorted(found) != sorted(wanted):
        raise AssertionError(f"The graphs differ in nodes: {sorted(set(found) ^ set(wanted))}")
    for name, node in found.items():
        if repr(node) != repr(wanted[name]):
            raise AssertionError(f"Node {name} differs:\n{node!r}\n{wanted[name]!r}")


def benchmark_config():
    from tandem.graph_mode.configuration import ConfigProto

    return ConfigProto()


class Benchmark:
    """Times an operation in a session, and says so."""

    def report_benchmark(self, iters=None, cpu_time=None, wall_time=None, throughput=None, extras=None, name=None,
                         metrics=None):  # fmt: skip
        shown = {"iters": iters, "wall_time": wall_time, "throughput": throughput, **(extras or {})}
        print(f"{name or type(self).__name__}: " + ", ".join(f"{k} {v}" for k, v in shown.items() if v is not None))

    def run_op_benchmark(
        self, sess, op_or_tensor, feed_dict=None, burn_iters=2, min_iters=10, store_trace=False, store_memory_usage=True,
        name=None, extras=None, mbs=0,
    ):  # fmt: skip
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - start)
        median = sorted(times)[len(times) // 2]
        self.report_benchmark(min_iters, wall_time=median, extras=extras, name=name)
        return {"iters": min_iters, "wall_time": median, "extras": dict(extras or {}), "name": name, "throughput": mbs / median}
