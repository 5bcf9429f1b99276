"""What the README shows does what it says: its programs run as they stand, and its figures of speech have cases."""

import os
import re
import subprocess

import pytest
from conftest import PACKAGE, ROOT, environment

README = (ROOT / "README.md").read_text()
BUILD = PACKAGE.parent

# What the README's pieces take for given.
BEFORE_PYTHON = """
import numpy as np
import tensorflow as tf

x, y = np.random.rand(64, 28, 28).astype("float32"), np.random.randint(0, 10, 64)


def prepare(image, label):
    return image * 2.0 - 1.0, label
"""
BEFORE_CPP = """
namespace td = tandem;
int main() {
  const td::Tensor images = td::random::normal({32, 784});
  const td::Tensor labels = td::random::uniform({32}, {.minval = 0, .maxval = 10, .dtype = td::int32});
"""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)


@pytest.mark.parametrize("gpus", [0, 1])
def test_python_program(gpus, tmp_path, tandem_run):
    script = tmp_path / "readme.py"
    script.write_text(BEFORE_PYTHON + "".join(blocks("python")))
    done = tandem_run(script, gpus=gpus)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Epoch 3/3" in done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The CMake package of this build."""
    script = BUILD / "cmake_install.cmake"
    if not script.exists():
        pytest.skip("the package was not built where it is")
    parts = "".join(path.read_text() for path in BUILD.rglob("cmake_install.cmake"))
    if "libtandem_cuda.so" in parts and not (BUILD / "lib/libtandem_cuda.so").exists():
        pytest.skip("the CUDA plugin, which an installation holds, was not built")
    prefix = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, check=True)
    return prefix


def test_cpp_programs(installed, tmp_path):
    """Built as the README says, against an installation; the training step as a program of its own beside it."""
    first, step = blocks("cpp")
    lines = step.splitlines(keepends=True)
    includes = [line for line in lines if line.startswith("#")]
    body = [line for line in lines if line not in includes]
    (tmp_path / "first.cc").write_text(first)
    (tmp_path / "step.cc").write_text("".join(["#include <fmt/format.h>\n", *includes, BEFORE_CPP, *body, "}\n"]))
    second = "add_executable(step step.cc)\ntarget_link_libraries(step tandem::tandem)\n"
    (tmp_path / "CMakeLists.txt").write_text(blocks("cmake")[0] + second)
    package = next(installed.rglob("tandem-config.cmake")).parent
    configure = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dtandem_DIR={package}"]
    for command in (configure, ["cmake", "--build", tmp_path / "build", "--parallel", str(os.cpu_count())]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def output(program):
        command = [tmp_path / "build" / program]
        return subprocess.run(command, env=environment(1), capture_output=True, text=True, check=True).stdout

    said = output("first")
    assert "[[ 5. 11.]\n [11. 25.]], shape=(2, 2), dtype=float32)" in said
    assert "device:GPU:0" in said
    assert re.search(r"FusedMatMul float32\[32,128\]  \[.*\]  fused/MatMul_Bias_Relu", output("step"))


def test_explain_says_where_with_what_and_why(run_python):
    status, out, err = run_python(
        """
        import tandem as tf

        @tf.function
        def both(x, y):
            with tf.device("/CPU:0"):
                a = tf.sort(x)
            with tf.device("/GPU:0"):
                b = tf.matmul(y, y)
            return a, b, tf.reduce_sum(b)

        both(tf.zeros([8]), tf.zeros([64, 64]))
        print(both.explain())
        """,
        gpus=1,
    )
    assert status == 0, err
    steps = {line.split()[2]: line for line in out.splitlines() if re.match(r" +\d+ [CG]PU:0 ", line)}
    for op, device, why in (("Sort", "CPU", "scope /device:CPU:0"), ("MatMul", "GPU", "scope /device:GPU:0"),
                            ("Sum", "GPU", "priority")):  # fmt: skip
        assert re.search(rf" {device}:0 {op} .*  \[\w+\.\S+; .+\]  {op} \({why}\)", steps[op]), out
