"""tf.data beyond TensorFlow's stored answers: iterators, threads, files, traced functions, errors."""

import gc
import threading

import numpy as np
import pytest

import tandem as tf
from conftest import data_threads, until

D = tf.data.Dataset


def values(dataset):
    return [x.tolist() if hasattr(x, "tolist") else x for x in dataset.as_numpy_iterator()]


# ---- Iterators


def test_an_ended_iterator_stays_ended():
    iterator = iter(D.range(1))
    assert isinstance(iterator, tf.data.Iterator)
    assert iterator.element_spec == tf.TensorSpec([], tf.int64)
    assert next(iterator).numpy() == 0
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()
    assert not iterator.get_next_as_optional().has_value()


def test_iteration_goes_on_after_an_error():
    dataset = D.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "infinite"))
    for variant in (dataset, dataset.prefetch(1), dataset.map(lambda x: x, num_parallel_calls=2)):
        iterator = iter(variant)
        assert next(iterator).numpy() == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="infinite"):
            next(iterator)
        assert next(iterator).numpy() == 0.5


def test_two_threads_share_an_iterator():
    iterator = iter(D.range(2000).map(lambda x: x + 1, num_parallel_calls=2).prefetch(4))
    found, lock = [], threading.Lock()

    def read():
        for x in iterator:
            with lock:
                found.append(int(x))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert sorted(found) == list(range(1, 2001))


def test_threads_end_with_their_iterator():
    before = len(data_threads())
    for _ in range(5):
        iterator = iter(D.range(10**9).map(lambda x: x, num_parallel_calls=3).batch(2).prefetch(2))
        next(iterator)
        assert len(data_threads()) > before
        del iterator
        gc.collect()
        assert until(lambda: len(data_threads()) == before), data_threads()


def test_an_iterator_is_closed_by_several_threads():
    dataset = tf.data.Dataset.range(100).map(lambda x: x + 1, num_parallel_calls=2).prefetch(2)
    for _ in range(50):
        iterator = iter(dataset)
        assert next(iterator).numpy() == 1
        together = threading.Barrier(3)

        def close():
            together.wait()
            iterator._native.cancel()
            iterator._native.close()

        threads = [threading.Thread(target=close) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(tf.errors.CancelledError):
            next(iterator)


def test_a_generator_is_closed_when_its_iterator_goes():
    closed = []

    def gen():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    iterator = iter(D.from_generator(gen, tf.int32).prefetch(2))
    next(iterator)
    del iterator
    gc.collect()
    assert until(lambda: closed)  # what a thread let go of is released by the interpreter soon after


@pytest.mark.parametrize(
    "pipeline",
    [
        "tf.data.Dataset.range(10**12).filter(lambda x: x < 0)",
        "tf.data.Dataset.range(10**12).filter(lambda x: x < 0).prefetch(1)",
        "tf.data.Dataset.from_generator(lambda: iter(lambda: 0, 1), tf.int32).filter(lambda x: x > 0).prefetch(1)",
    ],
)
def test_ctrl_c_ends_a_wait(run_python, pipeline):
    status, out, err = run_python(
        f"""
        import os, signal, threading, time
        import tandem as tf
        dataset = {pipeline}
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            next(iter(dataset))
        except KeyboardInterrupt:
            print("interrupted")
        print(int(next(iter(tf.data.Dataset.range(3)))))
        """
    )
    assert (status, out) == (0, "interrupted\n0\n"), err


def test_a_process_ends_with_threads_at_work(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        def gen():
            while True:
                yield 1
        kept = []
        for dataset in (tf.data.Dataset.from_generator(gen, tf.int32).prefetch(3),
                        tf.data.Dataset.range(10**12).map(lambda x: x, num_parallel_calls=2)):
            kept.append(iter(dataset))
            next(kept[-1])
        print("done")
        """
    )
    assert (status, out) == (0, "done\n"), err


# ---- Functions


def test_functions_are_traced_once():
    calls = []
    dataset = D.range(20).map(lambda x: calls.append(1) or x, num_parallel_calls=4)
    list(dataset)
    list(dataset)
    assert len(calls) == 1


def test_functions_run_on_the_cpu_whoever_asks():
    with tf.device("/GPU:0" if tf.config.list_physical_devices("GPU") else "/CPU:0"):
        element = next(iter(D.range(3).map(lambda x: x + 1).batch(2)))
    assert element.device.endswith("CPU:0")


def test_a_tape_does_not_see_the_pipeline():
    x = tf.Variable(2.0)
    dataset = D.from_tensors(1.0).map(lambda y: y * x)
    with tf.GradientTape() as tape:
        loss = next(iter(dataset)) * x
    assert tape.gradient(loss, x).numpy() == 2.0


def test_variables_are_read_when_the_function_runs():
    v = tf.Variable(1)
    dataset = D.from_tensors(10).map(lambda x: x + v)
    assert values(dataset) == [11]
    v.assign(5)
    assert values(dataset) == [15]


def test_python_errors_while_tracing_are_the_users_own():
    with pytest.raises(KeyError):
        D.range(3).map(lambda x: {}["no"])


def test_an_error_names_function_line_and_op():
    def reshaped(n):
        return tf.reshape(tf.zeros([6]), [n])

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        next(iter(D.from_tensors(5).map(reshaped)))
    for part in ("reshaped", "test_data.py", f"line {reshaped.__code__.co_firstlineno}", "passed to map", "Reshape", "6"):
        assert part in str(caught.value)


def test_generator_errors_carry_the_original_text_and_line():
    def gen():
        yield 1
        raise KeyError("the original text")

    iterator = iter(D.from_generator(gen, tf.int32))
    next(iterator)
    with pytest.raises(tf.errors.UnknownError) as caught:
        next(iterator)
    assert "KeyError: 'the original text'" in str(caught.value)
    assert 'raise KeyError("the original text")' in str(caught.value)


def test_debug_mode_calls_functions_as_they_are(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        tf.data.experimental.enable_debug_mode()
        seen = []
        dataset = tf.data.Dataset.range(3).map(lambda x: seen.append(x) or x)
        list(dataset)
        print([int(n) for n in seen[1:]])
        """
    )
    assert (status, out) == (0, "[0, 1, 2]\n"), err


# ---- Inside tf.function


def test_for_over_a_dataset_in_a_function():
    @tf.function
    def total(dataset):
        result = tf.constant(0, tf.int64)
        for batch in dataset:
            if tf.reduce_sum(batch) > 20:
                break
            result += tf.reduce_sum(batch)
        return result

    assert total(D.range(10).batch(4)).numpy() == 6
    assert total(D.range(4).batch(4)).numpy() == 6
    assert total.experimental_get_tracing_count() == 1
    assert total(D.range(3)).numpy() == 3
    assert total.experimental_get_tracing_count() == 2


def test_datasets_made_in_a_function():
    @tf.function
    def weighted(n):
        result = tf.constant(0, tf.int64)
        for i, x in D.range(n).map(lambda y: y * n).enumerate():
            result += i * x
        return result

    assert weighted(tf.constant(4, tf.int64)).numpy() == 4 * (1 + 4 + 9)
    assert weighted(tf.constant(2, tf.int64)).numpy() == 2


def test_an_iterator_as_argument_and_captured():
    @tf.function
    def step(iterator):
        return next(iterator) * 2

    iterator = iter(D.range(3))
    assert [step(iterator).numpy(), next(iterator).numpy(), step(iterator).numpy()] == [0, 1, 4]
    with pytest.raises(tf.errors.OutOfRangeError):
        step(iterator)

    captured = iter(D.range(4))

    @tf.function
    def two():
        return next(captured) * 10 + next(captured)

    assert [two().numpy(), two().numpy()] == [1, 23]


# ---- Structure, options, names


def test_repr_names_the_stage():
    assert repr(D.range(3).map(lambda x: x)) == "<_MapDataset element_spec=TensorSpec(shape=(), dtype=tf.int64, name=None)>"
    assert repr(D.range(3).batch(2)).startswith("<_BatchDataset element_spec=TensorSpec(shape=(None,), ")
    assert repr(D.range(3).shuffle(2).prefetch(1)).startswith("<_PrefetchDataset ")


def test_options_are_merged_and_checked():
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 3
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    dataset = D.range(3).with_options(options).map(lambda x: x)
    assert dataset.options().deterministic is False
    assert dataset.options().threading.private_threadpool_size == 3
    more = tf.data.Options()
    more.experimental_slack = True
    merged = dataset.with_options(more).options()
    assert (merged.deterministic, merged.experimental_slack) == (False, True)
    with pytest.raises(AttributeError):
        options.no_such_option = 1


def test_copies_to_a_device(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        dataset = tf.data.Dataset.range(3).apply(tf.data.experimental.prefetch_to_device("/GPU:0", 2))
        print([(int(x), x.device[-5:]) for x in dataset])
        """,
        gpus=1,
    )
    assert (status, out) == (0, "[(0, 'GPU:0'), (1, 'GPU:0'), (2, 'GPU:0')]\n"), err


def test_a_map_function_chooses_its_device(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        def f(x):
            with tf.device("/GPU:0"):
                return x * 2.0
        print([float(x) for x in tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(f, num_parallel_calls=2)])
        """,
        gpus=1,
    )
    assert (status, out) == (0, "[2.0, 4.0]\n"), err


# ---- Files


def test_tf_records(tmp_path):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path) as writer:
        for record in (b"one", b"", b"x" * 100):
            writer.write(record)
    assert list(tf.data.TFRecordDataset(path).as_numpy_iterator()) == [b"one", b"", b"x" * 100]
    assert list(tf.data.TFRecordDataset([path, path], num_parallel_reads=2).take(2).as_numpy_iterator()) == [b"one", b"one"]
    # TensorFlow's bytes: length, its masked checksum, data, their masked checksum.
    assert (tmp_path / "records").read_bytes()[:19].hex() == "0300000000000000b099490e6f6e6501405508"
    packed = str(tmp_path / "packed")
    with tf.io.TFRecordWriter(packed, "GZIP") as writer:
        writer.write(b"one")
    assert list(tf.data.TFRecordDataset(packed, compression_type="GZIP").as_numpy_iterator()) == [b"one"]
    (tmp_path / "bad").write_bytes((tmp_path / "records").read_bytes()[:-2])
    with pytest.raises(tf.errors.DataLossError):
        list(tf.data.TFRecordDataset(str(tmp_path / "bad")))


def test_text_lines_and_fixed_records(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"{name}1\n{name}2")
    files = D.list_files(str(tmp_path / "*.txt"), shuffle=False)
    assert [f.decode()[-5:] for f in files.as_numpy_iterator()] == ["a.txt", "b.txt"]
    assert list(tf.data.TextLineDataset(files).as_numpy_iterator()) == [b"a1", b"a2", b"b1", b"b2"]
    interleaved = files.interleave(tf.data.TextLineDataset, cycle_length=2)
    assert list(interleaved.as_numpy_iterator()) == [b"a1", b"b1", b"a2", b"b2"]
    (tmp_path / "fixed").write_bytes(b"HHaabbccF")
    fixed = tf.data.FixedLengthRecordDataset(str(tmp_path / "fixed"), 2, header_bytes=2, footer_bytes=1)
    assert list(fixed.as_numpy_iterator()) == [b"aa", b"bb", b"cc"]


def test_cache_save_and_load(tmp_path):
    dataset = D.from_tensor_slices({"x": np.arange(6.0).reshape(3, 2), "name": ["a", "b", "c"]})
    cached = dataset.cache(str(tmp_path / "cache"))
    assert [e["name"] for e in cached.as_numpy_iterator()] == [b"a", b"b", b"c"]
    assert [e["name"] for e in cached.as_numpy_iterator()] == [b"a", b"b", b"c"]
    path = str(tmp_path / "saved")
    dataset.save(path)
    loaded = D.load(path)
    assert loaded.element_spec == dataset.element_spec and len(loaded) == 3
    assert [e["x"].tolist() for e in loaded.as_numpy_iterator()] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(tf.errors.NotFoundError):
        D.load(str(tmp_path / "nothing"))


# ---- Keras


def test_keras_reads_datasets():
    from tandem.keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter

    x, y = np.ones((10, 3), np.float32), np.arange(10) % 2
    dataset = D.from_tensor_slices((x, y)).batch(4)
    adapter = TFDatasetAdapter(dataset, class_weight={0: 1.0, 1: 3.0})
    assert adapter.num_batches == 3 and adapter.batch_size is None
    batches = list(adapter.get_numpy_iterator())
    assert [b[0].shape for b in batches] == [(4, 3), (4, 3), (2, 3)]
    assert batches[0][2].tolist() == [1, 3, 1, 3]




def test_csv_files(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('name,age,fare\nann,3,1.5\nbob,,2\n"x,y",5,\n')
    rows = tf.data.experimental.CsvDataset(str(path), [tf.string, [0], [0.0]], header=True)
    assert list(rows.as_numpy_iterator()) == [(b"ann", 3, 1.5), (b"bob", 0, 2.0), (b"x,y", 5, 0.0)]
    fares = tf.data.experimental.CsvDataset(str(path), [[-1.0]], header=True, select_cols=[2])
    assert list(fares.as_numpy_iterator()) == [(1.5,), (2.0,), (-1.0,)]
    required = tf.data.experimental.CsvDataset(str(path), [tf.float32], header=True, select_cols=[2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="required but missing"):
        list(required)
    batches = tf.data.experimental.make_csv_dataset(str(path), 2, label_name="fare", num_epochs=1, shuffle=False)
    features, labels = next(iter(batches))
    assert list(features) == ["name", "age"]
    assert features["age"].dtype == tf.int32 and features["age"].numpy().tolist() == [3, 0]
    assert labels.numpy().tolist() == [1.5, 2.0]


def test_ragged_components():
    batches = list(D.range(4).map(lambda x: (tf.range(x), x)).ragged_batch(2))
    assert [b[0].to_list() for b in batches] == [[[], [0]], [[0, 1], [0, 1, 2]]]
    assert [b[1].numpy().tolist() for b in batches] == [[0, 1], [2, 3]]
    ragged = tf.ragged.constant([[1, 2], [3]])
    spec = tf.RaggedTensorSpec([2, None], tf.int32)
    made = D.from_generator(lambda: iter([ragged]), output_signature=spec)
    assert made.element_spec == spec
    assert [e.to_list() for e in made.prefetch(1)] == [[[1, 2], [3]]]


def test_batches_of_ragged_and_sparse_components():
    rows = [tf.ragged.constant([[1, 2], [3]]), tf.ragged.constant([[], [4, 5, 6]], tf.int32), tf.ragged.constant([[7], [8]])]
    spec = {"r": tf.RaggedTensorSpec([2, None], tf.int32, 1, tf.int32), "s": tf.SparseTensorSpec([3]), "n": tf.TensorSpec([]),
            "f": tf.RaggedTensorSpec([None], tf.int64, 0)}  # fmt: skip

    def elements():
        for i, row in enumerate(rows):
            sparse = tf.sparse.from_dense([float(i), 0.0, float(2 * i)])
            yield {"r": row.with_row_splits_dtype(tf.int32), "s": sparse, "n": float(i), "f": tf.range(i, dtype=tf.int64)}

    made = D.from_generator(elements, output_signature=spec)
    batches = made.batch(2)
    assert batches.element_spec["r"] == tf.RaggedTensorSpec([None, 2, None], tf.int32, 2, tf.int32)
    assert batches.element_spec["s"] == tf.SparseTensorSpec([None, 3])
    assert made.batch(2, drop_remainder=True).element_spec["n"] == tf.TensorSpec([2])
    first, last = batches
    assert first["r"].to_list() == [[[1, 2], [3]], [[], [4, 5, 6]]] and last["r"].to_list() == [[[7], [8]]]
    assert first["r"].row_splits.dtype == tf.int32
    assert tf.sparse.to_dense(first["s"]).numpy().tolist() == [[0, 0, 0], [1, 0, 2]]
    assert tf.sparse.to_dense(last["s"]).numpy().tolist() == [[2, 0, 4]]
    assert first["n"].numpy().tolist() == [0, 1] and first["f"].to_list() == [[], [0]] and last["f"].to_list() == [[0, 1]]
    assert [len(list(made.batch(2, drop_remainder=drop))) for drop in (False, True)] == [2, 1]
    again = list(batches.unbatch())
    assert [tf.sparse.to_dense(e["s"]).numpy().tolist() for e in again] == [[0, 0, 0], [1, 0, 2], [2, 0, 4]]
    assert [e["r"].to_list() for e in again] == [row.to_list() for row in rows]
    twice = next(iter(made.batch(1).batch(3)))
    assert twice["r"].to_list() == [[row.to_list()] for row in rows] and twice["s"].shape == (3, 1, 3)


def test_random_ops_draw_for_each_element():
    dataset = D.range(20).map(lambda x: tf.random.uniform([]), num_parallel_calls=2)
    assert len({float(x) for x in dataset}) == 20


# ---- Variables of the function that iterates


@pytest.mark.parametrize("pipeline", [
    lambda count: D.range(3).map(count),
    lambda count: D.range(3).map(count).prefetch(1),
    lambda count: D.range(3).map(count, num_parallel_calls=2),
    lambda count: D.range(3).map(count, num_parallel_calls=2).batch(1).prefetch(2),
], ids=["map", "prefetch", "parallel", "both"])  # fmt: skip
def test_a_variable_that_the_iterating_function_holds(pipeline):
    counter = tf.Variable(0.0, name="counter")

    def count(x):
        counter.assign_add(1.0)
        return x

    dataset = pipeline(count)

    @tf.function
    def total():
        s = tf.constant(0, tf.int64)
        for x in dataset:
            s += tf.reduce_sum(x)
        return s, counter.read_value()

    # Waiting for one another would never end.
    with pytest.raises(tf.errors.FailedPreconditionError, match="Variable 'counter' is held by the compiled function"):
        total()
    assert sum(int(tf.reduce_sum(x)) for x in dataset) == 3  # outside of the function it works
    assert float(counter) >= 3.0

    @tf.function
    def apart():
        s = tf.constant(0, tf.int64)
        for x in dataset:
            s += tf.reduce_sum(x)
        return s

    before = float(counter)
    assert int(apart()) == 3
    assert float(counter) == before + 3.0


def leave_by_break(dataset):
    for _ in dataset:
        break


def leave_by_an_exception(dataset):
    with pytest.raises(KeyError):
        for _ in dataset:
            raise KeyError


def read_to_the_end_and_keep_the_iterator(dataset):
    iterator = iter(dataset)
    for _ in iterator:
        pass
    return iterator


def delete_the_iterator(dataset):
    iterator = iter(dataset)
    next(iterator)
    del iterator


def close_a_generator_around_it(dataset):
    generator = (x for x in dataset)
    next(generator)
    generator.close()


def break_in_a_function(dataset):
    @tf.function
    def first():
        for x in dataset:
            if tf.reduce_sum(x) >= 0:
                break

    first()


def fail_in_a_function(dataset):
    @tf.function
    def fail():
        for x in dataset:
            tf.debugging.Assert(tf.reduce_sum(x) < 0, [x])

    with pytest.raises(tf.errors.InvalidArgumentError):
        fail()


@pytest.mark.parametrize("end", [
    leave_by_break, leave_by_an_exception, read_to_the_end_and_keep_the_iterator, delete_the_iterator,
    close_a_generator_around_it, break_in_a_function, fail_in_a_function,
], ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.parametrize("pipeline", [
    lambda d: d.prefetch(3),
    lambda d: d.map(lambda x: x + 1, num_parallel_calls=2),
    lambda d: d.map(lambda x: x + 1, num_parallel_calls=2).batch(1).prefetch(2),
    lambda d: d.map(lambda x: x + 1, num_parallel_calls=2).prefetch(4).take(3),
    lambda d: d.interleave(lambda x: D.range(5), cycle_length=2, num_parallel_calls=2),
], ids=["prefetch", "parallel", "both", "take", "interleave"])  # fmt: skip
def test_workers_end_with_the_iteration(pipeline, end):
    kept = end(pipeline(D.range(50)))
    assert until(lambda: not data_threads()), data_threads()
    del kept


def test_buckets_that_differ_in_size_have_batches_of_any():
    def spec(sizes, **options):
        data = D.range(9).bucket_by_sequence_length(lambda x: 1, [2, 4], sizes, pad_to_bucket_boundary=True, **options)
        assert data.element_spec.is_compatible_with(next(iter(data)))
        return data.element_spec.shape

    assert spec([2, 2, 2], drop_remainder=True) == [2]
    assert spec([2, 3, 2], drop_remainder=True).as_list() == spec([2, 2, 2]).as_list() == [None]


def test_windows_cannot_be_padded_in_buckets():
    for boundary in (True, False):
        with pytest.raises(TypeError, match="only supported for datasets that produce tensor"):
            D.range(9).window(4).bucket_by_sequence_length(lambda *a: 1, [2], [1, 1], pad_to_bucket_boundary=boundary)


def test_datasets_of_a_function_as_elements():
    data = D.range(5).window(2).flat_map(lambda w: D.from_tensors(w).repeat(2)).interleave(lambda w: w)
    assert sorted(int(x) for x in data) == sorted([*range(5)] * 2)
    kept = D.range(3).cache()
    data = D.range(2).flat_map(lambda i: D.from_tensors(kept).map(lambda d: d.map(lambda x: x + i))).flat_map(lambda d: d)
    assert [int(x) for x in data] == [0, 1, 2, 1, 2, 3]


@pytest.mark.parametrize("seed", [float("inf"), 1.5, "a", [1, 2]])
def test_seeds_that_are_no_integers(seed):
    for draw in (lambda: D.range(3).shuffle(2, seed=seed), lambda: D.random(seed), lambda: tf.random.uniform([], seed=seed)):
        with pytest.raises(TypeError, match="seed must be one integer"):
            draw()
    assert len(list(D.range(3).shuffle(2, seed=np.int64(7)))) == 3


def test_elements_without_components_beside_others():
    """A StopIteration passed out of batch()."""
    nothing = D.range(3).scan(None, lambda state, x: (state, state))
    first, second = nothing.enumerate().batch(2)
    assert first[0].numpy().tolist() == [0, 1] and second[0].numpy().tolist() == [2] and first[1] is None


@pytest.mark.parametrize("make", [lambda: 5, lambda: (yield "no number")], ids=["no iterator", "a wrong element"])
def test_a_source_that_only_fails_is_not_repeated_for_ever(make):
    data = D.from_generator(make, output_signature=tf.TensorSpec([], tf.int64)).repeat()
    assert list(data.take(60).ignore_errors()) == []
    nothing = D.range(3).take_while(lambda x: x > 5)
    assert list(nothing.repeat(2**40)) == [] and list(nothing.repeat(3)) == []
    numbers = D.range(2).map(lambda x: tf.debugging.assert_less(x, tf.constant(1, tf.int64)) or x)
    assert [int(x) for x in numbers.repeat().ignore_errors().take(3)] == [0, 0, 0]


def test_sizes_that_no_element_comes_to_have():
    """A function planned memory for them."""

    @tf.function
    def count(data):
        found = 0
        for _ in data:
            found += 1
        return found

    assert int(count(D.range(6).padded_batch(2**32, drop_remainder=True))) == 0
    assert int(count(D.from_tensor_slices(tf.zeros([0, 3])).padded_batch(2, padded_shapes=[2**62]))) == 0


def test_all_are_skipped_without_being_read():
    assert list(D.range(2**40).skip(-1)) == []


def test_scalars_have_no_slices():
    scalars = D.from_tensor_slices(tf.sparse.eye(3)).unbatch()
    with pytest.raises(ValueError, match="rank >= 1"):
        scalars.interleave(lambda x: D.from_tensor_slices(x))


def test_padded_shapes_that_are_no_vectors_of_integers():
    for shape in ("a", [1.5]):
        with pytest.raises(TypeError, match="element type"):
            D.range(9).padded_batch(5, padded_shapes=tf.constant(shape))
    with pytest.raises(ValueError, match="1-D"):
        D.from_tensors([1]).padded_batch(5, padded_shapes=tf.constant(5))
