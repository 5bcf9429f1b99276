#!/usr/bin/env python3
"""Coverage-guided fuzzing of the readers of files: builds tests/fuzz/readers and runs each of them in turn.

    tests/fuzz/fuzz_readers.py [--seconds N] [--seed S] [--only NAME ...]

What a run finds new stays in build/fuzz/corpus; an input that fails is kept in build/fuzz/findings, and
`build/fuzz/NAME FILE` runs it again. A finding is a sanitizer's report, an exception of another class than Tandem's,
more than 10 s or more than 2 GiB.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "fuzz"
NOT_RUN = 77  # as build-readers says it


def build():
    done = subprocess.run([ROOT / "tests/fuzz/build-readers", BUILD], stderr=subprocess.PIPE, text=True)
    print(done.stderr, end="")
    if done.returncode == 77:
        print("fuzz_readers: NOT RUN, see above: `tools/setup fuzz` installs what is missing")
        sys.exit(NOT_RUN)
    if done.returncode:
        sys.exit("fuzz_readers: the build failed")
    return sorted(path.stem for path in (ROOT / "tests/fuzz/readers").glob("*.cc") if (BUILD / path.stem).exists())


def seeds(name, folder):
    """Writes the seeds, and the words of those that have JSON as a dictionary."""
    from seeds import SEEDS

    words = set()
    for i, contents in enumerate(SEEDS[name]()):
        (folder / f"seed-{i}").write_bytes(contents)
        if contents.startswith(b"{"):
            words.update(re.findall(rb'"[A-Za-z_][A-Za-z0-9_]{0,30}"', contents.split(b"\0")[0]))
    if not words:
        return []
    dictionary = BUILD / f"{name}.dict"
    dictionary.write_text("".join(f'"\\"{word.decode()[1:-1]}\\""\n' for word in sorted(words)))
    return [f"-dict={dictionary}"]


def run(name, seconds, seed):
    """(inputs that ran, findings, coverage)."""
    corpus, findings = BUILD / "corpus" / name, BUILD / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    dictionary = seeds(name, corpus)
    command = [
        BUILD / name, corpus, f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=10", "-rss_limit_mb=2048",
        "-max_len=16384", "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={findings}/{name}-", *dictionary,
    ]  # fmt: skip
    environment = dict(os.environ, TANDEM_LOG="error", ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1")
    log = BUILD / f"{name}.log"
    with open(log, "w") as out:
        code = subprocess.run(command, stdout=out, stderr=out, env=environment, cwd=BUILD).returncode
    text = log.read_text(errors="replace")
    count = re.search(r"stat::number_of_executed_units: *(\d+)", text)
    coverage = re.findall(r"cov: (\d+)", text)
    if code:
        report = [line for line in text.splitlines() if re.search(r"ERROR|SUMMARY|runtime error|Test unit written", line)]
        print("\n".join(["  " + line for line in report[:6]] or text.splitlines()[-5:]))
    return int(count[1]) if count else 0, int(code != 0), coverage[-1] if coverage else "0"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="for all fuzzers together")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--only", nargs="+", help="names of tests/fuzz/readers/NAME.cc")
    options = parser.parse_args()
    seed = options.seed or int.from_bytes(os.urandom(3), "little") + 1
    print(f"fuzz_readers: --seed {seed}")
    names = [name for name in build() if not options.only or name in options.only]
    inputs = found = 0
    for name in names:
        count, findings, coverage = run(name, max(1, int(options.seconds / len(names))), seed)
        print(f"  {name}: {count} inputs, {coverage} edges covered, {findings} findings", flush=True)
        inputs, found = inputs + count, found + findings
    print(f"fuzz_readers: {inputs} calls, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    package = ROOT / "build/dev/python"
    if package.exists():
        sys.path.insert(0, str(package))
    sys.exit(main())
