"""Trainings whose results must be those of Keras on TensorFlow (tools/reference/make_fit_reference.py).

A case is a function of the modules keras and tf that returns numbers, strings, lists and dicts. Weights and
data are given; rows are not shuffled, so that every library sees the same batches.
"""

import warnings

import numpy as np


def data(rows, columns, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((rows, columns), np.float32), rng.integers(0, classes, rows)


def set_weights(model, seed=1):
    rng = np.random.default_rng(seed)
    model.set_weights([(rng.random(w.shape) - 0.5).astype(w.dtype) for w in model.get_weights()])


def small_model(keras, columns=6, classes=3, **options):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((columns,)),
            layers.Dense(5, activation="tanh", **options),
            layers.Dense(classes, activation="softmax"),
        ]
    )
    set_weights(model)
    return model


def compile_small(model, optimizer, **options):
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", **options)
    return model


def history(model, *args, **options):
    return model.fit(*args, shuffle=False, verbose=0, **options).history


def adam(keras, tf):
    x, y = data(22, 6)
    model = compile_small(small_model(keras), keras.optimizers.Adam(0.05), metrics=["accuracy"])
    trained = history(model, x, y, batch_size=4, epochs=3, validation_split=0.3)
    return {
        "history": trained,
        "evaluate": model.evaluate(x, y, batch_size=5, verbose=0),
        "as dict": model.evaluate(x, y, batch_size=5, verbose=0, return_dict=True),
        "predict": model.predict(x, batch_size=8, verbose=0).tolist(),
        "weights": [w.tolist() for w in model.get_weights()],
    }


def regularised_and_clipped(keras, tf):
    x, y = data(16, 6)
    model = small_model(keras, kernel_regularizer=keras.regularizers.L2(0.1), activity_regularizer="l1")
    optimizer = keras.optimizers.SGD(0.3, momentum=0.9, nesterov=True, global_clipnorm=0.5)
    return history(compile_small(model, optimizer), x, y, batch_size=4, epochs=3)


def average_and_accumulation(keras, tf):
    x, y = data(24, 6)
    optimizer = keras.optimizers.Adam(0.05, use_ema=True, ema_momentum=0.9, gradient_accumulation_steps=2)
    model = compile_small(small_model(keras), optimizer)
    return {
        "history": history(model, x, y, batch_size=4, epochs=2),
        "weights": [w.tolist() for w in model.get_weights()],
    }


def schedule_and_decay(keras, tf):
    x, y = data(24, 6)
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5, staircase=True)
    model = compile_small(small_model(keras), keras.optimizers.AdamW(schedule, weight_decay=0.1))
    return history(model, x, y, batch_size=4, epochs=2)


def rmsprop_by_name(keras, tf):
    x, y = data(16, 6)
    return history(compile_small(small_model(keras), "rmsprop", metrics=["acc"]), x, y, batch_size=8, epochs=2)


def weights_of_classes(keras, tf):
    x, y = data(18, 6)
    model = compile_small(small_model(keras), "sgd", weighted_metrics=["accuracy"])
    return history(model, x, y, batch_size=4, epochs=2, class_weight={0: 1.0, 1: 3.0, 2: 0.5})


def weights_of_samples(keras, tf):
    x, y = data(18, 6)
    weight = np.linspace(0, 2, 18, dtype=np.float32)
    model = compile_small(small_model(keras), "sgd", metrics=["accuracy"], weighted_metrics=["accuracy"])
    trained = history(model, x, y, sample_weight=weight, batch_size=4, epochs=2, validation_data=(x, y, weight))
    return {"history": trained, "evaluate": model.evaluate(x, y, sample_weight=weight, verbose=0)}


def several_outputs(keras, tf):
    x, y = data(20, 6)
    layers = keras.layers
    left, right = keras.Input((4,), name="left"), keras.Input((2,), name="right")
    hidden = layers.Dense(5, activation="relu")(layers.Concatenate()([left, right]))
    outputs = {
        "kind": layers.Dense(3, activation="softmax", name="kind")(hidden),
        "size": layers.Dense(1, name="size")(hidden),
    }
    model = keras.Model({"left": left, "right": right}, outputs)
    set_weights(model)
    model.compile(
        optimizer="sgd",
        loss={"kind": "sparse_categorical_crossentropy", "size": "mse"},
        loss_weights={"kind": 1.0, "size": 0.25},
        metrics={"kind": ["accuracy"], "size": ["mae"]},
    )
    inputs = {"left": x[:, :4], "right": x[:, 4:]}
    targets = {"kind": y, "size": x.sum(1, keepdims=True)}
    trained = history(model, inputs, targets, batch_size=8, epochs=2)
    predicted = model.predict(inputs, batch_size=8, verbose=0)
    return {"history": trained, "predict": {name: rows.tolist() for name, rows in predicted.items()}}


def own_train_step(keras, tf):
    x, y = data(20, 6)

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = small_model(keras)
            self.tracker = keras.metrics.Mean(name="seen")

        def call(self, x, training=False):
            return self.inner(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
                penalty = tf.add_n([tf.reduce_sum(v * v) for v in self.trainable_variables])
                whole = loss + 0.01 * penalty
            gradients = tape.gradient(whole, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            self.tracker.update_state(penalty)
            return {"loss": loss, "penalty": self.tracker.result(), "rows": tf.shape(x)[0]}

    model = Model()
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="sparse_categorical_crossentropy")
    return history(model, x, y, batch_size=8, epochs=3)


def batch_normalisation(keras, tf):
    rng = np.random.default_rng(3)
    x, y = rng.random((24, 8, 8, 2), np.float32), rng.integers(0, 3, 24)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 2)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3),
        ]
    )
    rng = np.random.default_rng(1)
    # Variances of the normalisation are not negative.
    model.set_weights([rng.random(w.shape).astype(w.dtype) for w in model.get_weights()])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss=loss, metrics=["accuracy"])
    return history(model, x, y, batch_size=8, epochs=3, validation_data=(x, y))


def steps_and_epochs(keras, tf):
    x, y = data(40, 6)
    model = compile_small(small_model(keras), "sgd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        going_on = history(model, x, y, batch_size=4, steps_per_epoch=3, epochs=5)
        late = history(model, x, y, batch_size=16, initial_epoch=2, epochs=4)
        frequent = history(
            model, x, y, batch_size=16, epochs=4, validation_data=(x, y), validation_freq=2, validation_steps=1
        )
    return {"going on": going_on, "late": late, "frequent": frequent}


def several_steps_per_execution(keras, tf):
    x, y = data(44, 6)
    model = compile_small(small_model(keras), "sgd", metrics=["accuracy"], steps_per_execution=3)
    trained = history(model, x, y, batch_size=4, epochs=2)
    return {
        "history": trained,
        "evaluate": model.evaluate(x, y, batch_size=4, verbose=0),
        "predict": model.predict(x, batch_size=4, verbose=0).tolist(),
    }


def python_batches(keras, tf):
    x, y = data(24, 6)

    def batches():
        while True:
            for begin in range(0, 24, 8):
                yield x[begin : begin + 8], y[begin : begin + 8]

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return x[8 * i : 8 * i + 8], y[8 * i : 8 * i + 8]

    model = compile_small(small_model(keras), "sgd")
    result = {"generator": model.fit(batches(), steps_per_epoch=3, epochs=2, verbose=0).history}
    result["dataset"] = history(model, Batches(), epochs=2)
    result["evaluate"] = model.evaluate(Batches(), verbose=0)
    return result


def single_batches(keras, tf):
    x, y = data(16, 6)
    model = compile_small(small_model(keras), "sgd", metrics=["accuracy"])
    return [
        model.train_on_batch(x[:8], y[:8]),
        model.train_on_batch(x[8:], y[8:], class_weight={0: 1.0, 1: 2.0, 2: 3.0}),
        model.train_on_batch(x[:5], y[:5], return_dict=True),
        model.test_on_batch(x, y, sample_weight=np.arange(16, dtype=np.float32)),
        model.predict_on_batch(x[:2]).tolist(),
    ]


def mixed_precision(keras, tf):
    x, y = data(24, 6)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(5, activation="tanh", dtype="mixed_float16"),
            layers.Dense(3, activation="softmax", dtype="float32"),
        ]
    )
    set_weights(model)
    inner = keras.optimizers.SGD(0.1)
    optimizer = keras.optimizers.LossScaleOptimizer(inner, initial_scale=64.0, dynamic_growth_steps=4)
    trained = history(compile_small(model, optimizer), x, y, batch_size=4, epochs=2)
    return {"history": trained, "scale": float(optimizer.dynamic_scale)}


# ---- Callbacks


def recorder(keras, events, stop_at=None):
    """A callback that writes down what is called, with the names of the logs."""

    class Recorder(keras.callbacks.Callback):
        pass

    def note(name):
        def hook(self, *args, logs=None):
            if args and isinstance(args[-1], dict):
                *args, logs = args
            args = [a for a in args if a is not None]
            events.append([name, *args, sorted(logs or {})])
            if stop_at == [name, *args]:
                self.model.stop_training = True

        return hook

    for mode in ("train", "test", "predict"):
        for when in ("begin", "end"):
            for what in (f"on_{mode}_{when}", f"on_{mode}_batch_{when}"):
                setattr(Recorder, what, note(what))
    for when in ("begin", "end"):
        setattr(Recorder, f"on_epoch_{when}", note(f"on_epoch_{when}"))
    return Recorder()


def order_of_hooks(keras, tf):
    x, y = data(20, 6)
    events = []
    model = compile_small(small_model(keras), "sgd", metrics=["accuracy"])
    callbacks = [recorder(keras, events)]
    model.fit(x, y, batch_size=8, epochs=2, validation_split=0.4, shuffle=False, verbose=0, callbacks=callbacks)
    model.evaluate(x, y, batch_size=8, verbose=0, callbacks=callbacks)
    model.predict(x, batch_size=8, verbose=0, callbacks=callbacks)
    return events


def hooks_of_a_generator(keras, tf):
    x, y = data(20, 6)
    events = []
    model = compile_small(small_model(keras), "sgd")

    def batches():
        for begin in range(0, 20, 8):
            yield x[begin : begin + 8], y[begin : begin + 8]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(batches(), epochs=1, verbose=0, callbacks=[recorder(keras, events)])
    return events


def hooks_of_executions(keras, tf):
    x, y = data(28, 6)
    events = []
    model = compile_small(small_model(keras), "sgd", steps_per_execution=2)
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0, callbacks=[recorder(keras, events)])
    return events


def stopping_at_a_batch(keras, tf):
    x, y = data(40, 6)
    events = []
    model = compile_small(small_model(keras), "sgd")
    callback = recorder(keras, events, stop_at=["on_train_batch_end", 2])
    model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0, callbacks=[callback])
    return {"events": events, "weights": [w.tolist() for w in model.get_weights()]}


def losses_at_batches(keras, tf):
    x, y = data(40, 6)
    losses = []
    model = compile_small(small_model(keras), keras.optimizers.SGD(0.5), metrics=["accuracy"])
    note = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: losses.append([batch, logs]))
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[note])
    return losses


def early_stopping_and_plateau(keras, tf):
    x, y = data(40, 6)
    model = compile_small(small_model(keras), keras.optimizers.SGD(20.0))
    callbacks = [
        keras.callbacks.EarlyStopping("loss", patience=3, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1),
    ]
    trained = history(model, x, y, batch_size=8, epochs=12, callbacks=callbacks)
    return {"history": trained, "weights": [w.tolist() for w in model.get_weights()]}


def not_a_number(keras, tf):
    x, y = data(40, 6)
    x[20] = np.nan
    model = compile_small(small_model(keras), "sgd")
    trained = history(model, x, y, batch_size=8, epochs=3, callbacks=[keras.callbacks.TerminateOnNaN()])
    return {"epochs": len(trained["loss"]), "steps": int(model.optimizer.iterations)}


def learning_rate_of_epochs(keras, tf):
    x, y = data(16, 6)
    model = compile_small(small_model(keras), keras.optimizers.SGD(1.0))
    callback = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
    return history(model, x, y, batch_size=4, epochs=3, callbacks=[callback])


CASES = {
    f.__name__: f
    for f in (
        adam,
        regularised_and_clipped,
        average_and_accumulation,
        schedule_and_decay,
        rmsprop_by_name,
        weights_of_classes,
        weights_of_samples,
        several_outputs,
        own_train_step,
        batch_normalisation,
        steps_and_epochs,
        several_steps_per_execution,
        python_batches,
        single_batches,
        mixed_precision,
        order_of_hooks,
        hooks_of_a_generator,
        hooks_of_executions,
        stopping_at_a_batch,
        losses_at_batches,
        early_stopping_and_plateau,
        not_a_number,
        learning_rate_of_epochs,
    )
}
