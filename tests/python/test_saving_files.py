"""Keras's saving functions under Tandem: files appear whole, links and modes stay, backups survive damage."""

import io
import json
import os
import pathlib
import stat
import tempfile
import threading
import warnings

import numpy as np
import pytest
import tandem as tf
from tandem import keras


def model_of(value, units=3):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    model.compile(keras.optimizers.SGD(), "mse")
    fill(model, value)
    return model


def fill(model, value):
    for variable in model.weights:
        variable.assign(np.full(variable.shape, value, np.float32))


def value_of(model):
    return {float(v) for array in model.get_weights() for v in np.unique(array)}


SAVES = {
    "m.keras": (lambda model, path: model.save(path), lambda path: keras.models.load_model(path)),
    "m.h5": (lambda model, path: model.save(path), lambda path: keras.models.load_model(path, compile=False)),
    "m.weights.h5": (lambda model, path: model.save_weights(path), lambda path: with_weights(path)),
    "m.weights.json": (lambda model, path: model.save_weights(path, max_shard_size=1), lambda path: with_weights(path)),
}


def with_weights(path):
    model = model_of(-1)
    model.load_weights(path)
    return model


@pytest.mark.parametrize("name", SAVES)
def test_links_and_modes_stay(tmp_path, name):
    save, load = SAVES[name]
    real, link = tmp_path / "real" / name, tmp_path / name
    real.parent.mkdir()
    save(model_of(1), real)
    os.chmod(real, 0o640)
    save(model_of(2), str(real))
    assert stat.S_IMODE(real.stat().st_mode) == 0o640 or name.endswith(".json")
    assert value_of(load(real)) == {2.0}
    link.symlink_to(real)
    if not name.endswith(".json"):
        save(model_of(3), link)
        assert link.is_symlink() and value_of(load(real)) == {3.0}
    assert not [p for p in tmp_path.rglob(".*")]


@pytest.mark.parametrize("name", SAVES)
def test_a_save_that_fails_leaves_the_old_file(tmp_path, name, monkeypatch):
    save, load = SAVES[name]
    path = tmp_path / name
    save(model_of(1), path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    model = model_of(2)

    class Broken(keras.layers.Dense):
        def save_own_variables(self, store):
            super().save_own_variables(store)
            raise RuntimeError("in the middle")

        @property
        def trainable_weights(self):
            raise RuntimeError("in the middle")

        weights = trainable_weights

    model.layers[0].__class__ = Broken
    with pytest.raises(RuntimeError, match="in the middle"):
        save(model, path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    assert value_of(load(path)) == {1.0}


def test_errors_are_keras_own(tmp_path):
    model = model_of(1)
    with pytest.raises(FileNotFoundError, match="nowhere/m.keras"):
        model.save(tmp_path / "nowhere/m.keras")
    with pytest.raises(ValueError, match=r"must end in `\.weights\.h5`"):
        model.save_weights(tmp_path / "x")
    (tmp_path / "d.keras").mkdir()
    with pytest.raises(IsADirectoryError):
        model.save(tmp_path / "d.keras")
    with pytest.raises(OSError, match="is a directory|Is a directory|directory"):
        keras.callbacks.ModelCheckpoint(str(tmp_path / "d.keras")).set_model(model)
        callback = keras.callbacks.ModelCheckpoint(str(tmp_path / "d.keras"))
        callback.set_model(model)
        callback.on_epoch_end(0, {})
    model.save(tmp_path / "new/folder/m.h5")  # Keras makes folders for this form
    assert value_of(SAVES["m.h5"][1](tmp_path / "new/folder/m.h5")) == {1.0}


def test_file_objects_and_folders(tmp_path):
    stream = io.BytesIO()
    keras.saving.save_model(model_of(1), tmp_path / "m", zipped=False)
    assert sorted(p.name for p in (tmp_path / "m").iterdir() if p.is_file()) == [
        "config.json", "metadata.json", "model.weights.h5"
    ]  # fmt: skip
    assert value_of(keras.saving.load_model(tmp_path / "m")) == {1.0}
    from keras.src.saving import saving_lib

    saving_lib.save_model(model_of(2), stream)
    stream.seek(0)
    assert value_of(saving_lib.load_model(stream)) == {2.0}


def test_names_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, (save, load) in SAVES.items():
        save(model_of(4), name)
        assert value_of(load(name)) == {4.0}
    assert not [p for p in tmp_path.rglob(".*")]


def test_shards_over_shards(tmp_path):
    path = tmp_path / "m.weights.json"

    def big(value):
        model = keras.Sequential([keras.Input((8,)), *[keras.layers.Dense(8) for _ in range(4)]])
        fill(model, value)
        return model

    for value, size in [(1, 5e-7), (2, 5e-7), (3, 1e-6), (4, 1), (5, 5e-7)]:
        big(value).save_weights(path, max_shard_size=size)
        again = big(-1)
        again.load_weights(path)
        assert value_of(again) == {float(value)}
        entries = json.loads(path.read_text())["weight_map"].values()
        named = {f for entry in entries for f in (entry if isinstance(entry, list) else [entry])}
        there = {p.name for p in tmp_path.iterdir()} - {path.name}
        assert named <= there and len(there - named) <= 1, "shards that nothing names are removed"


@pytest.fixture
def open_folder():
    """A folder that other users can get to: pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        if not all(parent.stat().st_mode & 0o001 for parent in pathlib.Path(folder).resolve().parents):
            pytest.skip(f"other users cannot get to {tempfile.gettempdir()}")
        yield folder


def test_files_and_folders_that_must_not_be_written(run_python, open_folder):
    """As root, who may write everything, in a process that becomes another user."""
    status, out, err = run_python(f"""
        import glob, os  # the other user may not be allowed to read Python's own files
        import tandem as tf
        from tandem import keras

        folder = {open_folder!r}
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.save(folder + "/loads-what-saving-needs.keras")
        keras.models.load_model(folder + "/loads-what-saving-needs.keras")
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)

        def refused(work, kind):
            try:
                work()
            except kind as error:
                assert ".tandem-new-" not in str(error), error
                return
            raise AssertionError("it was written")

        path = folder + "/m.keras"
        model.save(path)
        before = open(path, "rb").read()
        os.chmod(path, 0o440)
        refused(lambda: model.save(path), PermissionError)
        assert open(path, "rb").read() == before
        inner = folder + "/inner"
        os.mkdir(inner)
        model.save(inner + "/m.keras")
        os.chmod(inner, 0o555)
        model.save(inner + "/m.keras")  # the file may be written, if not its folder
        keras.models.load_model(inner + "/m.keras")
        refused(lambda: model.save(inner + "/new.keras"), PermissionError)
        refused(lambda: tf.train.Checkpoint(v=tf.Variable(1)).write(inner + "/ck"), tf.errors.PermissionDeniedError)
        refused(lambda: tf.data.Dataset.range(2).save(inner), tf.errors.PermissionDeniedError)
        os.chmod(inner, 0o755)
    """)
    assert status == 0, err


# ---- Backups


def backup(folder, model, **options):
    callback = keras.callbacks.BackupAndRestore(str(folder), **options)
    callback.set_model(model)
    return callback


def saved(folder, *epochs, **options):
    model = model_of(0)
    callback = backup(folder, model, **options)
    for epoch in epochs:
        fill(model, epoch)
        callback.on_epoch_end(epoch - 1)
    return callback


def restored(folder):
    """(values, epoch, warnings)."""
    model = model_of(-1)
    model._initial_epoch = 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        backup(folder, model).on_train_begin()
    return value_of(model), model._initial_epoch, [str(w.message) for w in said if "BackupAndRestore" in str(w.message)]


WEIGHTS, METADATA = "latest.weights.h5", "training_metadata.json"


def damages(data):
    yield b""
    yield data[: len(data) // 2]
    yield data[:-1]
    yield b"\xff" * len(data)
    yield bytes([*data[: len(data) // 2], data[len(data) // 2] ^ 1, *data[len(data) // 2 + 1 :]])


@pytest.mark.parametrize("name", [WEIGHTS, METADATA])
def test_a_damaged_backup_falls_back_to_the_one_before(tmp_path, name):
    saved(tmp_path / "b", 1, 2)
    assert restored(tmp_path / "b") == ({2.0}, 2, [])
    path = tmp_path / "b" / name
    good = {p: p.read_bytes() for p in (tmp_path / "b").iterdir()}
    for bad in damages(good[path]):
        path.write_bytes(bad)
        values, epoch, said = restored(tmp_path / "b")
        assert (values, epoch) == ({1.0}, 1) and len(said) == 1 and "the one before" in said[0]
        assert restored(tmp_path / "b") == ({1.0}, 1, []), "it is the newest now"
        for p, data in good.items():
            p.write_bytes(data)
    path.unlink()
    assert restored(tmp_path / "b")[:2] == ({1.0}, 1)


def test_nothing_but_damage_starts_anew(tmp_path):
    saved(tmp_path / "b", 1, 2)
    for path in (tmp_path / "b").iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    values, epoch, said = restored(tmp_path / "b")
    assert (values, epoch) == ({-1.0}, 0) and len(said) == 1 and "starts anew" in said[0]
    saved(tmp_path / "b", 5)
    assert restored(tmp_path / "b") == ({5.0}, 5, [])


def test_a_damaged_backup_does_not_push_a_whole_one_out(tmp_path):
    saved(tmp_path / "b", 1, 2)
    (tmp_path / "b" / WEIGHTS).write_bytes(b"damaged")
    saved(tmp_path / "b", 3)
    (tmp_path / "b" / WEIGHTS).write_bytes(b"damaged again")
    assert restored(tmp_path / "b")[:2] == ({1.0}, 1)


def test_weights_and_epoch_of_two_backups_are_not_mixed(tmp_path):
    saved(tmp_path / "a", 1)
    saved(tmp_path / "b", 1, 2)
    other = (tmp_path / "a" / WEIGHTS).read_bytes()
    (tmp_path / "b" / WEIGHTS).write_bytes(other)
    assert restored(tmp_path / "b")[:2] == ({1.0}, 1)


def test_a_backup_of_keras_itself_is_restored(tmp_path):
    folder = tmp_path / "b"
    folder.mkdir()
    model_of(7).save_weights(folder / WEIGHTS)
    (folder / METADATA).write_text(json.dumps({"epoch": 7, "batch": 0}))
    assert restored(folder) == ({7.0}, 7, [])
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-500])
    assert restored(folder)[:2] == ({-1.0}, 0)


def test_a_backup_of_another_model_says_so(tmp_path):
    saved(tmp_path / "b", 1)
    model = model_of(0, units=5)
    with pytest.raises(ValueError, match="shape"):
        backup(tmp_path / "b", model).on_train_begin()


def test_training_goes_on_and_removes_its_backup(tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 3:
                raise RuntimeError("stop")

    x, y = np.zeros((8, 2), np.float32), np.ones((8, 3), np.float32)
    model = model_of(0)
    kept = keras.callbacks.BackupAndRestore(str(tmp_path / "b"), double_checkpoint=True)
    with pytest.raises(RuntimeError, match="stop"):
        model.fit(x, y, epochs=5, verbose=0, callbacks=[kept, Stop()])
    assert sorted(os.listdir(tmp_path / "b")) == [WEIGHTS, WEIGHTS + ".bkp", METADATA, METADATA + ".bkp"]
    again = model_of(9)
    history = again.fit(x, y, epochs=5, verbose=0, callbacks=[keras.callbacks.BackupAndRestore(str(tmp_path / "b"))])
    assert history.epoch == [3, 4]
    assert os.listdir(tmp_path) == []


# ---- Saved models and datasets over others


class Served(tf.Module):
    def __init__(self, value, functions, folder):
        super().__init__()
        self.v = tf.Variable(float(value))
        for number in range(functions):
            setattr(self, f"f{number}", tf.function(lambda x: x + self.v, input_signature=[tf.TensorSpec([])]))
        words = pathlib.Path(folder) / f"words{value}"
        words.write_text(str(value))
        self.words = tf.saved_model.Asset(str(words))


def test_models_over_models_leave_nothing(tmp_path):
    folder = tmp_path / "m"
    for value, functions in [(1, 3), (2, 1), (3, 4), (4, 0)]:
        tf.saved_model.save(Served(value, functions, tmp_path), folder)
        (folder / "README").write_text("the user's own")
        loaded = tf.saved_model.load(folder)
        assert loaded.v.numpy() == value and pathlib.Path(loaded.words.asset_path.numpy().decode()).read_text() == str(value)
        assert all(getattr(loaded, f"f{n}")(tf.constant(1.0)).numpy() == value + 1 for n in range(functions))
        files = [p.relative_to(folder).parts for p in folder.rglob("*") if p.is_file()]
        assert len(files) == 1 + 1 + functions + 2 + 1, files
        other = tf.Module()
        other.v = tf.Variable(0.0)
        tf.train.Checkpoint(other).restore(folder).expect_partial()
        assert other.v.numpy() == value
    assert (folder / "README").read_text() == "the user's own"


def test_a_loaded_model_saved_over_itself(tmp_path):
    folder = tmp_path / "m"
    tf.saved_model.save(Served(1, 1, tmp_path), folder)
    loaded = tf.saved_model.load(folder)
    for _ in range(3):
        tf.saved_model.save(loaded, folder)
        assert pathlib.Path(loaded.words.asset_path.numpy().decode()).read_text() == "1"
        again = tf.saved_model.load(folder)
        assert pathlib.Path(again.words.asset_path.numpy().decode()).read_text() == "1"
        assert again.f0(tf.constant(1.0)).numpy() == 2.0


def test_a_model_is_loaded_while_it_is_saved_over(tmp_path):
    folder = tmp_path / "m"
    tf.saved_model.save(Served(1, 1, tmp_path), folder)
    done = threading.Event()
    problems = []

    def save():
        try:
            value = 1
            while not done.is_set():
                value += 1
                tf.saved_model.save(Served(value, value % 3, tmp_path), folder)
        except Exception as error:  # noqa: BLE001
            problems.append(error)

    saver = threading.Thread(target=save)
    saver.start()
    values = set()
    try:
        while len(values) < 6 and saver.is_alive():
            loaded = tf.saved_model.load(folder)
            value = int(loaded.v.numpy())
            values.add(value)
            found = [n for n in range(3) if hasattr(loaded, f"f{n}")]
            assert value == 1 or found == list(range(value % 3))
            assert all(getattr(loaded, f"f{n}")(tf.constant(0.5)).numpy() == value + 0.5 for n in found)
    finally:
        done.set()
        saver.join()
    assert not problems and len(values) == 6


def test_names_of_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tf.saved_model.save(Served(1, 1, tmp_path), "m")
    for name in ("m", "m/", "./m", tmp_path / "m"):
        assert tf.saved_model.load(name).v.numpy() == 1
    tf.data.Dataset.range(3).save("d/")
    for name in ("d", "d/", "./d", str(tmp_path / "d")):
        assert list(tf.data.Dataset.load(name).as_numpy_iterator()) == [0, 1, 2]


def test_a_renamed_checkpoint_is_read(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(3)).write(tmp_path / "ck")
    for end in (".index", ".data-00000-of-00001"):
        os.rename(path + end, str(tmp_path / "best") + end)
    assert tf.train.load_variable(str(tmp_path / "best"), "v/.ATTRIBUTES/VARIABLE_VALUE") == 3
