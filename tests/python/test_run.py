"""`tandem run` and install_as_tensorflow()."""

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
    assert out.splitlines() == ["tandem [] __main__", "3", "(None, 2)"]
    assert err.count("tandem:") == 2 and "CPU:0" in err


def test_only_the_script_is_required(run_python):
    status, out, err = run_python("from tandem.command import main; main(['run'])")
    assert status == 2 and err.rstrip().endswith("required: script")


def test_install_in_a_program(run_python):
    status, out, err = run_python("import tandem; tandem.install_as_tensorflow()\n" + SCRIPT)
    assert status == 0, err
    assert out.splitlines()[0] == "tandem [] __main__"


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
