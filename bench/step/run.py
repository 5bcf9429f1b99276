#!/usr/bin/env python3
"""Training steps beside TensorFlow, JAX and PyTorch: what `make bench-step` runs.

A case is one training step with Adam on a fixed batch. Before anything is timed, every worker does
a few steps from the same weights; a case whose losses disagree gets no ratios. How rounds, ratios
and verdicts work is in common/driver.py.
"""

import re
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.driver import (
    ROOT,
    Worker,
    aa_spread,
    closing,
    compare_to_peers,
    different_answers,
    duration,
    environment,
    fastest_forms,
    make_parser,
    measure_cases,
    parse_arguments,
    print_beside_peers,
    print_start,
    print_table,
    print_wanted,
    select_cases,
    verdict,
    write_report,
)

CASES = {
    "mlp_100_64_b32": "MLP 100-64-10, batch 32",
    "mlp_100_64_b1024": "MLP 100-64-10, batch 1024",
    "mlp_784_128_b32": "MLP 784-128-10, batch 32",
    "mlp_784_128_b1024": "MLP 784-128-10, batch 1024",
    "cnn_b64": "CNN 28×28×3, conv 32, batch 64",
    "lstm_b32": "2-layer LSTM 128, 64 steps, batch 32",
    "transformer_b8": "4-block transformer 256, 128 tokens, batch 8",
    "resnet18_b16": "ResNet-18 64×64×3, batch 16",
}
PLANNING = "plan_1000"
# Our time in units of the best peer's, at most. Lines of 1.0 allow for the A/A spread.
WANTED = {
    "mlp_100_64_b32": 0.5,
    "mlp_100_64_b1024": 0.9,
    "mlp_784_128_b32": 0.7,
    "mlp_784_128_b1024": 0.9,
    "cnn_b64": 0.9,
    "lstm_b32": 0.9,
    "transformer_b8": 1.0,
    "resnet18_b16": 1.0,
}
PEERS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
TOLERANCE = 1e-3  # of losses, relative
OVERHEAD_NS, OVERHEAD_PER_NODE_NS = 5000, 50
PLANNING_MS = 50


def explained(answer):
    """What the worker says of its step: nodes, and milliseconds that passes and planning took; each
    may be missing."""
    text = answer.get("explain", "")
    nodes = re.search(r": (\d+) nodes, (\d+) steps", text)
    took = re.search(r"passes took ([\d.]+) ms, the plan ([\d.]+) ms", text)
    return {
        "nodes": int(nodes[1]) if nodes else None,
        "steps": int(nodes[2]) if nodes else None,
        "passes_ms": float(took[1]) if took else None,
        "plan_ms": float(took[2]) if took else None,
    }


def evaluate(case, what, runs, tolerance=TOLERANCE):
    best = fastest_forms(runs)
    mine = best["tandem"]
    row = {
        "case": case,
        "what": what,
        "ns": statistics.median(mine.total),
        "losses": mine.answer["losses"],
        "rounds": {f"{name} {form}": s.total for (name, form), s in runs.items()},
        "forms": {name: s.form.partition("@")[2] for name, s in best.items()},
        "spread": aa_spread(mine.total, best["tandem again"].total),
        "differ": different_answers(runs, "losses", tolerance),
    } | explained(mine.answer)
    kernels = mine.answer.get("kernels", {})
    if "overhead_ns" in kernels:
        row |= {"kernels_ns": kernels["ns"], "overhead_ns": kernels["overhead_ns"], "overhead_spread_ns": kernels["spread_ns"]}
    if "recorded_ns" in mine.answer:
        row |= {"recorded_ns": mine.answer["recorded_ns"], "recorded_spread_ns": mine.answer["recorded_spread_ns"]}
    if row["differ"]:
        return row
    compare_to_peers(row, mine, best, PEERS)
    return row


def print_steps(rows):
    print_beside_peers("One training step", rows, PEERS, forms=True)


def print_overheads(rows):
    rows = [r for r in rows if "overhead_ns" in r]
    if not rows:
        return
    print("\nOverhead: time of a step minus that of its bare kernels, in turns, of the calling thread;")
    print("recorded: what of a step is in none of its kernels, minus what of their bare launches is\n")
    print_table(
        ["case", "kernels alone", "nodes", "kernels", "overhead", "spread", "recorded", "spread", "wanted at most"],
        [
            [r["what"], duration(r["kernels_ns"]), str(r["nodes"] or "–"), str(r["steps"] or "–"), signed(r["overhead_ns"]), duration(r["overhead_spread_ns"])]
            + ([signed(r["recorded_ns"]), duration(r["recorded_spread_ns"])] if "recorded_ns" in r else ["–", "–"])
            + [duration(allowed(r))]
            for r in rows
        ],
    )


def signed(ns):
    """Noise may make a difference negative."""
    return duration(ns) if ns >= 0 else f"-{duration(-ns)}"


def allowed(row):
    return OVERHEAD_NS + OVERHEAD_PER_NODE_NS * (row["nodes"] or 0)


def judged_overhead(row):
    """The overhead that says most about a step, and its spread: a difference of two long times says nothing
    about a short one, while what was recorded leaves the time of kernels out."""
    measured = [(row["overhead_ns"], row["overhead_spread_ns"])]
    if "recorded_ns" in row:
        measured.append((row["recorded_ns"], row["recorded_spread_ns"]))
    return min(measured, key=lambda m: m[1])


def wanted_lines(rows, planning):
    lines = []
    for r in rows:
        if "best" in r:
            limit = WANTED[r["case"]]
            if limit == 1.0:
                text = "holds" if r["best"] <= 1 + r["spread"] else "does not hold"
                what = f"at most the best peer's time, within the A/A spread: {r['what']}"
            else:
                text = verdict(r["best"], limit, r["spread"], at_most=True)
                what = f"at most {limit}× the best peer's time: {r['what']}"
            lines.append((what, r["best"], text))
    for r in rows:
        if "overhead_ns" in r:
            overhead, spread = judged_overhead(r)
            share = overhead / allowed(r)
            what = f"overhead at most {OVERHEAD_NS // 1000} µs + {OVERHEAD_PER_NODE_NS} ns per node: {r['what']}"
            lines.append((what, share, verdict(share, 1, spread / allowed(r), at_most=True)))
    if planning.get("plan_ms") is not None:
        share = planning["plan_ms"] / PLANNING_MS
        what = f"planning {planning['nodes']} nodes in at most {PLANNING_MS} ms (passes before it: {planning['passes_ms']} ms)"
        lines.append((what, share, "holds" if share <= 1 else "does not hold"))
    return lines


def ask_planning(worker):
    """Nodes and planning time of the graph with a thousand nodes; empty where it is not known."""
    answer = worker.ask(f"run {PLANNING} 1")
    return explained(answer) if "error" not in answer else {}


def start_workers(arguments):
    python = environment(arguments) / "bin/python" if arguments.peers else None
    threads = ["--threads", str(arguments.threads)]
    tandem = [arguments.tandem, *threads]
    workers = [Worker("tandem", tandem)]
    for name in arguments.peers:
        if name not in PEERS:
            sys.exit(f"bench-step: no peer named {name}; there are: {', '.join(PEERS)}")
        # Their own thread pools take the number from the environment before any call can set it.
        settings = {"OMP_NUM_THREADS": str(arguments.threads), "MKL_NUM_THREADS": str(arguments.threads)}
        workers.append(Worker(name, [python, ROOT / f"bench/step/{name}_step.py", *threads], settings))
    return workers + [Worker("tandem again", tandem)]


def main():
    arguments = parse_arguments(make_parser(__doc__, ",".join(PEERS), "bench_step", "step.json"))
    cases = select_cases("bench-step", CASES, arguments.cases)
    workers = start_workers(arguments)
    load = print_start(workers, arguments.rounds)
    with closing(workers):
        budget_ms = 60 if arguments.quick else 300
        rows, problems = measure_cases(cases, workers, arguments.rounds, budget_ms, lambda c, runs: evaluate(c, CASES[c], runs))
        planning = ask_planning(workers[0])
    print_steps(rows)
    print_overheads(rows)
    verdicts = print_wanted(wanted_lines(rows, planning))
    problems += [f"{r['case']}: losses differ" for r in rows if r["differ"]]
    return write_report("bench-step", arguments, workers, load, rows, verdicts, problems, planning=planning)


if __name__ == "__main__":
    sys.exit(main())
