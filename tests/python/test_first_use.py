"""What is loaded on first use, used first by several threads at once."""

import pytest

PROGRAM = """
    import faulthandler, os, sys, threading, traceback
    import tandem as tf

    faulthandler.dump_traceback_later(200, exit=True)
    errors = []

    def run(codes):
        barrier = threading.Barrier(len(codes))

        def one(code):
            barrier.wait()
            try:
                exec(code, {"tf": tf})
            except BaseException:
                errors.append(code + traceback.format_exc())

        threads = [threading.Thread(target=one, args=(code,)) for code in codes]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(len(errors), flush=True)
        print("".join(errors), file=sys.stderr)

"""


@pytest.mark.parametrize("codes", [
    ["tf.keras.layers.Dense(1)"] * 3,
    ["tf.keras.layers.Dense(1)", "import tandem.keras.layers as l; l.Dense(1)",
     "from tandem import keras; keras.layers.Dense(1)", "import tandem.keras; tandem.keras.Sequential()"],
    ["tf.install_as_tensorflow(); import keras; keras.layers.Dense(1)", "tf.keras.layers.Dense(1)",
     "tf.install_as_tensorflow(); import tensorflow.keras.layers as l; l.Dense(1)",
     "tf.install_as_tensorflow(); import keras.layers; keras.layers.Dense(2)"],
], ids=["tf.keras", "tandem.keras", "tensorflow.keras"])  # fmt: skip
def test_keras(run_python, codes):
    status, out, err = run_python(PROGRAM + f"    run({codes!r})")
    assert (status, out) == (0, "0\n"), err[-3000:]


def test_a_part_of_keras_while_another_thread_loads_it(run_python):
    """It was loaded beside the package, and each thread saw half of what the other loaded."""
    status, out, err = run_python(
        PROGRAM
        + """
    import time

    begun = threading.Event()

    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "keras.src" and not begun.is_set():
                begun.set()
                time.sleep(0.5)

    tf.install_as_tensorflow()
    sys.meta_path.insert(0, Slow())
    tf.begun = begun
    run(["import keras; keras.layers.Dense(1); keras.Sequential()",
         "tf.begun.wait(); import keras.layers; keras.layers.Dense(1); keras.Sequential()"])
    import keras.layers
    print(keras.layers is sys.modules["keras"].layers, keras.layers.__spec__.loader is not None)
    """
    )
    assert (status, out) == (0, "0\nTrue True\n"), err[-3000:]


def test_every_name(run_python):
    """Four threads look every public name up, each in an order of its own, and see the same objects."""
    status, out, err = run_python(
        PROGRAM
        + """
    import random
    from tandem._generated.names import NAMES

    seen = [{} for _ in range(4)]

    def look(number):
        names = sorted(NAMES)
        random.Random(number).shuffle(names)
        for name in names:
            value = tf
            for part in name.split("."):
                value = getattr(value, part)
            seen[number][name] = value

    tf.look = look
    run([f"tf.look({i})" for i in range(4)])
    print([name for name in NAMES if len({id(s.get(name)) for s in seen}) > 1])
    """
    )
    assert (status, out) == (0, "0\n[]\n"), err[-3000:]
