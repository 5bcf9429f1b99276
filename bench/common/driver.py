"""What the drivers of benchmarks share: workers, interleaved rounds, ratios, verdicts, reports.

A driver starts two Tandem workers and one of each peer, and gives them the same case in turn,
round after round, so that whatever else the machine does falls on all of them. A figure is the
median over rounds of the ratio within a round. The second Tandem worker shows how far the same
program is from itself (A/A); a wanted line that is missed or met by less than that is called open.
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """A process that speaks the protocol of worker.h."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # What is timed is the plan that stays, not the one that stands in while kernels are compiled.
            env={"TANDEM_BACKGROUND_COMPILE": "0"} | os.environ | (environment or {}),
        )
        about = self.ask("list")
        self.library, self.threads = about["library"], about["threads"]
        self.cases = about["cases"]

    def ask(self, request):
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # said below
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self.name} worker has ended (status {self.process.wait()})")
        return json.loads(line)

    def forms(self, case):
        """The names under which the worker offers the case: CASE or CASE@form."""
        return [name for name in self.cases if name.split("@")[0] == case]

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended on its own, which measure() has said
        self.process.wait(timeout=30)


@dataclass
class Series:
    """One worker's rounds of one case: medians in nanoseconds."""

    total: list = field(default_factory=list)
    overhead: list = field(default_factory=list)  # total minus kernel, where that was measured
    form: str = ""
    answer: dict = field(default_factory=dict)  # the last one


def one_round(worker, form, budget_ms):
    answer = worker.ask(f"run {form} {budget_ms}")
    if "error" in answer:
        raise RuntimeError(f"{worker.name}, {form}: {answer['error']}")
    total = statistics.median(answer["ns"])
    kernel = answer["kernel_ns"]
    differences = [t - k for t, k in zip(answer["ns"], kernel)]
    return total, statistics.median(differences) if kernel else total, answer


def measure(case, workers, rounds, budget_ms):
    """({(worker, form): Series}, [what failed]), by rounds of A B C A' A B C A' …"""
    runs = {(w.name, form): Series(form=form) for w in workers for form in w.forms(case)}
    failed = {}
    for _ in range(rounds):
        for worker in workers:
            for form in worker.forms(case):
                if (worker.name, form) in failed:
                    continue
                # Threads that wait for work in a loop give up within this time.
                time.sleep(0.02)
                try:
                    total, overhead, answer = one_round(worker, form, budget_ms)
                except RuntimeError as error:
                    failed[worker.name, form] = str(error)
                    continue
                series = runs[worker.name, form]
                series.total.append(total)
                series.overhead.append(overhead)
                series.answer = answer
    return {key: s for key, s in runs.items() if key not in failed and s.total}, list(failed.values())


def measure_cases(cases, workers, rounds, budget_ms, evaluate):
    """([evaluate(case, runs)], [what failed]) of all cases that Tandem could do. `budget_ms`: a number, or a function
    of the case."""
    rows, problems = [], []
    for case in cases:
        runs, failed = measure(case, workers, rounds, budget_ms(case) if callable(budget_ms) else budget_ms)
        problems += failed
        if {"tandem", "tandem again"} <= {name for name, _ in runs}:
            rows.append(evaluate(case, runs))
        show_progress(len(rows), len(cases), case, runs)
    return rows, problems


@contextlib.contextmanager
def closing(workers):
    """The workers end with the block, whatever happens in it."""
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()


def different_answers(runs, what, tolerance, absolute=0.0):
    """Forms whose numbers called `what` in the answer are not those of Tandem, as sentences."""
    reference = next(s.answer[what] for (name, _), s in runs.items() if name == "tandem")
    found = []
    for (name, form), series in runs.items():
        given = zip(series.answer[what], reference, strict=True)
        if not all(math.isclose(a, b, rel_tol=tolerance, abs_tol=absolute) for a, b in given):
            found.append(f"{name} {form}: {what} {series.answer[what]}, Tandem's {reference}")
    return found


def fastest_forms(runs):
    """{worker: Series}: of each worker the form with the lowest median."""
    best = {}
    for (name, _), series in runs.items():
        if name not in best or statistics.median(series.total) < statistics.median(best[name].total):
            best[name] = series
    return best


def ratio(above, below):
    """Median over rounds of above / below."""
    return statistics.median(a / b for a, b in zip(above, below))


def aa_spread(first, second):
    """How far from 1 the same program's ratio to itself is in three of four rounds."""
    ratios = sorted(max(a / b, b / a) - 1 for a, b in zip(first, second))
    return ratios[min(len(ratios) - 1, (3 * len(ratios)) // 4)]


def compare_to_peers(row, mine, best, peers):
    """Puts our time in units of each peer's, and of the best one's, into a row."""
    there = [name for name in peers if name in best]
    for name in there:
        row[name] = ratio(mine.total, best[name].total)
        row[f"{name}_ns"] = statistics.median(best[name].total)
    if there:
        # The peer with the lowest median, so that one lucky round does not choose it.
        row["best_peer"] = min(there, key=lambda name: row[f"{name}_ns"])
        row["best"] = row[row["best_peer"]]


def print_beside_peers(title, rows, peers, forms=False):
    """A table of compare_to_peers(). `forms`: with the name of a peer's fastest form."""

    def peer(row, name):
        if name not in row:
            return "–"
        return f"{times(row, name)} of {duration(row[f'{name}_ns'])}" + (f" ({row['forms'][name]})" if forms else "")

    print(f"\n{title}: our time in units of theirs (lower is better)\n")
    print_table(
        ["case", "Tandem", *peers.values(), "best peer", "A/A spread"],
        [
            [r["what"], duration(r["ns"])]
            + (["differs"] * len(peers) if r["differ"] else [peer(r, name) for name in peers])
            + [times(r, "best"), f"{r['spread']:.0%}"]
            for r in rows
        ],
    )
    print_differences(rows)


def print_differences(rows):
    for r in rows:
        for text in r["differ"]:
            print(f"  {r['what']}: no ratios, since the workers computed different things: {text}")


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def verdict(value, limit, spread, at_most=False):
    """Whether the line holds, given that figures closer than the spread are not told apart."""
    good, bad = (value <= limit, value > limit) if at_most else (value >= limit, value < limit)
    if abs(value / limit - 1) <= spread:
        return f"open: {'holds' if good else 'does not hold'}, but by less than the A/A spread"
    return "does not hold" if bad else "holds"


def duration(ns):
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.2f} {unit}"
    return f"{ns:.0f} ns"


def times(row, name):
    return f"{row[name]:.2f}×" if row.get(name) is not None else "–"


def print_table(header, rows):
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]

    def show(line):
        cells = [text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths))]
        print("| " + " | ".join(cells) + " |")

    show(header)
    print("|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|")
    for row in rows:
        show(row)


def print_wanted(lines):
    """Prints (what, value, verdict) and returns them for the report."""
    width = max((len(what) for what, _, _ in lines), default=0)
    print("\nWanted:")
    for what, value, text in lines:
        print(f"  {value:5.2f}×  {what:<{width}}  {text}")
    return [{"what": what, "value": value, "verdict": text} for what, value, text in lines]


def make_parser(description, peers, tandem, output, package=False):
    """`package`: Tandem's worker is a Python script that imports the package in --tandem."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", help="comma-separated names, or parts of names; default: all")
    parser.add_argument("--rounds", type=int, help="default 9")
    parser.add_argument("--quick", action="store_true", help="3 short rounds: to try things out, not for figures")
    parser.add_argument("--threads", type=int, default=2, help="of every worker (default 2)")
    parser.add_argument("--peers", default=peers, help=f"default: {peers}")
    parser.add_argument("--venv", type=Path, help="environment with the peers (default: what tools/bench-env makes)")
    parser.add_argument("--tandem", type=Path, default=ROOT / f"build/release/bin/{tandem}", help="Tandem's worker")
    parser.add_argument("--output", type=Path, default=ROOT / f"build/bench/{output}")
    if package:
        parser.set_defaults(tandem=ROOT / "build/release/python")
        parser.add_argument("--python", type=Path, default=ROOT / ".venv/bin/python", help="runs Tandem's worker")
    return parser


def parse_arguments(parser):
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 9)
    arguments.peers = [name for name in arguments.peers.split(",") if name]
    return arguments


def select_cases(command, known, wanted):
    """The names among `known` that the comma-separated list asks for, by name or by a part of it."""
    parts = wanted.split(",") if wanted else [""]
    cases = [c for c in known if any(part == c or (part not in known and part in c) for part in parts)]
    if not cases:
        sys.exit(f"{command}: no case named {wanted}; there are: {', '.join(known)}")
    return cases


def environment(arguments):
    """The folder of the virtual environment with the peers; made when it is not there."""
    if arguments.venv:
        return arguments.venv
    made = subprocess.run([ROOT / "tools/bench-env"], check=True, text=True, stdout=subprocess.PIPE)
    return Path(made.stdout.strip())


def python_workers(command, arguments, script, peers, peer_settings):
    """Workers that are the same script with another --library each: Tandem's, the peers', Tandem's again."""
    tandem = [arguments.python, *script, "--library", "tandem"]
    # Keras may lie where PYTHONPATH says, on a machine without package registries.
    paths = [str(arguments.tandem), *filter(None, [os.environ.get("PYTHONPATH")])]
    package = {"PYTHONPATH": os.pathsep.join(paths)}
    workers = [Worker("tandem", tandem, package)]
    python = environment(arguments) / "bin/python" if arguments.peers else None
    for name in arguments.peers:
        if name not in peers:
            sys.exit(f"{command}: no peer named {name}; there are: {', '.join(peers)}")
        workers.append(Worker(name, [python, *script, "--library", name], peer_settings))
    return workers + [Worker("tandem again", tandem, package)]


def print_start(workers, rounds):
    """Says what runs; returns the load of the machine."""
    load = os.getloadavg()[0]
    for worker in workers[:-1]:
        print(f"{worker.library}, {worker.threads} threads")
    print(f"{rounds} rounds, load of the machine before the start: {load:.2f}")
    return load


def show_progress(done, of, case, runs):
    """Of a run that is cut short, what was measured can be read in its log."""
    if sys.stderr.isatty():
        print(f"\r{done}/{of} {case:<30}", end="", file=sys.stderr, flush=True)
        return
    medians = {name: duration(statistics.median(s.total)) for name, s in fastest_forms(runs).items()}
    print(f"{done}/{of} {case}: {', '.join(f'{name} {median}' for name, median in medians.items())}", file=sys.stderr, flush=True)


def write_report(command, arguments, workers, load, rows, verdicts, problems, **more):
    """Prints what failed and writes the JSON report; returns the exit status."""
    for problem in problems:
        print(f"  FAILED: {problem}")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "date": datetime.date.today().isoformat(),
        "command": f"make {command}" + (f' ARGS="{" ".join(sys.argv[1:])}"' if sys.argv[1:] else ""),
        "load_before": load,
        "libraries": [w.library for w in workers[:-1]],
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "cases": rows,
        "wanted": verdicts,
        "failed": problems,
    }
    arguments.output.write_text(json.dumps(report | more, indent=1))
    print(f"\nwritten: {os.path.relpath(arguments.output)}")
    return 1 if problems else 0
