"""One library's loops: reads {"case", "number"} lines, answers with seconds per run and what the run gave."""

import json
import sys
import time

from cases import jax_cases, tf_cases


def main():
    library, turns = sys.argv[1], int(sys.argv[2])
    cases = jax_cases(turns) if library == "jax" else tf_cases(__import__(library), turns)
    for line in sys.stdin:
        asked = json.loads(line)
        run = cases[asked["case"]]
        value = run()
        begin = time.perf_counter()
        for _ in range(asked["number"]):
            value = run()
        seconds = (time.perf_counter() - begin) / max(asked["number"], 1)
        print(json.dumps({"seconds": seconds, "value": value}), flush=True)


main()
