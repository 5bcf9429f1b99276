"""However fit, evaluate and predict end: when control is back, the workers of their data have ended."""

import itertools
import os
import signal
import threading

import numpy as np
import pytest
import tandem as tf
from conftest import data_threads, until

keras = tf.keras
D = tf.data.Dataset
ROW = np.ones([2, 3], "float32"), np.ones([2, 1], "float32")


class Ending(Exception):
    pass


def endless():
    while True:
        yield ROW


def broken():
    yield ROW
    yield ROW
    raise Ending


SPEC = (tf.TensorSpec([2, 3]), tf.TensorSpec([2, 1]))
DATA = {
    "prefetch": lambda: D.from_tensors(ROW).repeat().prefetch(3),
    "parallel": lambda: D.from_tensors(ROW).repeat().map(lambda x, y: (x + 1.0, y), num_parallel_calls=2),
    "generator": lambda: D.from_generator(endless, output_signature=SPEC).prefetch(2),
    "ragged": lambda: D.from_tensors(ROW).repeat().map(
        lambda x, y: (tf.RaggedTensor.from_tensor(x), y), num_parallel_calls=2).prefetch(2),  # fmt: skip
}


class Act(keras.callbacks.Callback):
    """Does something after the third batch."""

    def __init__(self, act):
        super().__init__()
        self._act = act

    def _third(self, batch, logs=None):
        if batch == 2:
            self._act(self.model)

    on_train_batch_end = on_test_batch_end = on_predict_batch_end = _third


def model_of(eagerly=False):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x.to_tensor(shape=[2, 3]) if isinstance(x, tf.RaggedTensor) else x)

    model = Model()
    model.compile("sgd", "mse", run_eagerly=eagerly)
    return model


def fail(model):
    raise Ending


def interrupt(model):
    signal.raise_signal(signal.SIGINT)


def stop(model):
    model.stop_training = model.stop_evaluating = model.stop_predicting = True


def run(model, what, data, **options):
    """What is raised, which keeps the frames in which it was, or None."""
    try:
        if what == "validation":
            model.fit(*ROW, verbose=0, validation_data=data, validation_steps=options.pop("steps", None), **options)
        elif what == "fit":
            model.fit(data, verbose=0, steps_per_epoch=options.pop("steps", None), **options)
        else:
            getattr(model, what)(data.map(lambda x, y: x) if what == "predict" else data, verbose=0, **options)
    except (Ending, KeyboardInterrupt, tf.errors.OpError) as error:
        return error
    return None


WAYS = ["fit", "evaluate", "predict", "validation"]
ACTS = [fail, interrupt, stop]
# Short runs take some of all.
CASES = list(itertools.product(list(DATA), ACTS, WAYS, [False, True]))
CASES = CASES if os.environ.get("TANDEM_LONG_TESTS") == "1" else CASES[::7]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("data", "act", "what", "eagerly"), CASES)
def test_a_callback_ends_it(data, act, what, eagerly):
    kept = run(model_of(eagerly), what, DATA[data](), callbacks=[Act(act)])
    assert type(kept) is {fail: Ending, interrupt: KeyboardInterrupt, stop: type(None)}[act]
    assert until(lambda: not data_threads()), data_threads()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("data", "what"), list(zip(DATA, WAYS)))
def test_steps_of_data_without_an_end(data, what):
    model = model_of()
    assert run(model, what, DATA[data](), steps=4) is None
    assert until(lambda: not data_threads()), data_threads()
    if what == "fit":
        model.fit(DATA[data](), epochs=3, steps_per_epoch=2, verbose=0)
        assert until(lambda: not data_threads()), data_threads()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", WAYS)
def test_data_or_a_step_that_fails(what):
    kept = run(model_of(), what, D.from_generator(broken, output_signature=SPEC).prefetch(2))
    assert isinstance(kept, (Ending, tf.errors.OpError))
    assert until(lambda: not data_threads()), data_threads()

    class Picky(keras.Model):
        def call(self, x):
            with tf.control_dependencies([tf.debugging.assert_less(tf.reduce_sum(x), 0.0)]):
                return tf.identity(x[:, :1])

    model = Picky()
    model.compile("sgd", "mse")
    data = DATA["prefetch"]()
    if what != "validation":
        kept = run(model, what, data, steps=50)
        assert isinstance(kept, tf.errors.InvalidArgumentError)
        assert until(lambda: not data_threads()), data_threads()


class Items(keras.utils.PyDataset):
    """Counts what has begun and what has ended."""

    def __init__(self, broken_at=None):
        super().__init__(workers=2, max_queue_size=4)
        self.begun, self.ended, self._lock, self._broken_at = 0, 0, threading.Lock(), broken_at

    num_batches = 1000

    def __len__(self):
        return self.num_batches

    def __getitem__(self, i):
        with self._lock:
            self.begun += 1
        try:
            if i == self._broken_at:
                raise Ending
            return ROW
        finally:
            with self._lock:
                self.ended += 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("broken_at", [None, 4, 6], ids=["whole", "soon", "later"])
@pytest.mark.parametrize("act", ACTS)
def test_workers_of_a_python_dataset(act, broken_at):
    """Also when a batch that nobody has taken yet has failed."""
    items = Items(broken_at)
    try:
        model_of().fit(items, verbose=0, callbacks=[Act(act)])
    except (Ending, KeyboardInterrupt) as error:
        kept = error
    assert not [t.name for t in threading.enumerate() if t.name.startswith("Worker_")]
    assert items.begun == items.ended < 1000


def test_a_generator_goes_on_where_it_was_left():
    given = iter(endless())
    model = model_of()
    for _ in range(2):
        model.fit(given, steps_per_epoch=3, verbose=0)
    assert next(given) is ROW
