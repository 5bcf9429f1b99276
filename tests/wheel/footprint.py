"""Time and resident memory of the first steps of a program, with the wheel and with TensorFlow, in one run."""

import json
import statistics
import subprocess

ROUNDS = 5
# What the ratios to TensorFlow's time and memory may be at most. (TensorFlow has loaded Keras by its import.)
STEPS = {"import": (0.15, 0.16), "first op": (0.15, 0.16), "tf.keras": (0.4, 0.25)}
PROGRAM = """
import json, sys, time
begin = time.perf_counter()
def state():
    pages = int(open("/proc/self/statm").read().split()[1])
    return time.perf_counter() - begin, pages * 4096
import LIBRARY as tf
found = [state()]
tf.constant([1.0]) + 1.0
found.append(state())
tf.keras.layers
found.append(state())
print(json.dumps(found))
"""


def outcome(said):
    return json.loads(said.splitlines()[-1])


def of_tandem(root, user):
    status, said = root.run("/root/env/bin/python -c '" + PROGRAM.replace("LIBRARY", "tandem").replace("'", '"') + "'", user, {})
    assert status == 0, said
    return outcome(said)


def of_tensorflow(python):
    return outcome(subprocess.check_output([python, "-c", PROGRAM.replace("LIBRARY", "tensorflow")], text=True, stderr=subprocess.DEVNULL))


def compare(results, root, user, python):
    """One after the other, in turn; medians."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(of_tandem(root, user))
        theirs.append(of_tensorflow(python))
    for at, (step, limits) in enumerate(STEPS.items()):
        for what, (limit, unit) in enumerate(zip(limits, (1, 1e6), strict=True)):
            a, b = (statistics.median(found[at][what] for found in side) / unit for side in (ours, theirs))
            name = f"{step}: {('time', 'resident memory')[what]} {a:.3g} beside {b:.3g} {('s', 'MB')[what]}, ratio {a / b:.2f}"
            results.check(name, a / b <= limit, f"wanted: at most {limit}")
