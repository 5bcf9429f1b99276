"""One library's worker of `make bench-loops`: the cases of cases.py, one run an iteration."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from cases import jax_cases, tf_cases
from common.worker import serve


def case_of(run):
    """Times the runs; the answer says what the last one gave."""
    values = [run()]

    def body(n):
        for _ in range(n):
            values[:] = [run()]

    return {"body": body, "digest": lambda: {"values": values}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--turns", type=int, required=True)
    arguments = parser.parse_args()
    library = __import__(arguments.library)
    cases = jax_cases(arguments.turns) if library.__name__ == "jax" else tf_cases(library, arguments.turns)
    made = {name: lambda run=run: case_of(run) for name, run in cases.items()}
    serve(arguments.library, f"{arguments.library} {library.__version__}", 1, made)


main()
