"""Programs that are modules or strings, and what programs start: their tensorflow is Tandem's, too."""

import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT, environment

PROGRAM = "import sys, tensorflow as tf; print(tf.__version__, tf.nn.__name__, sys.argv[1:], __name__)"
LINE = "2.21.0 tandem.nn {} __main__\n"


def tandem_run(*arguments, cwd=None, env=None):
    command = [sys.executable, "-m", "tandem", "run", *map(str, arguments)]
    made = {**environment(0), **(env or {})}
    return subprocess.run(command, env=made, cwd=cwd, capture_output=True, text=True, timeout=200, check=False)


def test_a_module(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    (tmp_path / "package/train.py").write_text(PROGRAM)
    done = tandem_run("--quiet", "-m", "package.train", "--quiet", "-c", "3", cwd=tmp_path)
    assert done.stdout == LINE.format(["--quiet", "-c", "3"]), done.stderr
    assert tandem_run("-m", "package.nosuch", cwd=tmp_path).returncode == 1
    assert "required: -m" in tandem_run("-m").stderr


def test_a_string():
    done = tandem_run("-c", PROGRAM, "a", "-m")
    assert done.stdout == LINE.format(["a", "-m"]), done.stderr
    assert "CPU:0" in done.stderr


@pytest.mark.parametrize(("code", "status"), [("1 / 0", 1), ("raise KeyboardInterrupt", 130)])
def test_no_summary_after_a_traceback(code, status):
    done = tandem_run("-c", code)
    assert done.returncode == status and "Traceback" in done.stderr and "tandem:" not in done.stderr
    assert "command.py" not in done.stderr


@pytest.fixture
def site(tmp_path):
    """A folder whose .pth files are read, as those of an environment with Tandem in it."""
    (tmp_path / "tandem.pth").write_text((ROOT / "python/tandem.pth").read_text())
    (tmp_path / "sitecustomize.py").write_text(f"import site; site.addsitedir({str(tmp_path)!r})")
    return tmp_path


def test_the_variable_decides(site):
    """Nothing is loaded without it."""
    code = "import sys; print('tandem' in sys.modules)"
    path = environment(0)["PYTHONPATH"]
    for value, loaded in ((None, False), ("", False), ("0", False), ("1", True)):
        env = {**environment(0), "PYTHONPATH": f"{site}:{path}"}
        env |= {} if value is None else {"TANDEM_AS_TENSORFLOW": value}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=100, check=False)
        assert done.stdout == f"{loaded}\n", done.stderr


def test_a_program_that_starts_programs(site):
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PROGRAM!r}, 'child'], check=True)"
    path = f"{site}:{environment(0)['PYTHONPATH']}"
    done = tandem_run("--quiet", "-c", code, env={"PYTHONPATH": path})
    assert done.stdout == LINE.format(["child"]), done.stderr


def test_another_tensorflow_beside_it_is_never_mixed_in(tmp_path):
    """One of the two, whole: parts that Tandem does not have are not taken from the other."""
    for name in ("__init__", "contrib/__init__", "python/__init__", "python/other"):
        path = pathlib.Path(tmp_path, "tensorflow", name + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise SystemExit('the other one')")
    code = """
import importlib.metadata, importlib.util
import tensorflow as tf
assert tf.nn.__name__ == "tandem.nn"
for name in ("tensorflow.contrib", "tensorflow.python.other"):
    assert importlib.util.find_spec(name) is None
print(importlib.metadata.version("tensorflow"))
"""
    done = tandem_run("--quiet", "-c", code, cwd=tmp_path)
    assert done.stdout == "2.21.0\n", done.stderr
