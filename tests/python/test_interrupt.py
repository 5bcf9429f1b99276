"""Ctrl-C in long work: a child is sent a real SIGINT, catches KeyboardInterrupt, and goes on.

Programs trace and import what they need before they say that they are ready: an import that is interrupted cannot
be repeated.
"""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from conftest import environment, has_real_gpu, heed_interrupts

PRELUDE = """
    import sys
    import numpy as np
    import tandem as tf

    def interrupted(work):
        print("ready", flush=True)
        try:
            work()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        else:
            print("ended by itself", flush=True)
"""


def interrupt(tmp_path, code, *, gpus=None, command=(), after=0.5, env=None):
    """Runs a program, interrupts it when it says that it is ready; returns (status, stdout, stderr)."""
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PRELUDE) + textwrap.dedent(code))
    child = subprocess.Popen(
        [sys.executable, *command, str(script)],
        env={**environment(gpus), **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    try:
        for line in child.stdout:
            if line.strip() == "ready":
                break
        time.sleep(after)  # long enough to be inside; how long does not matter
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    return child.returncode, out.split("\n"), err


def check(result, *expected):
    status, out, err = result
    assert status == 0, err
    assert out[: len(expected) + 1] == ["interrupted", *expected], (out, err)


@pytest.mark.parametrize("gpus", [0, 1])
def test_endless_loop_of_a_function(tmp_path, gpus):
    result = interrupt(
        tmp_path,
        """
        count = tf.Variable(0)

        @tf.function
        def spin(x, limit):
            while tf.reduce_sum(x) < limit:
                x = x * 1.0
                count.assign_add(1)
            return x

        spin(tf.ones([8]), 7.0)
        interrupted(lambda: spin(tf.ones([8]), 9.0))
        print(int(count) > 0, spin(tf.ones([8]), 7.0).numpy().tolist() == [1.0] * 8, flush=True)
        count.assign(5)
        print(int(count), flush=True)
        """,
        gpus=gpus,
    )
    check(result, "True True", "5")


def test_endless_loop_that_the_gpu_decides(tmp_path):
    # The call returns; who reads its result waits, and is interrupted.
    result = interrupt(
        tmp_path,
        """
        @tf.function
        def spin(x, limit):
            while tf.reduce_sum(x) < limit:
                x = x * 0.5
            return x

        with tf.device("/GPU:0"):
            x, near, far = tf.identity(tf.ones([8])), tf.identity(7.0), tf.identity(9.0)
        spin(x, near).numpy()
        y = spin(x, far)
        interrupted(lambda: y.numpy())
        try:
            y.numpy()
        except tf.errors.CancelledError:
            print("spoiled", flush=True)
        print(spin(x, near).numpy().tolist() == [1.0] * 8, flush=True)
        """,
        gpus=1,
    )
    # A real GPU leaves what the loop had when it ended (docs/cuda.md).
    check(result, *([] if has_real_gpu() else ["spoiled"]), "True")


def test_endless_loop_under_a_tape(tmp_path):
    result = interrupt(
        tmp_path,
        """
        @tf.function
        def power(x, turns):
            y = x
            i = 0
            while i != turns:
                y = y * x
                i += 1
            return y

        def slope(turns):
            x = tf.constant(1.5)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = power(x, tf.constant(turns))
            return tape.gradient(y, x)

        # What a turn keeps for the gradient does not grow: the loop only passes its state on.
        until = tf.function(lambda x, limit: tf.while_loop(lambda x: x < limit, lambda x: (x + 0.0,), (x,)))

        def run(limit):
            with tf.GradientTape() as tape:
                x = tf.constant(1.0)
                tape.watch(x)
                until(x, tf.constant(limit))

        run(0.0)
        interrupted(lambda: run(2.0))
        print(float(slope(2)) == 3 * 1.5**2, flush=True)
        """,
    )
    check(result, "True")


def test_endless_loop_over_changing_shapes(tmp_path):
    result = interrupt(
        tmp_path,
        """
        @tf.function
        def churn(x, limit):
            i = 0
            while i < limit:
                tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
                x = tf.concat([x[:3], [1.0]], 0) if i % 2 == 0 else x[:2]
                i += 0 if limit > 100 else 1
            return x

        churn(tf.ones([2]), tf.constant(1))
        interrupted(lambda: churn(tf.ones([2]), tf.constant(1000)))
        print(churn(tf.ones([2]), tf.constant(1)).shape, flush=True)
        """,
    )
    check(result, "(3,)")


def test_nested_endless_loop(tmp_path):
    result = interrupt(
        tmp_path,
        """
        @tf.function
        def nested(n, step):
            total = 0
            for i in tf.range(n):
                j = 0
                while j < 10:
                    j += step
                total += j
            return total

        nested(tf.constant(3), tf.constant(5))
        interrupted(lambda: int(nested(tf.constant(3), tf.constant(0))))  # a GPU's call returns before its loop ends
        print(int(nested(tf.constant(3), tf.constant(5))), flush=True)
        """,
    )
    check(result, "30")


def test_many_ops_in_a_row(tmp_path):
    result = interrupt(
        tmp_path,
        """
        @tf.function
        def chain(x, announce):
            with tf.device("/CPU:0"):  # a GPU is given the whole chain at once
                for _ in range(400):
                    x = tf.matmul(x, x)
            tf.print("the chain is complete", tf.reduce_sum(x), output_stream=sys.stdout)
            return x

        small = tf.zeros([4, 4])
        chain(small, True)
        x = tf.zeros([1600, 1600])
        interrupted(lambda: chain(x, True))
        print(chain(small, True).shape, flush=True)
        """,
    )
    status, out, err = result
    assert status == 0, err
    # Once by the call before, once by the call after; not by the one that was interrupted.
    assert [line for line in out if line][:1] == ["interrupted"], (out, err)
    assert out.count("the chain is complete 0") == 1, (out, err)
    assert "(4, 4)" in out


def test_branches_beside_each_other(tmp_path):
    """Parts of a function that run on threads of their own are joined, whatever the handler throws."""
    code = """
        x, y = (tf.constant(np.random.rand(400_000).astype("float32")) for _ in range(2))

        @tf.function
        def both(x, y):
            return tf.reduce_sum(tf.sort(x)) + tf.reduce_sum(tf.sort(y))

        wanted = float(both(x, y))

        def work():
            while True:
                both(x, y)

        interrupted(work)
        print(float(both(x, y)) == wanted)
    """
    check(interrupt(tmp_path, code), "True")


def test_fit(tmp_path):
    result = interrupt(
        tmp_path,
        """
        import tandem.keras as keras

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse", steps_per_execution=10**6)
        x, y = np.ones([64, 4], "float32"), np.ones([64, 2], "float32")
        model.fit(x, y, verbose=0)
        data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).repeat()
        interrupted(lambda: model.fit(data, steps_per_epoch=10**9, verbose=0))
        print(model.predict(x, verbose=0).shape, bool(np.isfinite(model.evaluate(x, y, verbose=0))), flush=True)
        """,
    )
    check(result, "(64, 2) True")


def test_fit_with_an_endless_step(tmp_path):
    result = interrupt(
        tmp_path,
        """
        import tandem.keras as keras

        endless = tf.Variable(False, trainable=False)

        class Spinning(keras.layers.Layer):
            def call(self, x):
                turn = lambda n, x: ((n + 1) % 1000, x)
                n, x = tf.while_loop(lambda n, x: endless.read_value(), turn, (tf.constant(0), x))
                return x + tf.cast(n, x.dtype)

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2), Spinning()])
        model.compile("sgd", "mse")
        x, y = np.ones([64, 4], "float32"), np.ones([64, 2], "float32")
        model.fit(x, y, verbose=0)
        before = [w.copy() for w in model.get_weights()]
        endless.assign(True)
        interrupted(lambda: model.fit(x, y, epochs=5, verbose=0))
        endless.assign(False)
        print(all(np.array_equal(a, b) for a, b in zip(before, model.get_weights())), flush=True)
        model.fit(x, y, verbose=0)
        print(any(not np.array_equal(a, b) for a, b in zip(before, model.get_weights())), flush=True)
        """,
    )
    check(result, "True", "True")


@pytest.mark.parametrize("stage", ["map(spin)", "map(spin, num_parallel_calls=2)", "map(spin).prefetch(1)"])
def test_endless_function_of_a_dataset(tmp_path, stage):
    result = interrupt(
        tmp_path,
        f"""
        def spin(x):
            while x >= 0:
                x = (x + 1) % 1000  # one that changed nothing would be left out
            return x

        data = tf.data.Dataset.range(4)
        passing = data.{stage}
        interrupted(lambda: next(iter(passing)))
        print([int(x) for x in data], flush=True)
        """,
    )
    check(result, "[0, 1, 2, 3]")


def test_endless_dataset(tmp_path):
    result = interrupt(
        tmp_path,
        """
        data = tf.data.Dataset.range(10).repeat()
        data.take(10).reduce(np.int64(0), lambda s, x: s + x)
        interrupted(lambda: data.reduce(np.int64(0), lambda s, x: s + x))
        print(int(data.take(10).reduce(np.int64(0), lambda s, x: s + x)), flush=True)
        """,
    )
    check(result, "45")


def test_an_eager_loop_that_fills_the_queue_of_a_gpu(tmp_path):
    """What is queued would take minutes: neither the loop nor the end of the process waits for it."""
    result = interrupt(
        tmp_path,
        """
        import itertools

        with tf.device("/GPU:0"):
            x = tf.zeros([1000, 1000])
            x @ x

            def work():
                y = x
                for i in itertools.count():
                    y = x @ y
                    if i == 16000:  # it has room for some more
                        print("ready", flush=True)

            try:
                work()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            with tf.device("/CPU:0"):
                print(float(tf.ones([2])[0]), flush=True)
        """,
        gpus=1,
    )
    check(result, "1.0")


def test_an_eager_loop_that_fills_the_memory_of_a_gpu(tmp_path):
    """Memory comes back when what is queued is done, which takes many minutes on a GPU this slow."""
    result = interrupt(
        tmp_path,
        """
        with tf.device("/GPU:0"):
            x = tf.ones([500, 500])
            try:
                for i in range(10**9):
                    y = x @ x
                    if i == 20:
                        print("ready", flush=True)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        with tf.device("/CPU:0"):
            print(float(tf.ones([2])[0]), flush=True)
        """,
        gpus=1,
        env={"TANDEM_EMULATED_SPEED": "0.001", "TANDEM_EMULATED_MEMORY_MB": "400"},
    )
    check(result, "1.0")


# What goes on for ever, by name: (GPUs, what is before, what is interrupted, what must be true afterwards).
ENDLESS = {
    "eager ops": (0, "x = tf.ones([8])", "while True: x = x * 1.0", "float(x[0]) == 1"),
    "an endless dataset": (
        0,
        "data = tf.data.Dataset.range(10).map(lambda x: x + 1).repeat().prefetch(2)",
        "for x in data: pass",
        "int(next(iter(data))) == 1",
    ),
    "an endless dataset in a function": (
        0,
        """
        data = tf.data.Dataset.range(10).repeat()

        @tf.function
        def total(data):
            n = tf.constant(0, tf.int64)
            for x in data:
                n = (n + x) % 1000
            return n

        total(data.take(3))
        """,
        "total(data)",
        "int(total(data.take(3))) == 3",
    ),
    "saving a dataset": (
        0,
        "tf.data.Dataset.range(3).save(folder + '/a'); data = tf.data.Dataset.range(10).repeat()",
        "data.save(folder + '/b')",
        "len(list(tf.data.Dataset.load(folder + '/a'))) == 3",
    ),
    "writing checkpoints": (
        0,
        """
        v = tf.Variable(tf.zeros([50_000]))
        checkpoint = tf.train.Checkpoint(v=v)
        checkpoint.write(folder + "/c")
        """,
        """
        while True:
            v.assign_add(tf.ones([50_000]))
            checkpoint.write(folder + "/c")
        """,
        "checkpoint.read(folder + '/c').assert_consumed() and len(set(v.numpy().tolist())) == 1",
    ),
    "predict": (
        0,
        """
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
        model.predict(np.ones([4, 4]), verbose=0)
        data = tf.data.Dataset.from_tensors(tf.ones([1, 4])).repeat()
        """,
        "model.predict(data, verbose=0)",
        "model.predict(np.ones([4, 4]), verbose=0).shape == (4, 2)",
    ),
    "fit on a generator": (
        0,
        """
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
        model.compile("adam", "mse")
        batch = np.ones([8, 4], "float32"), np.ones([8, 2], "float32")
        model.fit(*batch, verbose=0)

        def batches():
            while True:
                yield batch
        """,
        "model.fit(batches(), steps_per_epoch=10**9, verbose=0)",
        "len(model.fit(*batch, verbose=0).history['loss']) == 1",
    ),
    "fit on two GPUs": (
        2,
        """
        strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
            model.compile("adam", "mse")
        x, y = np.ones([8, 4], "float32"), np.ones([8, 2], "float32")
        model.fit(x, y, verbose=0)
        data = tf.data.Dataset.from_tensors((x, y)).repeat()
        """,
        "model.fit(data, steps_per_epoch=10**9, verbose=0)",
        "len(model.fit(x, y, verbose=0).history['loss']) == 1",
    ),
}


@pytest.mark.parametrize("name", list(ENDLESS))
def test_endless_work(tmp_path, name):
    gpus, before, work, after = ENDLESS[name]
    lines = textwrap.dedent(work).strip().splitlines()
    body = "\n".join("    " + line for line in lines)
    program = f"""folder = {str(tmp_path)!r}
{textwrap.dedent(before)}
def work():
    global x
{body}

interrupted(work)
print({after}, flush=True)
"""
    check(interrupt(tmp_path, program, gpus=gpus, after=0.2), "True")


def test_an_import_is_interrupted(tmp_path):
    """The signal comes when so many functions have been called, anywhere in the import of the package and of Keras."""
    program = """
        import os
        import signal
        import sys

        calls, at = 0, int(sys.argv[1])

        def count(frame, event, argument):
            global calls
            calls += event == "call"
            if calls == at:
                os.kill(os.getpid(), signal.SIGINT)

        sys.setprofile(count)
        import tandem

        tandem.keras.layers.Dense
        sys.setprofile(None)
        print(calls, flush=True)
    """
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(program))

    def run(at):
        return subprocess.run(
            [sys.executable, str(script), str(at)], env=environment(0), preexec_fn=heed_interrupts, timeout=120,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    everything = int(run(0).stdout)
    assert everything > 1000
    pieces = 60 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 3
    for piece in range(pieces):
        at = everything * (2 * piece + 1) // (2 * pieces)
        ended = run(at)
        # What arises in a callback of a weak reference or a destructor, Python can only print.
        printed = ended.returncode == 0 and "Exception ignored" in ended.stderr
        assert printed or ended.returncode == -signal.SIGINT, (at, ended)
        assert "KeyboardInterrupt" in ended.stderr, (at, ended)


def test_tandem_run_ends(tmp_path):
    status, out, err = interrupt(
        tmp_path,
        """
        import tensorflow

        @tensorflow.function
        def spin(x):
            while x < 1.0:
                x = x * 0.5  # a state that never changes would need no loop
            return x

        print("ready", flush=True)
        spin(tensorflow.constant(0.0))
        print("ended by itself", flush=True)
        """,
        command=("-m", "tandem", "run"),
    )
    assert status in (130, -signal.SIGINT), (status, err)
    assert "KeyboardInterrupt" in err
    assert "spin(tensorflow.constant(0.0))" in err  # the user's line
    assert "ended by itself" not in out


def test_a_handler_of_the_users_decides(tmp_path):
    result = interrupt(
        tmp_path,
        """
        import signal

        stop = tf.Variable(False)

        def handler(*_):
            raise TimeoutError("enough")

        signal.signal(signal.SIGINT, handler)

        @tf.function
        def spin(x):
            while not stop:
                x = x * 0.5  # a state that never changes would need no loop
            return x

        stop.assign(True)
        spin(tf.constant(0.0))
        stop.assign(False)
        print("ready", flush=True)
        try:
            spin(tf.constant(0.0))
        except TimeoutError as error:
            print("interrupted", flush=True)
            print(error, flush=True)
        """,
    )
    check(result, "enough")


def test_waiting_for_a_variable_ends(tmp_path):
    result = interrupt(
        tmp_path,
        """
        import os
        import threading
        import time

        v = tf.Variable(1.0)

        @tf.function
        def hold(x):
            while x < 1.0:
                x = x * v  # never ends, and holds the variable
            v.assign(x)

        @tf.function
        def add():
            v.assign_add(1.0)

        add()
        hold(tf.constant(2.0))  # planned here: the thread begins its loop at once
        v.assign(1.0)
        threading.Thread(target=hold, args=(tf.constant(0.5),), daemon=True).start()
        time.sleep(1.0)
        interrupted(add)
        print("still there", flush=True)
        os._exit(0)
        """,
        gpus=0,  # with one, nothing is held: the call returns and its loop goes on
    )
    check(result, "still there")


def test_modules_of_keras_that_catch_everything_are_known():
    """An `except:` that goes on would take Ctrl-C for what it expects: such modules are changed while they are loaded."""
    import ast

    import tandem as tf
    from tandem import keras_loader

    folder = pathlib.Path(tf.keras.__file__).parent
    others = {"numpy", "jax", "torch", "openvino"}
    found = set()
    for path in (folder / "src").rglob("*.py"):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        if parts[-1].endswith("_test") or (parts[2] == "backend" and parts[3] in others):
            continue
        text = path.read_text()
        if "except:" not in text:
            continue
        handlers = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ExceptHandler) and not n.type]
        if any(not keras_loader._raises_again(h) for h in handlers):
            found.add(".".join(parts).removesuffix(".__init__"))
    assert found == keras_loader._CATCHING_ALL


@pytest.mark.parametrize("moment", range(1))
def test_an_interrupt_while_a_model_is_traced(run_python, moment):
    """The handler's exception comes out wherever it arises, and the model can be trained afterwards."""
    status, out, err = run_python(
        f"""
        import signal, sys
        import numpy as np
        import tandem as tf
        keras = tf.keras

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        x, y = np.ones([16, 4], "float32"), np.ones([16, 2], "float32")
        model.compile("sgd", "mse")
        model.fit(x, y, verbose=0)

        class Interrupted(BaseException):
            pass

        calls, at = 0, 0

        def count(frame, event, argument):
            # Raises where a signal could: when a Python function is entered.
            global calls
            if event == "call" and at:
                calls += 1
                if calls == at:
                    raise Interrupted

        def trace():
            model.compile("sgd", "mse")
            model.fit(x, y, verbose=0)

        # What arises in the callback of a weak reference or in a destructor, Python can only print.
        ignored = []
        sys.unraisablehook = ignored.append
        at = -1
        trace()
        sys.setprofile(count)
        trace()
        sys.setprofile(None)
        everything, lost = calls, []
        for at in range(1 + {moment}, everything, max(1, everything // 50)):
            calls = 0
            ignored.clear()
            sys.setprofile(count)
            try:
                trace()
                if calls >= at and not ignored:
                    lost.append(at)
            except Interrupted:
                pass
            finally:
                sys.setprofile(None)
            assert tf.executing_eagerly(), at
        at = 0
        trace()
        print(everything > 100, lost)
        """
    )
    assert status == 0, err[-3000:]
    assert out.splitlines()[-1] == "True []", (out, err[-2000:])


@pytest.mark.parametrize("kind", ["keras", "weights.h5", "h5"])
def test_an_interrupt_that_a_library_swallows_while_a_file_is_written_or_read(kind, tmp_path, capsys):
    """As in HDF5's calls of Python: "Exception ignored in", and training went on."""
    import sys

    import tandem as tf

    class Deaf:
        def __del__(self):
            raise KeyboardInterrupt

    class Layer(tf.keras.layers.Layer):
        swallow = False

        def build(self, shape):
            self.v = self.add_weight(shape=(2,), initializer="zeros")

        def call(self, x):
            return x

        def get_config(self):
            self._hear()
            return super().get_config()

        def save_own_variables(self, store):
            self._hear()
            super().save_own_variables(store)

        def load_own_variables(self, store):
            self._hear()
            super().load_own_variables(store)

        def set_weights(self, weights):
            self._hear()
            super().set_weights(weights)

        def _hear(self):
            if Layer.swallow:
                Deaf()

    model = tf.keras.Sequential([tf.keras.Input((2,)), Layer()])
    path = tmp_path / f"model.{kind}"
    save = (lambda: model.save_weights(path)) if kind == "weights.h5" else (lambda: model.save(path))
    save()
    before, hook = path.read_bytes(), sys.unraisablehook
    model.set_weights([np.float32([1.0, 2.0])])
    Layer.swallow = True
    with pytest.raises(KeyboardInterrupt):
        save()
    assert path.read_bytes() == before and sys.unraisablehook is hook
    if kind != "h5":
        load = model.load_weights if kind == "weights.h5" else tf.keras.saving.load_model
        with pytest.raises(KeyboardInterrupt):
            load(path, **({} if kind == "weights.h5" else {"custom_objects": {"Layer": Layer}}))
    assert sys.unraisablehook is hook and "Exception ignored" not in capsys.readouterr().err
