"""TensorFlow 1's functions: those that only name their arguments otherwise, and those that do something else."""

import inspect

import numpy as np
import pytest

import tandem as tf
from tandem import _namespaces, _tables
from tandem.inside import older

v1 = tf.compat.v1
ENTRIES = [(module, entry.partition("(")[0], entry) for module, text in older.ARGUMENTS.items() for entry in older._entries(text)]


@pytest.mark.parametrize(("module", "name", "entry"), ENTRIES, ids=[f"{m.rpartition('.')[2]}.{n}" for m, n, _ in ENTRIES])
def test_each_argument_has_a_meaning(module, name, entry):
    """What TensorFlow 1 takes, today's function takes under that name or another, or it is said to have no effect."""
    function = older.find(module, name)
    target, *notes = entry.rpartition(") = ")[2].split()
    renamed = dict(note.split(">") for note in notes if ">" in note)
    dropped = {note[:-1] for note in notes if note.endswith("<")}
    wanted = set(inspect.signature(_namespaces.get(target)).parameters)
    mine = set(inspect.signature(function).parameters)
    assert {renamed.get(p, p) for p in mine - dropped} <= wanted
    assert {*renamed, *dropped} <= mine
    assert _tables.publics_of(module, name), "no public name is defined as this"


def check(value, wanted):
    np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-6)


X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


def test_older_names_of_arguments():
    check(v1.reduce_sum(X, reduction_indices=1, keep_dims=True), [[6], [15]])
    check(v1.reduce_max(X, 0), [4, 5, 6])
    check(v1.argmax(X, dimension=1), [2, 2])
    assert v1.argmax(X, 1, output_type=tf.int32).dtype == tf.int32
    check(v1.expand_dims([1, 2], dim=0), [[1, 2]])
    check(v1.transpose(X, None, "a_name"), X.T)
    check(v1.squeeze([[1.0]], squeeze_dims=[0]), [1])
    check(v1.gather(X, [1], None, "a_name", 1), [[2], [5]])
    check(v1.nn.softmax([[0.0, 0.0]], dim=-1), [[0.5, 0.5]])
    check(v1.cond(True, fn1=lambda: 1, fn2=lambda: 2), 1)
    check(v1.string_to_number(["3"]), [3])
    assert v1.shape(X, "a_name", tf.int64).dtype == tf.int64
    with pytest.raises(ValueError, match="the same argument"):
        v1.reduce_sum(X, axis=0, reduction_indices=1)
    with pytest.raises(TypeError):
        v1.reduce_sum(X, dimension=1)
    with pytest.raises(tf.errors.InvalidArgumentError):
        v1.assert_equal(1, 2, data=["why"])


def test_where_chooses_rows():
    check(v1.where([True, False], X, -X), [[1, 2, 3], [-4, -5, -6]])
    check(v1.where([[False, True]]), [[0, 1]])


def test_divisions_and_conversions():
    check(v1.div(7, 2), 3)
    check(v1.div(-7, 2), -4)
    check(v1.div(7.0, 2.0), 3.5)
    assert v1.to_float(1).dtype == tf.float32 and v1.to_int64(1.7).numpy() == 1
    check(v1.floor_div(7, 2), 3)


def test_constants_go_on_with_the_last_value():
    check(v1.constant([1, 2], shape=[2, 2]), [[1, 2], [2, 2]])
    check(v1.constant(3.0, shape=[2]), [3, 3])
    with pytest.raises((TypeError, ValueError)):
        tf.constant([1, 2], shape=[2, 2])


def test_labels_get_no_gradient():
    labels, logits = tf.constant([[0.5, 0.5]]), tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch([labels, logits])
        loss = v1.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    by_labels, by_logits = tape.gradient(loss, [labels, logits])
    assert by_labels is None and by_logits is not None


def test_dropout_by_what_is_kept():
    check(v1.nn.dropout(X, keep_prob=1.0), X)
    check(v1.nn.dropout(X, rate=0.0), X)
    with pytest.raises(ValueError, match="both"):
        v1.nn.dropout(X, keep_prob=1.0, rate=0.0)


def test_writes_to_variables():
    v = tf.Variable([1.0, 2.0, 3.0])
    check(v1.assign_add(v, [1.0, 1.0, 1.0]), [2, 3, 4])
    check(v1.scatter_add(v, [0, 2], [10.0, 10.0]), [12, 3, 14])
    check(v1.scatter_nd_update(v, [[1]], [0.0]), [12, 0, 14])
    check(v1.assign(v, [0.0, 0.0, 0.0]), [0, 0, 0])


def test_loops_of_one_variable():
    check(v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]), 3)
    check(tf.function(lambda: v1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)]))(), 3)
    a, b = v1.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j * 2), (tf.constant(0), tf.constant(1)))
    check([a, b], [3, 8])


def test_the_rest():
    check(v1.sparse_to_dense([1, 3], [4], 5), [0, 5, 0, 5])
    check(v1.clip_by_average_norm([3.0, 4.0], 1.0), np.array([3, 4]) * 2 / 5)
    check(v1.batch_gather([[1, 2], [3, 4]], [[1], [0]]), [[2], [3]])
    out, idx = v1.setdiff1d([1, 2, 3, 4], [2, 4])
    check(out, [1, 3]), check(idx, [0, 2])
    check(v1.nn.xw_plus_b(X, tf.ones([3, 1]), [1.0]), [[7], [16]])
    assert v1.multinomial([[0.0, 0.0]], 5).shape == (1, 5)
    check(v1.py_func(lambda x: x + 1, [1.0], tf.float64), 2)
    assert v1.errors.exception_type_from_error_code(5) is tf.errors.NotFoundError and tf.errors.NOT_FOUND == 5
    assert tf.saved_model.SERVING == "serve" and v1.saved_model.tag_constants.SERVING == "serve"
    assert next(v1.data.make_one_shot_iterator(tf.data.Dataset.range(2))).numpy() == 0
    assert v1.data.get_output_types(tf.data.Dataset.range(2)) == tf.int64


def test_files_by_their_older_names(tmp_path):
    folder = str(tmp_path / "a/b")
    v1.gfile.MakeDirs(folder)
    with v1.gfile.GFile(folder + "/c", "w") as file:
        file.write("text")
    v1.gfile.Copy(oldpath=folder + "/c", newpath=folder + "/d")
    assert sorted(v1.gfile.ListDirectory(folder)) == ["c", "d"] and v1.gfile.Exists(filename=folder + "/d")
    v1.gfile.DeleteRecursively(folder)
    assert not v1.gfile.IsDirectory(folder)


def test_the_log(caplog):
    v1.logging.set_verbosity(v1.logging.INFO)
    v1.logging.info("%d things", 3)
    v1.logging.log_first_n(v1.logging.WARN, "once", 1)
    v1.logging.log_first_n(v1.logging.WARN, "once", 1)
    assert [r.getMessage() for r in caplog.records] == ["3 things", "once"]
    assert v1.logging.get_verbosity() == v1.logging.INFO


def test_initializers():
    check(v1.zeros_initializer()([2]), [0, 0])
    check(v1.constant_initializer([1, 2])([3]), [1, 2, 2])
    assert v1.ones_initializer(dtype=tf.int32)([2]).dtype == tf.int32
    q = v1.orthogonal_initializer(seed=1)([3, 5]).numpy()
    check(np.round(q @ q.T, 5), np.eye(3))
    for make in (v1.glorot_uniform_initializer, v1.initializers.he_normal, v1.variance_scaling_initializer):
        drawn = make(seed=3)([64, 64]).numpy()
        fan = {"he_normal": 2 / 64}.get(make.__name__, 1 / 64)
        assert abs(drawn.std() - fan**0.5) < 0.01
    config = v1.truncated_normal_initializer(stddev=2.0, seed=7).get_config()
    assert config == {"mean": 0.0, "stddev": 2.0, "seed": 7, "dtype": "float32"}
    assert v1.truncated_normal_initializer.from_config(config).stddev == 2.0


def test_coordinated_threads():
    import threading

    coordinator = tf.train.Coordinator()
    calls = []

    def work(number):
        with coordinator.stop_on_exception():
            while not coordinator.should_stop():
                calls.append(number)
                if number == 1 and len(calls) > 10:
                    raise ValueError("enough")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    with pytest.raises(ValueError, match="enough"):
        coordinator.join(threads)
    assert coordinator.joined and not any(t.is_alive() for t in threads)

    coordinator = tf.train.Coordinator()
    coordinator.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    coordinator.join()  # the end of the data is no error


def test_there_is_no_tpu():
    for resolver in (tf.distribute.cluster_resolver.TPUClusterResolver, v1.distribute.cluster_resolver.TPUClusterResolver):
        with pytest.raises(ValueError, match="TPU"):
            resolver()


def test_waiting_for_devices():
    with tf.experimental.async_scope():
        x = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
    tf.test.experimental.sync_devices()
    assert x.numpy()[0, 0] == 64


def test_device_lib(run_python):
    """The most common way to ask which GPUs are used."""
    code = """
    from tensorflow.python.client import device_lib
    devices = device_lib.list_local_devices()
    print([d.name for d in devices if d.device_type == "GPU"], devices[0].name, devices[0].memory_limit > 0)
    """
    for gpus in (0, 2):
        status, out, err = run_python(code, gpus=gpus, arguments=["-m", "tandem", "run", "--quiet"])
        assert status == 0, err
        assert out == f"{[f'/device:GPU:{i}' for i in range(gpus)]} /device:CPU:0 True\n"


def test_variables_by_older_arguments():
    v = v1.Variable([1.0, 2.0], trainable=False, collections=["mine"], use_resource=True, name="v")
    assert type(v) is tf.Variable and not v.trainable and v.name == "v:0"
    assert v1.is_variable_initialized(v)


def test_checkpoints_of_a_weak_reference(tmp_path):
    import weakref

    module = tf.Module()
    module.v = tf.Variable(1.0)
    path = tf.train.Checkpoint(root=weakref.ref(module)).write(str(tmp_path / "c"))
    module.v.assign(2.0)
    tf.train.Checkpoint(module).read(path).assert_consumed()
    assert module.v.numpy() == 1
