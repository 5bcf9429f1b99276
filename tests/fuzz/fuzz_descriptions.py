#!/usr/bin/env python3
"""Descriptions that are whole and lie: JSON of saved models and datasets and graphs of objects in checkpoints with other
values in them, under right checksums.

    tests/fuzz/fuzz_descriptions.py [--seconds N] [--seed S]
    tests/fuzz/fuzz_descriptions.py --seed S --case N        runs one case again, without a guard

What loads one may give a value or one of TensorFlow's errors; what it gives may be called. A finding is an exception of
another class, a process that dies, or a case that takes more than 10 s.
"""

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))
MOST_SECONDS = 10
MOST_BYTES = 24 << 30  # of addresses: most of it is never touched


def kinds(folder):
    """{name: (contents, function that loads changed contents)}."""
    import collections

    import tandem as tf
    from tandem.checkpoint import object_graph

    point = collections.namedtuple("Point", "x y")

    class Served(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable([1.0, 2.0])
            (folder / "words").write_text("a")
            self.words = tf.saved_model.Asset(str(folder / "words"))
            self.parts = [tf.Variable(3), {"x": tf.Variable("text")}, (tf.Variable(True),)]

        @tf.function(input_signature=[tf.TensorSpec([None]), {"a": tf.TensorSpec([], tf.int32)}])
        def run(self, x, other):
            return {"y": x * 2.0, "z": (tf.io.read_file(self.words.asset_path), self.v + tf.cast(other["a"], tf.float32))}

        @tf.function
        def twice(self, x, name="n", times=2):
            return point(x * times, [x])

    served = Served()
    served.twice(tf.constant(1.0), times=3)
    tf.saved_model.save(served, folder / "m", signatures=tf.function(lambda x: {"out": x + served.v}).get_concrete_function(
        tf.TensorSpec([2])))  # fmt: skip
    element = {"a": point(tf.constant([1]), None), "b": tf.ragged.constant([[1], [2, 3]]), "c": tf.sparse.eye(2)}
    tf.data.Dataset.from_tensors(collections.OrderedDict(element)).repeat(2).save(str(folder / "d"))
    checkpoint = tf.train.Checkpoint(m=served)
    *_, names, values = object_graph.gather(checkpoint)
    graph = names.index("_CHECKPOINTABLE_OBJECT_GRAPH")
    graph_bytes = values[graph].numpy()

    def model(contents):
        (folder / "m/saved_model.json").write_bytes(contents)
        loaded = tf.saved_model.load(folder / "m")
        calls = [(), (tf.constant([1.0, 2.0]),), (tf.constant([1.0]), {"a": tf.constant(1)}), (tf.constant(1.0), "n", 3)]
        for function in [*loaded.signatures.values(), *vars(loaded).values()]:
            for arguments in calls if callable(function) else ():
                try:
                    function(*arguments)
                except (TypeError, ValueError, tf.errors.OpError):
                    pass  # these are not its arguments

    def dataset(contents):
        (folder / "d/dataset.json").write_bytes(contents)
        for made in tf.data.Dataset.load(str(folder / "d")).take(10):
            tf.nest.map_structure(lambda leaf: leaf, made)

    def objects(contents):
        values[graph] = tf.constant(contents)
        tf._core.save_checkpoint(str(folder / "ck"), names, values)
        try:
            tf.train.Checkpoint(m=served).read(folder / "ck").expect_partial()
        except ValueError as error:
            if "incompatible tensor with shape" not in str(error):
                raise
        tf.train.CheckpointView(folder / "ck").descendants()

    return tf.errors.OpError, [
        ("saved_model", (folder / "m/saved_model.json").read_bytes(), model),
        ("dataset", (folder / "d/dataset.json").read_bytes(), dataset),
        ("checkpoint", graph_bytes, objects),
    ]


def run(seed, first, end, one):
    """The process that loads: prints a line for each finding, and which case it is at."""
    from mutations import mutated, mutated_json

    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    with tempfile.TemporaryDirectory() as name:
        allowed, all_kinds = kinds(Path(name))
        case = first
        while (one and case == first) or (not one and time.time() < end):
            rng = random.Random(f"{seed} {case}")
            kind, contents, load = all_kinds[case % len(all_kinds)]
            changed = (mutated if rng.random() < 0.2 else mutated_json)(contents, rng.random())
            print(f"case {case}", flush=True)
            signal.alarm(0 if one else MOST_SECONDS)
            try:
                load(changed)
            except allowed:
                pass
            except Exception as error:  # noqa: BLE001
                print(f"finding {kind}: {type(error).__name__}: {str(error)[:300]!r}", flush=True)
                traceback.print_exc(limit=-4)
            case += 1
    signal.alarm(0)
    print("done", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--case", type=int)
    parser.add_argument("--child", nargs=2, type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    sys.path.insert(0, os.environ.get("TANDEM_PACKAGE", str(ROOT / "build/dev/python")))
    if options.child or options.case is not None:
        first, end = options.child or (options.case, 0)
        run(seed, int(first), end, not options.child)
        return 0
    print(f"fuzz_descriptions: --seed {seed}", flush=True)
    end, case, calls, findings, known = time.time() + options.seconds, 0, 0, 0, set()
    while time.time() < end:
        command = [sys.executable, "-W", "ignore", __file__, "--seed", str(seed), "--child", str(case), str(end)]
        done = False
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                if line.startswith("case "):
                    case = int(line.split()[1])
                    calls += 1
                elif line.startswith("finding "):
                    findings += 1
                    if line not in known:
                        print(f"--seed {seed} --case {case}: {line.strip()}", flush=True)
                    known.add(line)
                done = done or line == "done\n"
        if not done:
            findings += 1
            print(f"--seed {seed} --case {case}: the process ended with status {child.returncode}", flush=True)
        case += 1
    print(f"fuzz_descriptions: {calls} calls, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
