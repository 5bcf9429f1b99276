"""The interpreter lock is free while something computes or waits."""

import threading

import numpy as np
import pytest
import tandem as tf


def count_while(work):
    """How often another Python thread got a turn before `work` returned."""
    turns, started, done = [0], threading.Event(), threading.Event()

    def counter():
        started.set()
        while not done.is_set():
            turns[0] += 1
            done.wait(1e-4)

    thread = threading.Thread(target=counter)
    thread.start()
    started.wait()
    before = turns[0]
    work()
    during = turns[0] - before
    done.set()
    thread.join()
    return during


def test_a_large_op_lets_other_threads_run():
    a = tf.constant(np.random.default_rng().random((700, 700)).astype(np.float32))

    def work():
        b = a
        for _ in range(20):
            b = tf.matmul(a, b) * 1e-2
        b.numpy()

    assert count_while(work) > 5


def test_gradients_let_other_threads_run():
    a = tf.Variable(np.random.default_rng().random((600, 600)).astype(np.float32))
    with tf.GradientTape() as tape:
        y = a
        for _ in range(10):
            y = tf.matmul(a, y) * 1e-2
        y = tf.reduce_sum(y)
    assert count_while(lambda: tape.gradient(y, a)) > 3


def test_many_threads_compute_independently():
    results, errors = [None] * 8, []

    def work(i):
        try:
            with tf.device("CPU:0"), tf.GradientTape() as tape:
                x = tf.Variable(float(i))
                y = x
                for _ in range(200):
                    y = y * 1.0 + x
            results[i] = float(tape.gradient(y, x))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert results == [201.0] * 8


def test_arrays_are_released_by_whichever_thread_is_last():
    released = []

    class Watched(np.ndarray):
        def __del__(self):
            released.append(threading.get_ident())

    def make():
        array = np.zeros(50_000, np.float32).view(Watched)
        array.base.flags.writeable = False
        array.flags.writeable = False
        return tf.constant(array)

    holder = [make()]
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    tf.constant(1) + 1
    assert len(released) >= 1


def test_signals_in_the_middle_of_a_matmul(run_python):
    status, out, err = run_python(
        """
        import os, signal, threading, time
        import numpy as np
        import tandem as tf

        signal.signal(signal.SIGINT, lambda *args: None)
        a = tf.constant(np.random.rand(600, 600).astype("float32"))
        expected = tf.matmul(a, a).numpy()
        done = threading.Event()

        def ring():
            while not done.wait(0.002):
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=ring)
        thread.start()
        for _ in range(60):
            assert np.array_equal(tf.matmul(a, a).numpy(), expected)
        done.set()
        thread.join()
        print(float(tf.reduce_sum(tf.ones(50))))
        """,
        env={"MALLOC_CHECK_": "3"},
    )
    assert status == 0, err
    assert out.strip() == "50.0"


FORKED = """
import multiprocessing
import tandem as tf

x = tf.ones((300, 300))
product = tf.matmul(x, x)  # the parent's threads exist

def work(queue):
    with tf.device("/CPU:0"):
        y = tf.ones((300, 300))
        queue.put(float(tf.reduce_sum(tf.matmul(y, y))))
    for attempt in (lambda: tf.matmul(tf.ones((3, 3)), tf.ones((3, 3))), product.numpy):
        try:
            attempt()
            queue.put("computed")
        except tf.errors.UnavailableError as error:
            queue.put(str(error))

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue,))
    child.start()
    for _ in range(3):
        print(queue.get(timeout=60))
    child.join(60)
    assert child.exitcode == 0
    print(float(tf.reduce_sum(product)))
"""


@pytest.mark.parametrize("gpus", [0, 1])
def test_a_forked_process_computes_on_the_cpu(run_python, gpus):
    status, out, err = run_python(FORKED, gpus=gpus)
    assert status == 0, out + err
    on_cpu, by_default, parents, after = out.splitlines()
    assert on_cpu == after == "27000000.0"
    if gpus == 0:
        assert by_default == parents == "computed"
    else:  # neither a driver nor the threads of an emulated GPU live through a fork
        assert "GPU:0 cannot be used in a process that was forked" in by_default and "spawn" in by_default
        assert "forked" in parents, parents


def test_an_interrupt_in_a_users_function_is_not_its_error(run_python):
    status, out, err = run_python("""
    import os, signal, threading, time
    import numpy as np
    import tandem as tf

    def slow(a):
        time.sleep(0.1)
        return a

    dataset = tf.data.Dataset.range(200).map(lambda a: tf.numpy_function(slow, [a], tf.int64)).ignore_errors()
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        for element in dataset:
            pass
        print("ran to its end")
    except KeyboardInterrupt:
        print("interrupted")
    """)
    assert "interrupted" in out, out + err
