"""`tandem run` and install_as_tensorflow()."""

import subprocess
import sys

import pytest
from conftest import environment

SCRIPT = """
import sys
import tensorflow as tf
import tensorflow.math
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.layers import Dense
import keras as plain
assert plain is keras and layers.Dense is Dense
print(tf.__name__, sys.argv[1:], __name__)
print(tensorflow.math.reduce_sum(tf.constant([1, 2])).numpy())
print(keras.Sequential([keras.Input((3,)), Dense(2)]).output_shape)
"""


def test_run(run_python):
    status, out, err = run_python(SCRIPT, arguments=["-m", "tandem", "run"])
    assert status == 0, err
    assert out.splitlines() == ["tensorflow [] __main__", "3", "(None, 2)"]
    assert err.count("tandem:") == 2 and "CPU:0" in err


def test_only_the_script_is_required(run_python):
    status, out, err = run_python("from tandem.command import main; main(['run'])")
    assert status == 2 and err.rstrip().endswith("required: script")


def test_install_in_a_program(run_python):
    status, out, err = run_python("import tandem; tandem.install_as_tensorflow()\n" + SCRIPT)
    assert status == 0, err
    assert out.splitlines()[0] == "tensorflow [] __main__"


def test_errors_keep_the_users_traceback(run_python):
    status, out, err = run_python(
        """
        import tensorflow as tf
        def inner():
            return tf.reshape(tf.range(6), (4,))
        inner()
        """,
        arguments=["-m", "tandem", "run", "--quiet"],
    )
    assert status == 1
    frames = [line for line in err.splitlines() if line.strip().startswith("File")]
    assert "program.py" in frames[0] and not any("runpy" in f or "command.py" in f for f in frames)
    assert "InvalidArgumentError" in err


def test_exit_status_is_passed_on(run_python):
    assert run_python("import sys; sys.exit(3)", arguments=["-m", "tandem", "run", "--quiet"])[0] == 3


def test_missing_parts_are_named(run_python):
    status, out, err = run_python(
        """
        import tandem; tandem.install_as_tensorflow()
        try:
            import tensorflow.lite.nothing
        except ModuleNotFoundError as e:
            print(e)
        """
    )
    assert status == 0, err
    assert "tensorflow.lite" in out


def test_too_late(run_python):
    status, out, err = run_python(
        """
        import sys, types
        sys.modules["tensorflow"] = types.ModuleType("tensorflow")
        import tandem
        try:
            tandem.install_as_tensorflow()
        except ImportError as e:
            print(e)
        """
    )
    assert status == 0, err
    assert "already imported" in out


POOL = """
import multiprocessing as mp
import sys
from concurrent.futures import ProcessPoolExecutor

import tensorflow as tf


def more(x):
    return float(tf.constant(x) + 1)


def work():
    context = mp.get_context(sys.argv[1])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        print(list(pool.map(more, [1.0, 2.0])))
    with context.Pool(1) as pool:
        print(pool.map(more, [3.0]))
    child = context.Process(target=more, args=(1.0,))
    child.start()
    child.join()
    print(child.exitcode)


"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_of_multiprocessing_find_tensorflow(tmp_path, method):
    script = tmp_path / "pool.py"
    script.write_text(POOL + 'if __name__ == "__main__":\n    work()\n')
    command = [sys.executable, "-m", "tandem", "run", "--quiet", str(script), method]
    done = subprocess.run(command, env=environment(0), capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout == "[2.0, 3.0]\n[4.0]\n0\n", done.stderr


def test_a_pool_without_the_main_guard_gets_pythons_error(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(POOL + "work()\n")
    command = [sys.executable, "-m", "tandem", "run", "--quiet", str(script), "spawn"]
    done = subprocess.run(command, env=environment(0), capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1
    assert "bootstrapping phase" in done.stderr and "BrokenProcessPool" in done.stderr
