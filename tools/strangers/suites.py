"""The suites of suites.toml: where they lie, which tests count, and running a list of tests in one process after another."""

import glob
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/strangers"
LISTS = ROOT / "tests/strangers"
SAMPLE = 300


class Suite:
    def __init__(self, name, about, checkout=None):
        self.name, self.about, self._checkout = name, about, checkout
        self.list = LISTS / f"{name}.txt"

    @property
    def title(self):
        return f"{self.name} {self.about['version']}"

    def folder(self):
        """Where the suite's code lies; None where nobody named the checkout. A package is fetched once."""
        if self._checkout:
            return pathlib.Path(self._checkout).resolve()
        if self.about["source"] == "checkout":
            return None
        folder = BUILD / f"{self.name}-{self.about['version']}"
        if not folder.exists():
            with tempfile.TemporaryDirectory() as place:
                pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", place]
                subprocess.run([*pip, f"{self.name}=={self.about['version']}"], check=True)
                with zipfile.ZipFile(next(pathlib.Path(place).glob("*.whl"))) as wheel:
                    wheel.extractall(folder)
        return folder

    def files(self, folder):
        found = {f for p in self.about["files"] for f in glob.glob(p, root_dir=folder, recursive=True)}
        return sorted(found)

    def tests(self):
        """The tests that count: they pass on TensorFlow."""
        lines = self.list.read_text(encoding="utf-8").split("\n") if self.list.exists() else []
        return [line for line in lines if line and not line.startswith("#")]

    def keep(self, tests, text):
        LISTS.mkdir(parents=True, exist_ok=True)
        self.list.write_text("\n".join([f"# {text}", *tests]) + "\n", encoding="utf-8")


def read(checkouts):
    with open(HERE / "suites.toml", "rb") as file:
        return {name: Suite(name, about, checkouts.get(name)) for name, about in tomllib.load(file).items()}


def chosen(ids, count):
    """So many of them, always the same ones."""
    return sorted(sorted(ids, key=lambda i: hashlib.sha256(i.encode()).hexdigest())[:count])


class Runner:
    """Runs tests of a suite with one interpreter: TensorFlow's, or Tandem's with `package` before everything else."""

    def __init__(self, python, package=None, seconds=60):
        self._python, self._package, self._seconds = python, package, seconds

    def _lines(self, suite, folder, files, ids):
        with tempfile.TemporaryDirectory() as place:
            out = os.path.join(place, "out")
            paths = [str(p) for p in (self._package, folder, HERE) if p]
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "STRANGERS_OUT": out, "TF_CPP_MIN_LOG_LEVEL": "3",
                   "TANDEM_EMULATE_GPUS": "0", "CUDA_VISIBLE_DEVICES": "-1", "KERAS_BACKEND": "tensorflow",
                   "TMPDIR": place, **suite.about.get("environment", {})}  # fmt: skip
            if ids is not None:
                env["STRANGERS_IDS"] = os.path.join(place, "ids")
                pathlib.Path(env["STRANGERS_IDS"]).write_text("\n".join(ids), encoding="utf-8")
            command = [self._python] + (["-m", "tandem", "run", "--quiet"] if self._package else [])
            command += ["-m", "pytest", "-q", "-p", "stranger", "-p", "no:cacheprovider", "-o", "addopts=", "--no-header",
                        "--continue-on-collection-errors", f"--timeout={self._seconds}", "--timeout-method=thread",
                        "--rootdir", str(folder), *suite.about.get("arguments", []), *files]  # fmt: skip
            limit = 600 + self._seconds * len(ids or files)
            log = BUILD / f"{suite.name}.log"
            with open(log, "w", encoding="utf-8") as said:
                try:
                    subprocess.run(command, env=env, cwd=folder, timeout=limit, stdout=said, stderr=said, check=False)
                except subprocess.TimeoutExpired:
                    pass
            if not os.path.exists(out):
                return []
            with open(out, encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]

    def collect(self, suite, folder):
        """The names of all tests of the suite, and the files that cannot be loaded."""
        lines = self._lines(suite, folder, suite.files(folder), None)
        return [l["id"] for l in lines if "id" in l], {l["broken"]: l["why"] for l in lines if "broken" in l}

    def run(self, suite, folder, ids):
        """{test: (outcome, why)}. A test that ends the process has failed; the others go on in another one."""
        results, left, broken = {}, list(ids), {}
        while left:
            files = sorted({i.partition("::")[0] for i in left})
            started, before = None, len(left)
            for line in self._lines(suite, folder, files, left):
                if "start" in line:
                    started = line["start"]
                elif "broken" in line:
                    broken[line["broken"]] = line["why"]
                elif results.get(line["id"], ("passed",))[0] == "passed":
                    results[line["id"]] = line["outcome"], line["why"]
                    started = None
            if started is not None and started not in results:
                results[started] = "failed", "the process ended, or the test took too long"
            left = [i for i in left if i not in results]
            if started is None or len(left) == before:
                break
        for i in left:
            results[i] = "failed", broken.get(i.partition("::")[0], "not found")
        return results
