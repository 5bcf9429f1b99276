"""tf.queue and tf.CriticalSection: order, waiting, ends, threads, functions, Ctrl-C."""

import threading

import pytest
from test_interrupt import interrupt

import tandem as tf


def numbers(queue, n):
    return [int(queue.dequeue()) for _ in range(n)]


def test_order():
    first = tf.queue.FIFOQueue(10, tf.int32, shapes=[[]])
    first.enqueue_many([[3, 1, 2]])
    assert first.size() == 3 and numbers(first, 3) == [3, 1, 2]
    smallest = tf.queue.PriorityQueue(10, tf.string, shapes=[[]])
    smallest.enqueue_many([tf.constant([3, 1, 2, 1], tf.int64), ["c", "a", "b", "a2"]])
    assert [smallest.dequeue()[1].numpy() for _ in range(4)] == [b"a", b"a2", b"b", b"c"]
    shuffled = tf.queue.RandomShuffleQueue(200, 0, tf.int32, shapes=[[]], seed=3)
    shuffled.enqueue_many([tf.range(100)])
    found = shuffled.dequeue_many(100).numpy().tolist()
    assert sorted(found) == list(range(100)) and found != list(range(100))


def test_rows_and_names():
    named = tf.queue.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], [2]], names=["i", "f"])
    named.enqueue_many({"i": [1, 2, 3], "f": [[1.0, 2], [3, 4], [5, 6]]})
    rows = named.dequeue_many(2)
    assert rows["i"].numpy().tolist() == [1, 2] and rows["f"].shape == (2, 2)
    with pytest.raises(ValueError, match="dictionary"):
        named.enqueue([1, [1.0, 2.0]])
    padded = tf.queue.PaddingFIFOQueue(10, tf.int32, shapes=[[None]])
    padded.enqueue([[1]])
    padded.enqueue([[2, 3]])
    assert padded.dequeue_many(2).numpy().tolist() == [[1, 0], [2, 3]]
    with pytest.raises(ValueError, match="Shape"):
        tf.queue.FIFOQueue(10, tf.int32, shapes=[[2]]).enqueue([[1, 2, 3]])
    with pytest.raises(ValueError, match="fully defined"):
        tf.queue.FIFOQueue(10, tf.int32).dequeue_many(1)


def test_ends():
    queue = tf.queue.FIFOQueue(10, tf.int32, shapes=[[]])
    queue.enqueue_many([[1, 2, 3]])
    queue.close()
    assert queue.is_closed()
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        queue.enqueue(4)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 4, current size 3\)"):
        queue.dequeue_many(4)
    assert queue.dequeue_up_to(4).numpy().tolist() == [1, 2, 3]
    with pytest.raises(tf.errors.OutOfRangeError):
        queue.dequeue()
    with pytest.raises(tf.errors.InvalidArgumentError, match="min_after_dequeue"):
        tf.queue.RandomShuffleQueue(2, 2, tf.int32)


def test_threads_wait_for_one_another():
    queue = tf.queue.FIFOQueue(2, tf.int32, shapes=[[]])
    writer = threading.Thread(target=lambda: (queue.enqueue_many([tf.range(50)]), queue.close()))
    writer.start()
    assert numbers(queue, 20) == list(range(20))
    assert queue.dequeue_many(30).numpy().tolist() == list(range(20, 50))  # more than there is room for
    writer.join()
    with pytest.raises(tf.errors.OutOfRangeError):
        queue.dequeue()


def test_cancelled_writers():
    queue, errors = tf.queue.FIFOQueue(1, tf.int32), []

    def write():
        try:
            queue.enqueue_many([[1, 2, 3]])
        except tf.errors.CancelledError as error:
            errors.append(error)

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    queue.dequeue()
    queue.close(cancel_pending_enqueues=True)
    for writer in writers:
        writer.join()
    assert len(errors) == 3


def test_in_functions():
    queue = tf.queue.FIFOQueue(10, tf.float32, shapes=[[2]])

    @tf.function
    def step(x):
        queue.enqueue(x * 2.0)
        y = queue.dequeue()
        assert y.shape == (2,)
        return y + 1.0, queue.size()

    for value in (1.0, 2.0):
        found, size = step(tf.fill([2], value))
        assert found.numpy().tolist() == [2 * value + 1] * 2 and size == 0


def test_ctrl_c_while_waiting(tmp_path):
    status, out, err = interrupt(tmp_path, """
        q = tf.queue.FIFOQueue(1, tf.int32)
        interrupted(q.dequeue)
        q.enqueue(7)
        print(int(q.dequeue()))
    """)  # fmt: skip
    assert status == 0 and "interrupted" in out and "7" in out, err


def test_critical_section():
    section, v, inside = tf.CriticalSection(), tf.Variable(0), []

    def add():
        assert not inside
        inside.append(1)
        v.assign(v + 1)
        inside.pop()
        return v.read_value()

    workers = [threading.Thread(target=lambda: [section.execute(add) for _ in range(50)]) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert v.numpy() == 200
    assert tf.function(lambda: section.execute(lambda: v.assign_add(1)))().numpy() == 201
    with pytest.raises(ValueError, match="already running"):
        section.execute(lambda: section.execute(lambda: 1))


def test_errors_in_functions_are_of_their_own_class():
    queue = tf.queue.FIFOQueue(2, tf.int32, shapes=[[]])
    queue.close()

    @tf.function
    def take():
        return queue.dequeue()

    with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
        take()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def unpacked(texts):
        return tf.io.decode_compressed(texts, "ZLIB")

    with pytest.raises(tf.errors.DataLossError, match="incomplete"):
        unpacked([b""])

    @tf.function
    def of_a_user():
        def fail():
            raise tf.errors.NotFoundError(None, None, "not here")

        return tf.py_function(fail, [], tf.int32)

    with pytest.raises(tf.errors.UnknownError, match="not here"):
        of_a_user()
