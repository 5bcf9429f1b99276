"""tf.train.Checkpoint and its relatives: what is saved comes back, and what is broken says so."""

import gc
import logging
import os
import threading

import ml_dtypes
import numpy as np
import pytest
import tandem as tf


class Net(tf.Module):
    """Variables in attributes, lists, tuples and dicts."""

    def __init__(self, start):
        super().__init__()
        self.w = tf.Variable([[start, 2.0]], name="w")
        self.layers = [tf.Variable(start + 1), (tf.Variable(start + 2), tf.Variable(start + 3))]
        self.named = {"a/b": tf.Variable(start + 4), "c": {"d": tf.Variable(start + 5)}}
        self.text = tf.Variable(["one", f"start {start}"])

    def values(self):
        return [v.numpy().tolist() for v in self.variables]


def test_everything_that_hangs_on_the_root_is_restored(tmp_path):
    saved, other = Net(1.0), Net(100.0)
    path = tf.train.Checkpoint(net=saved, step=tf.Variable(7)).save(tmp_path / "ck")
    step = tf.Variable(0)
    status = tf.train.Checkpoint(net=other, step=step).restore(path)
    status.assert_consumed()
    assert other.values() == saved.values() and step.numpy() == 7


def test_keys_and_files_have_tensorflows_names(tmp_path):
    path = tf.train.Checkpoint(net=Net(1.0), step=tf.Variable(7)).save(tmp_path / "ck")
    assert path == str(tmp_path / "ck-1")
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ck-1.data-00000-of-00001", "ck-1.index"]
    assert dict(tf.train.list_variables(path)) == {
        "_CHECKPOINTABLE_OBJECT_GRAPH": [],
        "net/layers/0/.ATTRIBUTES/VARIABLE_VALUE": [],
        "net/layers/1/0/.ATTRIBUTES/VARIABLE_VALUE": [],
        "net/layers/1/1/.ATTRIBUTES/VARIABLE_VALUE": [],
        "net/named/a.Sb/.ATTRIBUTES/VARIABLE_VALUE": [],
        "net/named/c/d/.ATTRIBUTES/VARIABLE_VALUE": [],
        "net/text/.ATTRIBUTES/VARIABLE_VALUE": [2],
        "net/w/.ATTRIBUTES/VARIABLE_VALUE": [1, 2],
        "save_counter/.ATTRIBUTES/VARIABLE_VALUE": [],
        "step/.ATTRIBUTES/VARIABLE_VALUE": [],
    }
    text = (tmp_path / "checkpoint").read_text().splitlines()
    assert text[:2] == ['model_checkpoint_path: "ck-1"', 'all_model_checkpoint_paths: "ck-1"']


@pytest.mark.parametrize(
    "value",
    [
        np.array([True, False]), np.int8([-3]), np.int16([[5]]), np.int32(6), np.int64([7, 8]), np.uint8([255]),
        np.uint16([65535]), np.uint32([1]), np.uint64([2**63]), np.float16([0.5]), np.float64([1e300, np.nan]),
        np.array([0.5, -2], ml_dtypes.bfloat16), np.complex64([1 + 2j]), np.complex128([3j]), np.zeros((0, 3), np.float32),
        np.array([b"", b"\x00\xff", "ä".encode()], object),
    ],
    ids=lambda v: str(v.dtype) + str(v.shape),
)  # fmt: skip
def test_every_dtype_comes_back_to_the_bit(tmp_path, value):
    variable = tf.Variable(tf.constant(value))
    path = tf.train.Checkpoint(v=variable).write(tmp_path / "ck")
    other = tf.Variable(tf.zeros_like(variable) if value.dtype != object else tf.constant(["", "", "x"]))
    tf.train.Checkpoint(v=other).read(path).assert_consumed()
    assert other.dtype == variable.dtype
    if value.dtype == object:
        assert other.numpy().tolist() == value.tolist()
    else:
        assert other.numpy().tobytes() == variable.numpy().tobytes()


def test_objects_made_after_restore_get_their_values(tmp_path):
    saved = tf.train.Checkpoint(net=Net(1.0))
    path = saved.save(tmp_path / "ck")
    later = tf.train.Checkpoint()
    status = later.restore(path)
    with pytest.raises(AssertionError, match="net/w"):
        status.assert_consumed()
    later.net = tf.Module()
    later.net.w = tf.Variable([[0.0, 0.0]])
    assert later.net.w.numpy().tolist() == [[1.0, 2.0]]
    later.net.layers = [tf.Variable(0.0), (tf.Variable(0.0), tf.Variable(0.0))]
    assert [later.net.layers[0].numpy(), later.net.layers[1][1].numpy()] == [2.0, 4.0]


def test_what_is_appended_to_a_list_is_restored_when_the_status_is_asked(tmp_path):
    module = tf.Module()
    module.items = [tf.Variable(1.0), tf.Variable(2.0)]
    path = tf.train.Checkpoint(m=module).write(tmp_path / "ck")
    other = tf.Module()
    other.items = [tf.Variable(0.0)]
    status = tf.train.Checkpoint(m=other).read(path)
    other.items.append(tf.Variable(0.0))
    status.assert_consumed()
    assert [v.numpy() for v in other.items] == [1.0, 2.0]


def test_a_shared_object_is_stored_once(tmp_path):
    shared = tf.Variable(5.0)
    path = tf.train.Checkpoint(a=shared, b=[shared]).write(tmp_path / "ck")
    assert len(tf.train.list_variables(path)) == 2  # the value and the graph
    other = tf.Variable(0.0)
    tf.train.Checkpoint(b=[other]).read(path).assert_existing_objects_matched()
    assert other.numpy() == 5.0


def test_root_object_gives_its_own_names(tmp_path):
    net, other = Net(1.0), Net(9.0)
    path = tf.train.Checkpoint(net, extra=tf.Variable(3)).save(tmp_path / "ck")
    assert "w/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(path))
    tf.train.Checkpoint(other).restore(path).assert_existing_objects_matched()
    assert other.values() == net.values()
    with pytest.raises(ValueError, match="root.w already exists"):
        tf.train.Checkpoint(net, w=tf.Variable(1))


@pytest.mark.parametrize("make", [tf.Variable, lambda value: tf.keras.Variable(value)], ids=["variable", "of Keras"])
def test_a_variable_as_root(tmp_path, make):
    """Its own value was not stored, and assert_consumed() passed."""
    variable, step = make(5.0), tf.Variable(1)
    path = tf.train.Checkpoint(variable, step=step).save(tmp_path / "ck")
    names = [name for name, _ in tf.train.list_variables(path)]
    assert ".ATTRIBUTES/VARIABLE_VALUE" in names and "step/.ATTRIBUTES/VARIABLE_VALUE" in names
    variable.assign(0.0)
    tf.train.Checkpoint(variable, step=step).restore(path).assert_consumed()
    assert variable.numpy() == 5.0
    other = tf.train.Checkpoint(make(0.0), step=tf.Variable(2))
    other.restore(path).assert_consumed()
    assert other._root.numpy() == 5.0 and other.step.numpy() == 1
    # A root without a value has no place for this one.
    with pytest.raises(AssertionError, match="VARIABLE_VALUE"):
        tf.train.Checkpoint(tf.Module(), step=tf.Variable(2)).restore(path).assert_consumed()


def test_a_variable_and_a_checkpoint_of_it(tmp_path):
    """Both are objects of the graph, and assert_consumed() missed the variable."""
    variable = tf.Variable(5.0)
    checkpoint = tf.train.Checkpoint(a=tf.train.Checkpoint(variable), b=variable)
    path = checkpoint.save(tmp_path / "ck")
    variable.assign(0.0)
    checkpoint.restore(path).assert_consumed()
    assert variable.numpy() == 5.0


def a_table(kind, key_dtype="string", value_dtype="float32", **options):
    if kind == "dense":
        special = ("", "gone") if key_dtype == "string" else (-1, -2)
        return tf.lookup.experimental.DenseHashTable(key_dtype, value_dtype, 0, *special, **options)
    return tf.lookup.experimental.MutableHashTable(key_dtype, value_dtype, 0, **options)


def entries(table):
    return dict(zip(*(part.numpy().tolist() for part in table.export())))


@pytest.mark.parametrize("kind", ["mutable", "dense"])
@pytest.mark.parametrize("key_dtype", ["string", "int64", "int32"])
def test_tables(tmp_path, kind, key_dtype):
    """Entries were not stored, and assert_consumed() passed."""
    keys = ["a", "b"] if key_dtype == "string" else [3, 4]
    table = a_table(kind, key_dtype)
    look_up = tf.function(lambda: table.lookup(tf.constant(keys, key_dtype)))
    checkpoint = tf.train.Checkpoint(table=table)
    empty = checkpoint.save(tmp_path / "ck")
    table.insert(tf.constant(keys[:1], key_dtype), [1.0])
    one = checkpoint.save(tmp_path / "ck")
    stored = dict(tf.train.list_variables(one))
    assert stored["table/.ATTRIBUTES/-keys"] == [1] and stored["table/.ATTRIBUTES/-values"] == [1]
    table.insert(tf.constant(keys, key_dtype), [9.0, 8.0])
    assert look_up().numpy().tolist() == [9.0, 8.0]
    checkpoint.restore(one).assert_consumed()
    assert look_up().numpy().tolist() == [1.0, 0.0] and table.size() == 1
    other = a_table(kind, key_dtype)
    tf.train.Checkpoint(table=other).restore(one).assert_consumed()
    assert list(entries(other).values()) == [1.0]
    checkpoint.restore(empty).assert_consumed()
    assert table.size() == 0


def test_tables_that_do_not_fit(tmp_path):
    table = a_table("mutable")
    table.insert("a", 1.0)
    path = tf.train.Checkpoint(table=table).write(tmp_path / "ck")
    for other in (a_table("mutable", "int64"), a_table("mutable", "string", "int64")):
        key = "x" if other.key_dtype == "string" else 7
        other.insert(tf.constant(key, other.key_dtype), tf.constant(5, other.value_dtype))
        before = entries(other)
        with pytest.raises(tf.errors.InvalidArgumentError, match="are not those of a table"):
            tf.train.Checkpoint(table=other).restore(path)
        assert entries(other) == before
    left_out = a_table("mutable", checkpoint=False)
    left_out.insert("a", 1.0)
    path = tf.train.Checkpoint(table=left_out).write(tmp_path / "none")
    assert [name for name, _ in tf.train.list_variables(path)] == ["_CHECKPOINTABLE_OBJECT_GRAPH"]


def test_status_says_what_does_not_fit(tmp_path, caplog):
    path = tf.train.Checkpoint(a=tf.Variable(1), b=tf.Variable(2)).save(tmp_path / "ck")
    status = tf.train.Checkpoint(a=tf.Variable(0), other=tf.Variable(0)).restore(path)
    with pytest.raises(AssertionError, match="1 Python objects that were not bound"):
        status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="b/.ATTRIBUTES"):
        status.assert_consumed()
    with pytest.raises(AssertionError, match="Nothing except the root"):
        tf.train.Checkpoint(c=tf.Variable(0)).restore(path).expect_partial().assert_nontrivial_match()
    caplog.clear()
    with caplog.at_level(logging.WARNING, "tensorflow"):
        holder = tf.train.Checkpoint(a=tf.Variable(0))
        status = holder.restore(path)
        del status, holder
        gc.collect()
    assert "b/.ATTRIBUTES/VARIABLE_VALUE" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, "tensorflow"):
        holder = tf.train.Checkpoint(a=tf.Variable(0))
        holder.restore(path).expect_partial()
        del holder
        gc.collect()
    assert caplog.text == ""


def test_wrong_dtype_shape_and_kind_are_refused(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1)).save(tmp_path / "ck")
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected dtype float32"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).restore(path)
    with pytest.raises(ValueError, match="incompatible tensor with shape"):
        tf.train.Checkpoint(v=tf.Variable([1])).restore(path)
    with pytest.raises(ValueError, match="expecting x to be a trackable"):
        tf.train.Checkpoint(x=3)


def test_missing_and_damaged_files(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(np.arange(100.0))).save(tmp_path / "ck")
    target = tf.train.Checkpoint(v=tf.Variable(np.zeros(100)))
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        target.restore(tmp_path / "nowhere")
    with pytest.raises(tf.errors.NotFoundError, match="Key x not found"):
        tf.train.load_variable(path, "x")
    assert tf.train.latest_checkpoint(tmp_path / "nowhere") is None
    data = tmp_path / "ck-1.data-00000-of-00001"
    good = data.read_bytes()
    data.write_bytes(good[:200] + bytes([good[200] ^ 1]) + good[201:])
    with pytest.raises(tf.errors.DataLossError, match="checksum of 'v/"):
        target.restore(path)
    data.write_bytes(good[:-1])
    with pytest.raises(tf.errors.DataLossError, match="cut off"):
        target.restore(path)
    data.unlink()
    with pytest.raises(tf.errors.DataLossError, match="is not there"):
        target.restore(path)
    data.write_bytes(good)
    target.restore(path).assert_consumed()
    assert target.v.numpy()[99] == 99


def test_restore_none_keeps_values():
    checkpoint = tf.train.Checkpoint(v=tf.Variable(4))
    status = checkpoint.restore(None)
    status.initialize_or_restore()
    assert checkpoint.v.numpy() == 4 and checkpoint.save_counter.numpy() == 0
    with pytest.raises(AssertionError, match="save_path=None"):
        status.assert_consumed()


def test_save_counter_goes_on(tmp_path):
    first = tf.train.Checkpoint(v=tf.Variable(1))
    first.save(tmp_path / "ck")
    first.save(tmp_path / "ck")
    second = tf.train.Checkpoint(v=tf.Variable(0))
    second.restore(tf.train.latest_checkpoint(tmp_path))
    assert second.save(tmp_path / "ck") == str(tmp_path / "ck-3")


def test_reader(tmp_path):
    tf.train.Checkpoint(v=tf.Variable([1.5, 2.5]), t=tf.Variable("text")).save(tmp_path / "ck")
    reader = tf.train.load_checkpoint(tmp_path)
    key = "v/.ATTRIBUTES/VARIABLE_VALUE"
    assert reader.get_variable_to_shape_map()[key] == [2]
    assert reader.get_variable_to_dtype_map()[key] == tf.float32
    assert reader.has_tensor(key) and not reader.has_tensor("v")
    assert reader.get_tensor(key).tolist() == [1.5, 2.5]
    assert reader.get_tensor("t/.ATTRIBUTES/VARIABLE_VALUE") == b"text"
    assert tf.train.load_variable(tmp_path, key).tolist() == [1.5, 2.5]


def test_manager_keeps_the_newest(tmp_path):
    step = tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), tmp_path, max_to_keep=2)
    for _ in range(4):
        step.assign_add(10)
        path = manager.save()
    assert path == manager.latest_checkpoint == str(tmp_path / "ckpt-4")
    assert manager.checkpoints == [str(tmp_path / "ckpt-3"), str(tmp_path / "ckpt-4")]
    assert not [name for name in os.listdir(tmp_path) if "-1." in name or "-2." in name or "tmp" in name]
    again = tf.train.CheckpointManager(tf.train.Checkpoint(step=tf.Variable(0)), tmp_path, max_to_keep=2)
    assert again.checkpoints == manager.checkpoints
    assert again.restore_or_initialize() == path and again.checkpoint.step.numpy() == 40


def test_manager_interval_numbers_and_init(tmp_path):
    step, called = tf.Variable(0), []
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step), tmp_path / "new", max_to_keep=None, step_counter=step, checkpoint_interval=5,
        init_fn=lambda: called.append(1), checkpoint_name="run",
    )  # fmt: skip
    assert manager.restore_or_initialize() is None and called == [1]
    assert manager.save(checkpoint_number=step).endswith("run-0")
    step.assign(3)
    assert manager.save() is None
    assert manager.save(check_interval=False) is not None
    step.assign(8)
    assert manager.save(checkpoint_number=8).endswith("run-8")
    with pytest.raises(ValueError, match="step_counter"):
        tf.train.CheckpointManager(manager.checkpoint, tmp_path, 1, checkpoint_interval=3)


def test_asynchronous_save_takes_a_snapshot(tmp_path):
    variable = tf.Variable(np.zeros(1 << 20, np.float32))
    checkpoint = tf.train.Checkpoint(v=variable)
    written = []
    options = tf.train.CheckpointOptions(enable_async=True, experimental_write_callbacks=[written.append])
    path = checkpoint.save(tmp_path / "ck", options)
    variable.assign_add(np.ones(1 << 20, np.float32))
    checkpoint.sync()
    assert written == [path] and tf.train.latest_checkpoint(tmp_path) == path
    assert tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE").sum() == 0
    checkpoint.write("/proc/nowhere/ck", options)
    with pytest.raises(tf.errors.OpError):
        checkpoint.sync()


def test_a_reader_sees_whole_checkpoints_while_another_thread_saves(tmp_path):
    first, second = tf.Variable(np.zeros(5000)), tf.Variable(np.zeros(5000))
    checkpoint = tf.train.Checkpoint(a=first, b=second)
    prefix = str(tmp_path / "ck")
    checkpoint.write(prefix)
    stop = threading.Event()

    def save():
        while not stop.is_set():
            first.assign_add(np.ones(5000))
            second.assign(first)
            checkpoint.write(prefix)

    thread = threading.Thread(target=save)
    thread.start()
    try:
        for _ in range(60):
            reader = tf.train.load_checkpoint(prefix)
            a = reader.get_tensor("a/.ATTRIBUTES/VARIABLE_VALUE")
            b = reader.get_tensor("b/.ATTRIBUTES/VARIABLE_VALUE")
            assert (a == a[0]).all() and (a == b).all()
    finally:
        stop.set()
        thread.join()


def test_iterators_go_on_where_they_were(tmp_path):
    def shuffled():
        return tf.data.Dataset.range(20).shuffle(20).map(lambda x: x * 2).repeat(3).batch(2)

    dataset = shuffled()
    iterator = iter(dataset)
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0), iterator=iterator)
    taken = [next(iterator).numpy().tolist() for _ in range(14)]  # into the second of three passes
    path = checkpoint.save(str(tmp_path / "ck"))
    after = [next(iterator).numpy().tolist() for _ in range(6)]
    assert sorted(sum(taken[10:] + after, [])) == list(range(0, 40, 2))
    checkpoint.restore(path).assert_consumed()
    assert [next(iterator).numpy().tolist() for _ in range(6)] == after

    # Another dataset object, as in another process: the order is that of the checkpoint.
    other = iter(shuffled())
    tf.train.Checkpoint(step=tf.Variable(0), iterator=other).restore(path)
    rest = [b.numpy().tolist() for b in other]
    assert rest[:6] == after and len(taken) + len(rest) == 30

    @tf.function
    def step(it):
        return next(it)

    numbers = iter(tf.data.Dataset.range(10))
    checkpoint = tf.train.Checkpoint(iterator=numbers)
    assert [int(step(numbers)) for _ in range(3)] == [0, 1, 2]
    path = checkpoint.write(str(tmp_path / "in_function"))
    assert int(step(numbers)) == 3
    checkpoint.read(path)
    assert int(step(numbers)) == 3


def test_view_of_a_checkpoint(tmp_path):
    def objects():
        root = tf.train.Checkpoint(a=tf.Variable(1.0), inner=tf.train.Checkpoint(b=tf.Variable(2.0)))
        return root

    saved = objects()
    saved.extra = tf.Variable(3.0)
    path = saved.write(str(tmp_path / "ck"))
    view = tf.train.CheckpointView(path)
    assert set(view.children(view.root)) == {"a", "inner", "extra"}
    assert sorted(view.descendants()) == [0, 1, 2, 3, 4]
    mine = objects()
    mine.other = tf.Variable(4.0)
    matched, only_mine, only_stored = view.diff(mine)
    assert matched[mine.inner.b] == view.children(view.children(0)["inner"])["b"]
    assert only_mine == ["root.other"] and only_stored == ["root.extra"]
    assert view.match(mine)[mine.a] == view.children(0)["a"] and len(view.match(mine)) == 4


def test_python_state(tmp_path):
    class Position(tf.train.experimental.PythonState):
        def __init__(self):
            self.at = 0

        def serialize(self):
            return str(self.at)

        def deserialize(self, string_value):
            self.at = int(string_value)

    position, other = Position(), Position()
    position.at = 12
    path = tf.train.Checkpoint(p=position).save(tmp_path / "ck")
    tf.train.Checkpoint(p=other).restore(path).assert_consumed()
    assert other.at == 12


# ---- Keras ---------------------------------------------------------------------------------------------------


def make_model(built=True):
    layers = tf.keras.layers
    parts = [layers.Dense(4, activation="relu"), layers.BatchNormalization(), layers.Dense(1)]
    return tf.keras.Sequential([layers.Input((3,)), *parts] if built else parts)


def one_step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True)))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return float(loss)


def test_keras_model_and_optimizer_go_on_to_the_bit(tmp_path):
    x = tf.constant(np.random.default_rng(0).normal(size=(8, 3)), tf.float32)
    model, optimizer = make_model(), tf.keras.optimizers.Adam(0.1)
    for _ in range(3):
        one_step(model, optimizer, x)
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "ck")
    expected = [one_step(model, optimizer, x) for _ in range(3)]
    other, other_optimizer = make_model(), tf.keras.optimizers.Adam(0.3)
    other_optimizer.build(other.trainable_variables)
    status = tf.train.Checkpoint(model=other, optimizer=other_optimizer).restore(path)
    status.assert_existing_objects_matched()
    assert int(other_optimizer.iterations.numpy()) == 3
    assert [one_step(other, other_optimizer, x) for _ in range(3)] == expected


def test_an_unbuilt_keras_model_is_restored_when_it_is_built(tmp_path):
    x = tf.constant(np.random.default_rng(1).normal(size=(2, 3)), tf.float32)
    model, optimizer = make_model(False), tf.keras.optimizers.SGD(0.1, momentum=0.9)
    model(x)
    one_step(model, optimizer, x)
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "ck")
    other, other_optimizer = make_model(False), tf.keras.optimizers.SGD(0.5, momentum=0.9)
    status = tf.train.Checkpoint(model=other, optimizer=other_optimizer).restore(path)
    np.testing.assert_array_equal(other(x), model(x))
    other_optimizer.build(other.trainable_variables)
    status.assert_existing_objects_matched()
    for mine, theirs in zip(other_optimizer.variables, optimizer.variables):
        np.testing.assert_array_equal(mine, theirs)


def test_keras_files(tmp_path):
    x = np.random.default_rng(2).normal(size=(2, 3)).astype("float32")
    model = make_model()
    model.save_weights(tmp_path / "m.weights.h5")
    model.save(tmp_path / "m.keras")
    other = make_model()
    other.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_array_equal(other(x), model(x))
    np.testing.assert_array_equal(tf.keras.models.load_model(tmp_path / "m.keras")(x), model(x))
    small = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(3)])
    with pytest.raises(ValueError):
        small.load_weights(tmp_path / "m.weights.h5")
