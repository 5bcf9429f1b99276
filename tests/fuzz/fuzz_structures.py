#!/usr/bin/env python3
"""Random nests through everything that takes structures apart and puts them together (tests/python/nest_cases.py).

    fuzz_structures.py --seconds 60 [--seed N] [--only fit,dataset] [--module tensorflow]

With --module tensorflow the same is asked of TensorFlow, where it is installed: what the cases expect is its semantics.
A finding is printed with the seed that repeats it and the smallest nest that shows it. A nest that takes more than two
minutes ends the run with the stacks.
"""

import argparse
import importlib
import os
import pathlib
import sys
import time
import traceback

import watchdog

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS_OF_A_NEST = 120
sys.path.insert(0, str(ROOT / "tests/python"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="", help="names of checks, separated by commas")
    parser.add_argument("--module", default="tandem", help="tandem or tensorflow")
    parser.add_argument("--examples", type=int, default=20, help="nests for each check and seed")
    options = parser.parse_args()
    if options.module == "tandem":
        sys.path.insert(0, os.environ.get("TANDEM_PACKAGE", str(ROOT / "build/dev/python")))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = importlib.import_module(options.module)
    cpu = tf.config.list_physical_devices("CPU")[0]
    if not tf.config.list_physical_devices("GPU"):
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

    import nest_cases
    from hypothesis import HealthCheck, given, seed, settings

    names = options.only.split(",") if options.only else list(nest_cases.CHECKS)
    first = options.seed if options.seed is not None else int(time.time())
    print(f"fuzz_structures: --seed {first}", flush=True)
    calls = findings = 0
    found = set()
    deadline = time.monotonic() + options.seconds
    number = first
    while number == first or time.monotonic() < deadline:
        for name in names:
            if number != first and time.monotonic() >= deadline:
                break
            function, nests = nest_cases.CHECKS[name]

            @seed(number)
            @settings(max_examples=options.examples, deadline=None, database=None, print_blob=False,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
            @given(nest_cases.nests(**nests))
            def run(nest):
                nonlocal calls
                calls += 1
                watchdog.within(SECONDS_OF_A_NEST)
                function(tf, nest)  # noqa: B023  (runs before the next turn)

            try:
                run()
            except Exception:  # noqa: BLE001  (a finding)
                findings += 1
                text = traceback.format_exc().strip().splitlines()
                if text[-1] not in found:
                    found.add(text[-1])
                    print(f"--- {name}: --seed {number} --only {name}", *text[-14:], sep="\n", flush=True)
        number += 1
    watchdog.done()
    print(f"fuzz_structures: {calls} calls, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
