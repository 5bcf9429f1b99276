"""The end of a process while threads compute, iterate or wait: with the status that the program gives, whatever they
are about. Once, or 100 times with TANDEM_LONG_TESTS=1."""

import os
import signal

import pytest

ROUNDS = 100 if os.environ.get("TANDEM_LONG_TESTS") == "1" else 1

# Each is run again and again by threads that nobody joins; `begun` says that it ran once.
BUSY = """
    import atexit, itertools, os, sys, threading, time
    import tandem as tf

    @tf.function
    def spin(x):
        while x < 1.0:
            x = x * 0.5
        return x

    @tf.function
    def through_python(x):
        return tf.py_function(lambda y: y + 1.0, [x], tf.float32)

    def count():
        yield from itertools.count()

    big, small = tf.ones([300, 300]), tf.ones([8])
    numbers = tf.data.Dataset.range(10**9)
    live = iter(numbers.map(lambda x: x + 1, num_parallel_calls=2).prefetch(2))

    def gradient():
        v = tf.Variable(small)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v)
        tape.gradient(y, v)

    def iterate(dataset):
        def work():
            for _ in dataset.take(50):
                pass

        return work

    generator = tf.data.Dataset.from_generator(count, output_signature=tf.TensorSpec([], tf.int32))
    WORK = {
        "eager": lambda: tf.matmul(big, big),
        "read": lambda: tf.matmul(big, big).numpy(),
        "trace": lambda: tf.function(lambda x: x * 2 + 1)(small),
        "gradient": gradient,
        "python": lambda: through_python(tf.constant(1.0)),
        "dataset": iterate(numbers.map(lambda x: x + 1, num_parallel_calls=2).prefetch(2)),
        "generator": iterate(generator.prefetch(2)),
        "live": lambda: next(live),
    }

    def busy(*names):
        for name in names:
            begun = threading.Event()

            def run(work=WORK[name], begun=begun):
                while True:
                    work()
                    begun.set()

            threading.Thread(target=run, daemon=True).start()
            assert begun.wait(60), name
"""


@pytest.mark.parametrize("gpus", [0, 1] if ROUNDS > 1 else [0])
def test_daemon_threads_compute(run_python, gpus):
    for _ in range(ROUNDS):
        status, out, err = run_python(
            BUSY
            + """
    busy(*WORK)
    threading.Thread(target=lambda: spin(tf.constant(0.0)), daemon=True).start()
    print("end", flush=True)
    sys.exit(3)
    """,
            gpus=gpus,
        )
        assert (status, out) == (3, "end\n"), err[-3000:]


MODELS = """
    import os, random, signal, sys, threading, time
    import h5py
    import numpy as np
    from tandem import keras

    def work(ready, folder):
        x, y = np.ones([32, 3], "float32"), np.ones([32, 1], "float32")
        while True:
            model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
            model.compile("adam", "mse")
            ready.set()
            model.fit(x, y, batch_size=8, verbose=0)
            model.save_weights(f"{folder}/{threading.get_ident()}.weights.h5")

    def ends(folder):
        ready = threading.Event()
        for _ in range(2):
            threading.Thread(target=work, args=(ready, folder), daemon=True).start()
        ready.wait()
        time.sleep(random.uniform(0, 0.5))
        sys.exit(3)

    def status_of(child):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "no end"

    found = []
    for _ in range(ROUNDS):
        child = os.fork()
        if not child:
            ends(FOLDER)
        found.append(status_of(child))
    print(found)
"""


def test_daemon_threads_build_and_save_models(run_python, tmp_path):
    """In other extensions too (optree's C++, h5py with its lock) a thread stands still, and the end needs nothing of it."""
    rounds = 8 if ROUNDS == 1 else 100
    code = MODELS.replace("ROUNDS", str(rounds)).replace("FOLDER", repr(str(tmp_path)))
    status, out, err = run_python(code)
    assert (status, out) == (0, f"{[3] * rounds}\n"), err[-3000:]


def test_what_is_destroyed_while_the_interpreter_ends(run_python):
    """Rubbish that the last collection finds: an error of fit, whose frames hold the loop and its arrays."""
    status, out, err = run_python(
        """
        import gc

        gc.disable()
        import numpy as np
        from tandem import keras

        class Fails(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                raise OSError("no more")

        keras.config.disable_traceback_filtering()
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")

        def fails():
            try:
                model.fit(np.zeros((4, 2)), np.zeros((4, 1)), verbose=0, callbacks=[Fails()])
            except OSError as error:
                kept = error
            return lambda: (kept, fails)

        again = fails()
        again.itself = again
        del again
        print("end")
        """
    )
    assert (status, out) == (0, "end\n"), err


def test_all_endings(run_python):
    cases = {
        "an exception": ("raise ValueError('mine')", 1),
        "os._exit": ("os._exit(7)", 7),
        "sys.exit in a thread": ("t = threading.Thread(target=sys.exit, args=(5,)); t.start(); t.join()", 0),
        "an exit function that computes": ("atexit.register(lambda: print(float(tf.reduce_sum(small))))", 0),
        "an exit function that iterates": ("atexit.register(lambda: print(int(next(iter(numbers.prefetch(1))))))", 0),
    }
    for name, (code, wanted) in cases.items():
        status, out, err = run_python(BUSY + f"    busy('eager', 'python', 'dataset')\n    {code}\n")
        assert status == wanted, (name, err[-3000:])
        if "exit function" in name:
            assert out.strip() in ("8.0", "0"), name


def test_python_code_that_never_returns(run_python):
    """A generator and a function that wait for ever are left behind."""
    status, out, err = run_python(
        BUSY
        + """
    entered = [threading.Event(), threading.Event()]

    def wait_for_ever(number):
        entered[number].set()
        threading.Event().wait()

    def stuck():
        yield 1
        wait_for_ever(0)

    it = iter(tf.data.Dataset.from_generator(stuck, output_signature=tf.TensorSpec([], tf.int32)).prefetch(2))
    next(it)
    stays = tf.function(lambda x: tf.py_function(lambda y: wait_for_ever(1), [x], tf.float32))
    threading.Thread(target=stays, args=(tf.constant(1.0),), daemon=True).start()
    for e in entered:
        assert e.wait(60)
    sys.exit(4)
    """
    )
    assert status == 4, err[-3000:]


INTERRUPTED = """
    import os, signal, sys, threading
    import tandem as tf

    entered = threading.Event()

    def stuck():
        yield 1
        entered.set()
        threading.Event().wait()

    def interrupt():
        entered.wait()
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    numbers = tf.data.Dataset.from_generator(stuck, output_signature=tf.TensorSpec([], tf.int32))
"""


@pytest.mark.parametrize("ahead", ["map(lambda x: x + 1, num_parallel_calls=2)", "prefetch(1).batch(2).prefetch(1)"])
@pytest.mark.parametrize("loop", ["for _ in numbers: pass", "tf.function(lambda it: [next(it), next(it)])(iter(numbers))"])
def test_an_interrupted_pass_over_a_generator_that_waits_for_ever(run_python, ahead, loop):
    """The interrupt ends the iteration, the program goes on, and it ends with its own status."""
    status, out, err = run_python(
        INTERRUPTED
        + f"""
    numbers = numbers.{ahead}
    try:
        {loop}
    except KeyboardInterrupt:
        print("interrupted")
    print(int(tf.reduce_sum(tf.ones([4]))), sum(int(x) for x in tf.data.Dataset.range(4).prefetch(1)))
    sys.exit(4)
    """
    )
    assert (status, out.split()) == (4, ["interrupted", "4", "6"]), err[-3000:]


@pytest.mark.parametrize(
    "loop",
    [
        "for _ in numbers: break",
        "for _ in numbers: raise ValueError()",
        "tf.function(lambda: numbers.take(1).reduce(0, lambda a, b: a + b))()",
        "list(numbers.take(1))",
        "for _ in numbers: interrupt()",
        "soon(); numbers.reduce(0, lambda a, b: a + b)",
        "soon(); tf.function(lambda: numbers.reduce(0, lambda a, b: a + b))()",
        "soon(); first(numbers)",
    ],
)
def test_a_pass_ends_whose_generator_never_returns(run_python, loop):
    """Its worker is left behind, control comes back, and the program ends with its own status."""
    status, out, err = run_python(
        INTERRUPTED.replace("threading.Thread(target=interrupt, daemon=True).start()", "")
        + f"""
    @tf.function
    def first(values):
        for x in values:
            if x > 1:
                break

    def soon():
        threading.Thread(target=interrupt, daemon=True).start()

    numbers = numbers.prefetch(2)
    try:
        {loop}
    except (KeyboardInterrupt, ValueError):
        pass
    print(sum(int(x) for x in tf.data.Dataset.range(4).prefetch(1)))
    sys.exit(4)
    """
    )
    assert (status, out) == (4, "6\n"), err[-3000:]


ENDLESS = """
    import os, signal, sys, threading
    import numpy as np
    import tandem as tf

    def loops():
        def spin(x, limit):
            while tf.reduce_sum(x) < limit:
                x = x * 0.5
            return x

        @tf.function
        def choose(x, limit):
            return spin(x, limit) if limit > 8.0 else x

        return [tf.function(spin), choose]

    with tf.device("/GPU:0"):
        x, near, far = tf.identity(tf.ones([8])), tf.identity(7.0), tf.identity(9.0)
        kept, dropped = loops(), loops()
        # Of a first call the device is waited for.
        for f in kept + dropped:
            f(x, near).numpy()
        results = [f(x, far) for f in kept]
        # A device that is busy is not waited for when functions go.
        for f in dropped:
            f(x, far)
        del f, dropped
    print("begun", flush=True)
"""


@pytest.mark.parametrize(
    "end, wanted",
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
        ("threading.Thread(target=lambda: results[0].numpy(), daemon=True).start(); sys.exit(5)", 5),
    ],
    ids=["end", "sys.exit", "os._exit", "interrupt", "waiting thread"],
)
def test_endless_loops_on_a_gpu(run_python, end, wanted):
    """Loops that a device decides, and that nobody will see the end of, are given up."""
    status, out, err = run_python(f"{ENDLESS}\n    {end}\n", gpus=1)
    assert (status, out) == (wanted, "begun\n"), err[-3000:]
    assert "CancelledError" not in err


@pytest.mark.parametrize("data", ["tf.data.Dataset.from_tensors((x, x)).repeat()", "x, x"], ids=["dataset", "arrays"])
def test_an_exception_that_is_kept_until_the_end(run_python, data):
    """The loop in its traceback was destroyed when Python was not initialized any more, and stood still for ever."""
    code = f"""
        import numpy as np
        import tandem as tf

        class Fail(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                raise RuntimeError("kept")

        x = np.ones([4, 2], "float32")
        model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        kept = []
        try:
            model.fit({data}, verbose=0, callbacks=[Fail()])
        except RuntimeError as error:
            kept += [error, kept]  # only the last collection finds it
        print("done", flush=True)
    """
    status, out, err = run_python(code)
    assert (status, out) == (0, "done\n"), err
