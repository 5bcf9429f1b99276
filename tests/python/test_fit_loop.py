"""The training loop: callbacks that Keras brings, the bar, errors and interruptions, devices and files."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import tandem as tf
from fit_cases import compile_small, data, set_weights, small_model


@pytest.fixture(scope="module")
def keras():
    return tf.keras


def trained_model(keras, **options):
    x, y = data(64, 6)
    model = compile_small(small_model(keras), "adam", metrics=["accuracy"], **options)
    model.fit(x, y, batch_size=8, verbose=0)
    return model, x, y


# ---- Callbacks that Keras brings


def test_checkpoints_by_batches(keras, tmp_path):
    x, y = data(80, 6)
    model = compile_small(small_model(keras), "sgd")
    callback = keras.callbacks.ModelCheckpoint(
        str(tmp_path / "{epoch}-{batch}.weights.h5"), save_weights_only=True, save_freq=7
    )
    model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, callbacks=[callback])
    saved = sorted(path.name for path in tmp_path.iterdir())
    # Steps 7, 14, 21 and 28 of thirty: batches are counted from 1 within an epoch of ten.
    assert saved == ["1-7.weights.h5", "2-4.weights.h5", "3-1.weights.h5", "3-8.weights.h5"]


def test_backup_restores_and_goes_on(keras, tmp_path):
    x, y = data(40, 6)

    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise RuntimeError("the machine went away")

    def backup():
        return keras.callbacks.BackupAndRestore(str(tmp_path / "backup"))

    model = compile_small(small_model(keras), "sgd")
    with pytest.raises(RuntimeError, match="went away"):
        model.fit(x, y, epochs=4, shuffle=False, verbose=0, callbacks=[backup(), Stop()])
    again = compile_small(small_model(keras), "sgd")
    trained = again.fit(x, y, epochs=4, shuffle=False, verbose=0, callbacks=[backup()])
    assert trained.epoch == [2, 3]
    whole = compile_small(small_model(keras), "sgd")
    whole.fit(x, y, epochs=4, shuffle=False, verbose=0)
    for mine, theirs in zip(again.get_weights(), whole.get_weights()):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_hooks_that_are_not_overridden_cost_no_call(keras, monkeypatch):
    """The loop asks Python as often as the bar is drawn, not for each batch."""
    from tandem.keras_backend import runners

    x, y = data(4000, 6)
    windows = []
    run = runners._Native.run

    def counted(self, executions, steps, hooks):
        ran = run(self, executions, steps, hooks)
        windows.append(ran[0])
        return ran

    monkeypatch.setattr(runners._Native, "run", counted)
    model = compile_small(small_model(keras), "sgd")

    class Epochs(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            pass

    model.fit(x, y, batch_size=1, callbacks=[Epochs(), keras.callbacks.TerminateOnNaN()])
    assert sum(windows) == 4000 and windows[0] == 1
    assert max(windows) > 10  # how many fit between two drawings is the machine's matter
    windows.clear()
    model.fit(x, y, batch_size=1, verbose=0)
    assert windows == [4000]


def test_progress_bar(keras, capsys):
    x, y = data(64, 6)
    model = compile_small(small_model(keras), "sgd", metrics=["accuracy"])
    model.fit(x, y, batch_size=8, epochs=2)
    printed = capsys.readouterr().out
    assert "Epoch 1/2" in printed and "Epoch 2/2" in printed
    assert "8/8" in printed and "accuracy: " in printed and "loss: " in printed
    model.fit(x, y, batch_size=8, verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 and lines[0].startswith("8/8 - ") and " - accuracy: 0." in lines[0]
    model.evaluate(x, y, batch_size=8)
    assert "8/8" in capsys.readouterr().out
    model.fit(x, y, verbose=0)
    assert capsys.readouterr().out == ""

    def batches():
        for begin in range(0, 64, 8):
            yield x[begin : begin + 8], y[begin : begin + 8]

    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(batches())
    assert "8/8" in capsys.readouterr().out


# ---- Errors and interruptions


def test_exception_in_a_callback(keras):
    x, y = data(64, 6)
    model = compile_small(small_model(keras), "sgd")

    class Fails(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                raise KeyError("from the callback")

    with pytest.raises(KeyError, match="from the callback"):
        model.fit(x, y, batch_size=8, verbose=0, callbacks=[Fails()])
    assert int(model.optimizer.iterations) == 4
    model.fit(x, y, batch_size=8, verbose=0)
    assert int(model.optimizer.iterations) == 12


def test_interrupt(keras):
    """Ctrl-C ends the loop between two steps; the model can be used and trained on."""
    x, y = data(4096, 6)
    model = compile_small(small_model(keras), "sgd")
    model.fit(x, y, batch_size=32, verbose=0)

    def interrupt():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, batch_size=1, epochs=100000, verbose=0)
    thread.join()
    before = int(model.optimizer.iterations)
    model.fit(x, y, batch_size=32, verbose=0)
    assert int(model.optimizer.iterations) == before + 128
    assert np.isfinite(model.predict(x, verbose=0)).all()


def test_bad_input(keras):
    x, y = data(32, 6)
    model = compile_small(small_model(keras), "sgd")
    with pytest.raises(ValueError, match="expected shape|incompatible"):
        model.fit(x[:, :5], y, verbose=0)
    with pytest.raises(ValueError, match="cardinality|same"):
        model.fit(x, y[:31], verbose=0)
    with pytest.raises(ValueError, match="compile"):
        small_model(keras).fit(x, y, verbose=0)
    with pytest.raises(ValueError, match="Unrecognized data type"):
        model.fit(object(), verbose=0)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(x, y, sample_weight=np.ones(32), class_weight={0: 1.0, 1: 1.0, 2: 1.0}, verbose=0)
    with pytest.raises(ValueError, match="not sufficient to split"):
        model.fit(x[:1], y[:1], validation_split=0.5, verbose=0)
    with pytest.raises(ValueError):
        model.fit(np.array([object()] * 4), y[:4], verbose=0)
    # A label that does not exist is an error of the step that meets it, and leaves the weights as they were.
    model.fit(x, y, verbose=0)
    before = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match="label"):
        model.fit(x, np.full(32, 9), verbose=0)
    for mine, theirs in zip(model.get_weights(), before):
        np.testing.assert_array_equal(mine, theirs)
    model.fit(x, y, verbose=0)


@pytest.mark.parametrize("gpus", [0, 1])
def test_a_bad_label_is_raised_whichever_batch_has_it(run_python, gpus):
    """A GPU finds it when the step runs; steps after it may go well."""
    code = """
        import numpy as np
        import tandem as tf

        model = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(3)])
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("sgd", loss, metrics=["accuracy"])
        x, y = np.ones((32, 6), np.float32), np.zeros(32, np.int64)
        model.fit(x, y, batch_size=8, verbose=0)
        for at in (0, 12, 31):
            bad = y.copy()
            bad[at] = 9
            for run in (model.fit, model.evaluate):
                try:
                    print(run(x, bad, batch_size=8, verbose=0, **({"shuffle": False} if run == model.fit else {})))
                except tf.errors.InvalidArgumentError as error:
                    print("label value of 9" in str(error))
        print(np.isfinite(model.fit(x, y, batch_size=8, verbose=0).history["loss"][0]))
    """
    status, out, err = run_python(code, gpus=gpus)
    assert (status, out.split()) == (0, ["True"] * 7), out + err


# ---- Devices and files


def test_device_scope(keras):
    with tf.device("/CPU:0"):
        model, x, y = trained_model(keras)
        assert model.evaluate(x, y, verbose=0)[0] > 0
    assert model.predict(x, verbose=0).shape == (64, 3)


def test_saved_models_go_on(keras, tmp_path):
    model, x, y = trained_model(keras)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    before = model.predict(x, verbose=0)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), before)
    again = [m.fit(x, y, batch_size=8, shuffle=False, verbose=0).history["loss"] for m in (model, loaded)]
    assert again[0] == pytest.approx(again[1], rel=1e-6)
    other = compile_small(small_model(keras), "adam", metrics=["accuracy"])
    set_weights(other, seed=9)
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other.predict(x, verbose=0), before)


def test_training_on_an_emulated_device(run_python):
    """Steps on a device that works asynchronously give what the CPU gives."""
    code = """
        import numpy as np
        import tandem as tf

        def train(device):
            rng = np.random.default_rng(0)
            x, y = rng.random((200, 6)).astype(np.float32), rng.integers(0, 3, 200)
            with tf.device(device):
                model = tf.keras.Sequential([
                    tf.keras.Input((6,)),
                    tf.keras.layers.Dense(5, activation="relu"),
                    tf.keras.layers.Dense(3, activation="softmax"),
                ])
                model.set_weights([rng.random(w.shape) for w in model.get_weights()])
                model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
                trained = model.fit(x, y, batch_size=16, epochs=3, verbose=0).history
                assert model.trainable_variables[0].value.device.endswith(device)
                return trained, model.predict(x, verbose=0)

        tf.keras.utils.set_random_seed(1)
        on_cpu, predicted = train("CPU:0")
        tf.keras.utils.set_random_seed(1)
        on_gpu, also = train("GPU:0")
        for name in on_cpu:
            np.testing.assert_allclose(on_cpu[name], on_gpu[name], rtol=1e-4)
        np.testing.assert_allclose(predicted, also, rtol=1e-4)
        print("same")
    """
    status, out, err = run_python(code, gpus=1)
    assert status == 0, err
    assert out == "same\n"
