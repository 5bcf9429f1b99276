"""The kinds of checks: GoogleTest programs in shards, pytest files, the acceptance scripts, Keras's own tests,
fuzzers, measurements, benchmarks. Each is an object with `what`, in words, `run(machine) -> Result`, and `needs()`, the
programs of the build that it starts.
"""

import concurrent.futures
import dataclasses
import json
import os
import random
import re
import shutil
import subprocess
import time
import xml.etree.ElementTree as xml

MINUTES = 8
# Tests of Python compare with values in full precision, and take some from JAX, which would fill the GPU.
BESIDE_JAX = {"TANDEM_TF32": "0", "JAX_PLATFORMS": "cpu"}


@dataclasses.dataclass
class Result:
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)  # {"test", "message"}
    skipped: list = dataclasses.field(default_factory=list)
    more: dict = dataclasses.field(default_factory=dict)

    def fail(self, test, message):
        self.failed.append({"test": test, "message": message[:1000]})

    def join(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.more |= other.more


def run_logged(command, machine, name, seconds, **options):
    """(status, the end of the output); status None: out of time."""
    log = machine.log(name)
    with open(log, "w") as out:
        try:
            status = subprocess.run(
                list(map(str, command)), stdout=out, stderr=subprocess.STDOUT, timeout=seconds, check=False, **options
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
    return status, log.read_text(errors="replace")[-3000:]


def at_once(machine, tasks, jobs=None):
    """Runs functions that return a Result, as many at a time as the machine has cores."""
    total = Result()
    with concurrent.futures.ThreadPoolExecutor(jobs or machine.jobs) as pool:
        for result in pool.map(lambda task: task(), tasks):
            total.join(result)
    return total


def read_junit(path, name, status, tail, good=(0,)):
    """A Result from a report of GoogleTest or pytest; what ended otherwise than by a failed test fails as a whole."""
    result = Result()
    cases = list(xml.parse(path).getroot().iter("testcase")) if path.exists() and path.stat().st_size else []
    for case in cases:
        test = f"{case.get('classname')}.{case.get('name')}"
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        skip = case.find("skipped")
        if problem is not None:
            result.fail(test, (problem.get("message") or "") + (problem.text or ""))
        elif skip is not None or case.get("result") == "skipped" or case.get("status") == "notrun":
            message = (skip.get("message") or skip.text or "") if skip is not None else ""
            result.skipped.append({"test": test, "message": message.strip()})
        else:
            result.passed += 1
    if status not in good and not result.failed:
        ended = "out of time" if status is None else f"ended with status {status}"
        result.fail(name, f"{ended}: {tail[-600:]}")
    return result


@dataclasses.dataclass
class Programs:
    """GoogleTest programs, each cut into as many shards as there are cores; of `of` equal parts, one."""

    what: str
    programs: list  # names, or (name, filter)
    part: int = 0
    of: int = 1
    environment: dict = dataclasses.field(default_factory=dict)
    wrapper: tuple = ()
    limit: int = MINUTES * 60 - 20

    def filters(self):
        return [entry if isinstance(entry, tuple) else (entry, "*") for entry in self.programs]

    def needs(self):
        return [program for program, _ in self.filters()]

    def run(self, machine):
        tasks = []
        for program, pattern in self.filters():
            for i in range(machine.jobs):
                shard = self.part * machine.jobs + i
                tasks.append(lambda p=program, f=pattern, s=shard: self.shard(machine, p, f, s))
        return at_once(machine, tasks)

    def shard(self, machine, program, pattern, shard):
        name = f"{program}-{shard}"
        report = machine.log(name).with_suffix(".xml")
        report.unlink(missing_ok=True)
        environment = {
            **machine.environment,
            **self.environment,
            "GTEST_TOTAL_SHARDS": str(self.of * machine.jobs),
            "GTEST_SHARD_INDEX": str(shard),
            "GTEST_OUTPUT": f"xml:{report}",
        }
        wrapper = list(self.wrapper)
        if wrapper and machine.emulated and not shutil.which(wrapper[0]):
            wrapper = []  # nothing to watch over: the trial runs the programs alone
        command = [*wrapper, machine.program(program), f"--gtest_filter={pattern}"]
        status, tail = run_logged(command, machine, name, machine.left(self.limit), env=environment)
        result = read_junit(report, name, status, tail)
        if status is None:  # without a report
            result.passed = machine.log(name).read_text(errors="replace").count("[       OK ]")
        if status == SANITIZER_STATUS:
            result.fail(name, f"compute-sanitizer found something: {errors_in(machine.log(name))}")
        return result


SANITIZER_STATUS = 99


def errors_in(log):
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("=========")]
    return "\n".join(lines[:12])


def sanitizer(tool):
    return ("compute-sanitizer", "--tool", tool, "--error-exitcode", str(SANITIZER_STATUS), "--print-limit", "20")


@dataclasses.dataclass
class Examples:
    """The programs under examples/, in C++ and in Python: each ends with status 0."""

    what: str
    programs: tuple
    scripts: tuple

    def needs(self):
        return self.programs

    def run(self, machine):
        commands = {name: [machine.program(name)] for name in self.programs}
        for name in self.scripts:
            commands[name] = [machine.python, "-m", "tandem", "run", machine.root / "examples" / name]
        return at_once(machine, [lambda n=n, c=c: self.one(machine, n, c) for n, c in commands.items()])

    def one(self, machine, name, command):
        result = Result()
        status, tail = run_logged(command, machine, f"example-{name}", MINUTES * 60 - 20, env=machine.environment)
        if status == 0:
            result.passed = 1
        else:
            result.fail(name, tail)
        return result


@dataclasses.dataclass
class Pytest:
    """Test files of tests/python, each in a process of its own; of `of` parts, one."""

    what: str
    part: int = 0
    of: int = 1
    match: str = "test_*.py"
    limit: int = MINUTES * 60 - 20

    def needs(self):
        return ()

    def run(self, machine):
        files = sorted((machine.root / "tests/python").glob(self.match), key=lambda f: -f.stat().st_size)
        return at_once(machine, [lambda f=f: self.file(machine, f) for f in files[self.part :: self.of]])

    def file(self, machine, path):
        report = machine.log(path.stem).with_suffix(".xml")
        report.unlink(missing_ok=True)
        command = [machine.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", path]
        environment = {**machine.environment, **BESIDE_JAX}
        status, tail = run_logged(command, machine, path.stem, self.limit, env=environment, cwd=machine.root)
        return read_junit(report, path.name, status, tail, good=(0, 5))


@dataclasses.dataclass
class Acceptance:
    """The acceptance scripts that the pack was given."""

    what: str
    environment: dict = dataclasses.field(default_factory=dict)
    # These compare products of the GPU with the CPU's more closely than TF32, anybody's, can be.
    exact: tuple = ("s01_concurrent_cpu_gpu", "s05_memory_growth_logical_devices")

    def needs(self):
        return ()

    def run(self, machine):
        folder = machine.pack / "acceptance"
        scripts = [f"{part}/{s.stem}" for part in ("blocks", "scenarios") for s in sorted((folder / part).glob("*.py"))]
        if not scripts:
            result = Result()
            result.fail("acceptance", "the pack has no acceptance scripts; give tools/gpu/pack --acceptance FOLDER")
            return result
        return at_once(machine, [lambda s=s: self.script(machine, s) for s in scripts])

    def script(self, machine, script):
        result = Result()
        name = "acceptance-" + script.replace("/", "-")
        report = machine.log(name).with_suffix(".json")
        report.unlink(missing_ok=True)
        command = [machine.python, machine.pack / "acceptance/run_blocks.py", "--python", machine.python]
        command += ["--only", f"{script}.py", "--json", report]
        environment = {**machine.environment, **self.environment}
        if script.endswith(self.exact):
            environment["TANDEM_TF32"] = "0"
        status, tail = run_logged(command, machine, name, MINUTES * 60 - 20, env=environment)
        for entry in json.loads(report.read_text()) if report.exists() else []:
            if entry["passed"]:
                result.passed += 1
            else:
                result.fail(entry["script"], entry["exception"])
        if status != 0 and not result.failed:
            result.fail(script, tail)
        return result


@dataclasses.dataclass
class Keras:
    """Keras's own tests under the given folders, each file in a process of its own."""

    what: str
    only: list
    part: int = 0
    of: int = 1

    def needs(self):
        return ()

    def run(self, machine):
        listed = subprocess.run(
            [machine.python, machine.root / "tools/keras-tests/run", "--list", *(f"--only={p}" for p in self.only)],
            env=machine.environment, text=True, capture_output=True, check=True,
        ).stdout.split()  # fmt: skip
        return at_once(machine, [lambda f=f: self.file(machine, f) for f in listed[self.part :: self.of]])

    def file(self, machine, path):
        name = "keras-" + path.replace("/", "-").removesuffix(".py")
        report = machine.log(name).with_suffix(".json")
        report.unlink(missing_ok=True)
        command = [machine.python, machine.root / "tools/keras-tests/run", "--only", path, "--python", machine.python]
        command += ["--package", machine.pack / "python", "--results", report]
        environment = {**machine.environment, **BESIDE_JAX, "KERAS_TEST_FRESH": "1"}
        status, tail = run_logged(command, machine, name, MINUTES * 60 - 20, env=environment)
        result = Result()
        failed = {line.removeprefix("FAILED ") for line in tail.splitlines() if line.startswith("FAILED ")}
        for test, (outcome, message) in (json.loads(report.read_text()) if report.exists() else {}).items():
            if outcome == "skipped" and test in failed:
                result.skipped.append({"test": test, "message": "Keras leaves it out where TensorFlow has a GPU"})
            elif test in failed:
                result.fail(test, message)
            elif outcome == "passed":
                result.passed += 1
            else:
                result.skipped.append({"test": test, "message": "known: fails or is left out without a GPU too"})
        if status != 0 and not result.failed and not result.skipped:
            result.fail(path, tail)
        return result


def script(path, *options):
    """The command of a fuzzer that is a script of the repository."""
    return lambda machine, seconds, seed: [
        machine.python, machine.root / path, "--seconds", int(seconds), "--seed", seed, *options
    ]  # fmt: skip


def program(name, *options):
    return lambda machine, seconds, seed: [machine.program(name), *options]


@dataclasses.dataclass
class Fuzzer:
    name: str
    command: object  # of the machine, the seconds of a run and a seed
    processes: int
    slice: int = 0  # seconds of a run; 0: all that there are


COUNTED = re.compile(r"^\w+: (\d+) calls, (\d+) findings", re.MULTILINE)
LEAST = 5  # seconds of a turn: in less none finds anything
GRACE = 30  # seconds in which a fuzzer ends when its time is over


def read_findings(text, name, status):
    """A Result of what a fuzzer or a GoogleTest program printed."""
    result = Result()
    counted = COUNTED.search(text)
    result.passed = int(counted[1]) - int(counted[2]) if counted else text.count("[       OK ]")
    if status != 0:
        for block in re.split(r"\n\n|\n(?=FINDING)", text):
            if block.strip() and not block.startswith("note:") and not COUNTED.search(block):
                result.fail(name, block)
        if status is None or not counted:
            result.fail(name, f"{'out of time' if status is None else f'ended with status {status}'}: {text[-600:]}")
    return result


@dataclasses.dataclass
class Fuzz:
    """Fuzzers beside each other, each run again and again with another seed until the time is over."""

    what: str
    fuzzers: tuple
    programs: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    seconds: int = 300

    def needs(self):
        return self.programs

    def run(self, machine):
        seconds = 20 if machine.small else int(machine.left(self.seconds + GRACE)) - GRACE
        if seconds < LEAST:
            return Result(skipped=[{"test": f.name, "message": "no time was left"} for f in self.fuzzers])
        seed, tasks = random.SystemRandom().randrange(10**6) * 1000, []
        for fuzzer in self.fuzzers:
            for i in range(1 if machine.small else fuzzer.processes):
                first = seed + 100 * len(tasks)
                tasks.append(lambda f=fuzzer, i=i, s=first: self.turns(machine, f, f"{f.name}-{i}", seconds, s))
        result = at_once(machine, tasks, len(tasks))
        result.more["processes"], result.more["seconds_of_each"] = len(tasks), seconds
        return result

    def turns(self, machine, fuzzer, name, seconds, seed):
        result, end, turn = Result(), time.monotonic() + seconds, 0
        environment = {**machine.environment, **self.environment, "TANDEM_BIN": str(machine.pack / "bin")}
        while turn == 0 or (not result.failed and end - time.monotonic() > LEAST):
            left = end - time.monotonic()
            command = fuzzer.command(machine, min(fuzzer.slice or left, left), seed + turn)
            status, _ = run_logged(command, machine, f"{name}-{turn}", left + GRACE, env=environment)
            log = machine.log(f"{name}-{turn}")
            result.join(read_findings(log.read_text(errors="replace"), name, status))
            if turn and not result.failed:
                log.unlink()
            turn += 1
        return result


@dataclasses.dataclass
class Measured:
    """A script of this folder, in a process for each of its parts, which write what they measured and what is wrong."""

    what: str
    script: str
    environment: dict = dataclasses.field(default_factory=dict)

    def needs(self):
        return ()

    def run(self, machine):
        environment = {**machine.environment, **self.environment}
        command = [machine.python, machine.root / self.script]
        listed = subprocess.run([*command, "--list"], env=environment, text=True, capture_output=True, check=True)
        parts = listed.stdout.splitlines()
        result = at_once(machine, [lambda p=p: self.part(machine, [*command, p], p, environment) for p in parts])
        result.more = {"measured": result.more}
        return result

    def part(self, machine, command, part, environment):
        result = Result()
        name = part.replace(" ", "-")
        report = machine.log(name).with_suffix(".json")
        report.unlink(missing_ok=True)
        command = [*command, "--output", report, *["--small"] * machine.small]
        left = machine.left(MINUTES * 60 - 20)
        if not left:
            result.skipped.append({"test": part, "message": "no time was left"})
            return result
        status, tail = run_logged(command, machine, name, left, env=environment)
        if status != 0:
            result.fail(part, "out of time" if status is None else tail[-1000:])
            return result
        data = json.loads(report.read_text())
        result.passed = int(data["passed"])
        result.more[part] = data["measured"]
        for wrong in data["wrong"]:
            result.fail(part, wrong)
        return result


@dataclasses.dataclass
class Bench:
    """A driver of bench/; its report becomes part of the check's."""

    what: str
    script: str
    arguments: tuple = ()

    def needs(self):
        return () if self.script.startswith("bench/fit") else ("bench_gpu",)

    def run(self, machine):
        result = Result()
        name = "-".join(["bench", *self.script.replace(".py", "").split("/")[1:]])
        report = machine.log(name).with_suffix(".json")
        report.unlink(missing_ok=True)
        command = [machine.python, machine.root / self.script, *self.arguments, "--output", report]
        command += ["--venv", os.environ.get("TANDEM_PEERS", os.path.dirname(os.path.dirname(machine.python)))]
        command += ["--threads", "2"] if machine.small else ["--threads", "8"]
        command += self.tandem(machine)
        if machine.small:
            command += ["--quick", "--rounds", "1"]
        status, tail = run_logged(command, machine, name, MINUTES * 60 - 10, env=machine.environment)
        print(machine.log(name).read_text())
        if not report.exists():
            result.fail(name, tail)
            return result
        data = json.loads(report.read_text())
        result.more["report"] = data
        result.passed = len(data["cases"])
        for problem in data["failed"]:
            result.fail(name, problem)
        if status != 0 and not result.failed:
            result.fail(name, tail)
        return result

    def tandem(self, machine):
        if self.script.startswith("bench/fit"):
            return ["--tandem", machine.pack / "python", "--python", machine.python]
        small = ["--small", "--device", "cpu"] if machine.small else []
        return ["--tandem", machine.program("bench_gpu"), *small]
