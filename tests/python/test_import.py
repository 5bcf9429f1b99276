"""What `import tandem` loads and starts: little, and nothing. Counted, not timed."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from conftest import PACKAGE

# NumPy is loaded first: what it brings is its own.
PROGRAM = """
import json, os, sys
import numpy
before = set(sys.modules)
threads = len(os.listdir("/proc/self/task"))
{statement}
loaded = set(sys.modules) - before
files = sorted(n for n in loaded if getattr(sys.modules[n], "__file__", None))
print(json.dumps(dict(files=files, threads=len(os.listdir("/proc/self/task")) - threads)))
"""

OWN = {
    "tandem",
    "tandem._core",
    "tandem._generated",
    "tandem._generated.names",
    "tandem._load",
    "tandem._namespaces",
    "tandem.tensorflow_names",
    "tandem._loading",
    "tandem._processor",
    "tandem._tables",
    "tandem.framework",
    "tandem.framework.dtypes",
    "tandem.framework.errors",
    "tandem.framework.dimension",
    "tandem.framework.shape",
    "tandem.framework.tensor",
    "tandem.import_map",
    "tandem.install",
    "tandem.served",
}


def outcome(run_python, statement):
    status, out, err = run_python(PROGRAM.format(statement=statement))
    assert status == 0, err
    return json.loads(out.splitlines()[-1])


def test_import_loads_little_and_starts_no_thread(run_python):
    result = outcome(run_python, "import tandem")
    assert set(result["files"]) - OWN == set()
    assert result["threads"] == 0


def test_a_processor_without_avx2_is_told_what_it_lacks():
    """Nehalem, emulated: one sentence and an exception or a status, no illegal instruction."""
    emulator = shutil.which("qemu-x86_64")
    if not emulator:
        pytest.skip("qemu-x86_64 (Debian's qemu-user) is not installed")
    nehalem = [emulator, "-cpu", "Nehalem"]
    program = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import tandem"
    python = subprocess.run([*nehalem, sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert python.returncode == 1, python.stderr
    assert "ImportError: Tandem needs a processor with AVX2 and FMA" in python.stderr
    assert "lacks: AVX2, FMA, BMI2" in python.stderr

    programs = PACKAGE.parent / "bin"
    for command in ([programs / "tandem", "doctor"], [programs / "demo"]):
        ended = subprocess.run([*nehalem, *command], capture_output=True, text=True, check=False)
        assert ended.returncode == 1, ended.stderr
        assert ended.stdout == ""
        assert re.fullmatch(r"Tandem needs a processor with AVX2 and FMA .* lacks: AVX2, FMA, BMI2.*\n", ended.stderr)


def test_no_other_package_is_loaded_before_it_is_used(run_python):
    result = outcome(run_python, "import tandem as tf; tf.float32; tf.TensorShape([1]); tf.errors.OpError; tf.Tensor")
    packages = {name.split(".")[0] for name in result["files"]}
    assert not packages & {"keras", "malt", "ml_dtypes", "optree", "google", "h5py", "tensorflow", "inspect"}
    assert result["threads"] == 0


def test_install_as_tensorflow_loads_no_keras(run_python):
    result = outcome(run_python, "import tandem; tandem.install_as_tensorflow(); import tensorflow as tf")
    assert not any(name == "keras" or name.startswith("keras.") for name in result["files"])


def test_devices_are_opened_by_the_first_op(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        tf.config.threading.set_intra_op_parallelism_threads(1)  # only before the devices are there
        tf.constant(1.0) + 1.0
        try:
            tf.config.threading.set_intra_op_parallelism_threads(2)
        except RuntimeError:
            print("too late")
        """
    )
    assert status == 0, err
    assert out == "too late\n"
