"""The trainer of Keras models: compile, fit, evaluate and predict on compiled steps and Tandem's loop.

What a step computes is Keras's: `train_step` and what it calls, or a model's own, is traced once. Keras's
trainer for TensorFlow is the base and supplies that; here is what runs it.
"""

import contextlib
import importlib
import warnings

from keras.src import callbacks as callbacks_module
from keras.src import optimizers as optimizers_module
from keras.src import tree
from keras.src.backend import config
from keras.src.trainers.data_adapters import array_slicing
from keras.src.trainers.data_adapters import data_adapter_utils
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs
from tandem import _core
from tandem.distribution.keras_step import over_replicas
from tandem.keras_backend.feed import Feed
from tandem.keras_backend.hooks import Hooks
from tandem.keras_backend.loop import EpochLoop
from tandem.keras_backend.step import EagerStep, StepFunction, read_logs

keras_trainer = importlib.import_module("keras.src.backend.tensorflow.trainer")


class TensorFlowTrainer(keras_trainer.TensorFlowTrainer):
    """What Keras models inherit compile, fit, evaluate and predict from."""

    # ---- Steps

    def _make_step(self, step, joins=False):
        strategy = self._distribute_strategy
        if strategy is not None and strategy.num_replicas_in_sync > 1:
            step = over_replicas(strategy, step, joins)
        make = EagerStep if self.run_eagerly else StepFunction
        return make(step, self.steps_per_execution, joins)

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = self._make_step(self.train_step)
        return self.train_function

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = self._make_step(self.test_step)
        return self.test_function

    def make_predict_function(self, force=False):
        if self.predict_function is None or force:
            self.predict_function = self._make_step(self.predict_step, joins=True)
        return self.predict_function

    # ---- Loops

    def _feed(self, **options):
        return Feed(steps_per_execution=self.steps_per_execution, **options)

    def _callback_list(self, callbacks, feed, verbose, epochs=1, add_history=False):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(
            callbacks,
            add_history=add_history,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=epochs,
            steps=feed.num_batches,
            model=self,
        )

    @traceback_utils.filter_traceback
    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        self._assert_compile_called("fit")
        most = config.max_epochs()
        if most and most < epochs:
            warnings.warn("Limiting epochs to %d" % most, stacklevel=2)
            epochs = most
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        feed = self._feed(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps_per_epoch,
            shuffle=shuffle,
            class_weight=class_weight,
        )
        with contextlib.closing(feed):
            self._maybe_symbolic_build(iterator=feed)
            feed.reset()
            callbacks = self._callback_list(callbacks, feed, verbose, epochs=epochs, add_history=True)

            def validate():
                val_x, val_y, val_weight = data_adapter_utils.unpack_x_y_sample_weight(validation_data)
                options = dict(x=val_x, y=val_y, sample_weight=val_weight, batch_size=validation_batch_size or batch_size)
                if self._eval_epoch_iterator is None:
                    self._eval_epoch_iterator = self._feed(**options, steps_per_epoch=validation_steps, shuffle=False)
                logs = self.evaluate(
                    **options,
                    steps=validation_steps,
                    callbacks=callbacks,
                    return_dict=True,
                    _use_cached_eval_dataset=True,
                )
                return {f"val_{name}": value for name, value in logs.items()}

            self.stop_training = False
            self.make_train_function()
            callbacks.on_train_begin()
            epoch_logs, logs = None, {}
            for epoch in range(self._initial_epoch or initial_epoch, epochs):
                self.reset_metrics()
                callbacks.on_epoch_begin(epoch)
                logs = self._run(self.train_function, feed, callbacks, "train", "stop_training", logs)
                epoch_logs = dict(read_logs(self._get_metrics_result_or_logs(logs)))
                if validation_data is not None and self._should_eval(epoch, validation_freq):
                    epoch_logs.update(validate())
                callbacks.on_epoch_end(epoch, epoch_logs)
                if self.stop_training:
                    break
            if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
                self.optimizer.finalize_variable_values(self.trainable_weights)
            if self._eval_epoch_iterator is not None:
                del self._eval_epoch_iterator
            callbacks.on_train_end(logs=epoch_logs)
            return self.history

    def _run(self, function, feed, callbacks, mode, stop, logs):
        """One epoch; returns the logs of its last step, or those given when nothing ran."""
        hooks = Hooks(callbacks, mode, self.steps_per_execution)
        loop = EpochLoop(function, feed, hooks, lambda: getattr(self, stop))
        ran = loop.run()
        # A step that failed on a device leaves its metrics as they were, and those after it may have gone well.
        _core.synchronize()
        return loop.results() if ran else logs

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        callbacks=None,
        return_dict=False,
        **kwargs,
    ):
        self._assert_compile_called("evaluate")
        cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        feed = self._eval_epoch_iterator if cached else None
        if feed is None:
            feed = self._feed(
                x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps_per_epoch=steps, shuffle=False
            )
        with contextlib.closing(feed):
            self._maybe_symbolic_build(iterator=feed)
            feed.reset()
            callbacks = self._callback_list(callbacks, feed, verbose)
            self.make_test_function()
            self.stop_evaluating = False
            callbacks.on_test_begin()
            self.reset_metrics()
            logs = self._run(self.test_function, feed, callbacks, "test", "stop_evaluating", {})
            logs = pythonify_logs(read_logs(self._get_metrics_result_or_logs(logs)))
            callbacks.on_test_end(logs)
            return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        feed = self._feed(x=x, batch_size=batch_size, steps_per_epoch=steps, shuffle=False)
        with contextlib.closing(feed):
            callbacks = self._callback_list(callbacks, feed, verbose)
            self.make_predict_function()
            self.stop_predicting = False
            callbacks.on_predict_begin()
            hooks = Hooks(callbacks, "predict", self.steps_per_execution)
            loop = EpochLoop(self.predict_function, feed, hooks, lambda: self.stop_predicting, collect=True)
            if not loop.run():
                raise ValueError("predict() was given no batch: the input is empty.")
            callbacks.on_predict_end()
            return tree.map_structure(keras_trainer.convert_to_np_if_not_ragged, loop.collected())

    # ---- Single batches

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. Received: "
                    f"sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        self._maybe_symbolic_build(data_batch=(x, y, sample_weight))
        self.make_train_function()
        return self._on_batch(self.train_function, (x, y, sample_weight), return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compile_called("test_on_batch")
        self._maybe_symbolic_build(data_batch=(x, y, sample_weight))
        self.make_test_function()
        return self._on_batch(self.test_function, (x, y, sample_weight), return_dict)

    def _on_batch(self, function, data, return_dict):
        self.reset_metrics()
        logs = pythonify_logs(read_logs(function(iter([data]))))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    def predict_on_batch(self, x):
        self.make_predict_function()
        return tree.map_structure(keras_trainer.convert_to_np_if_not_ragged, self.predict_function([(x,)]))


def install(module):
    """Puts the trainer where Keras's models look for one."""
    module.TensorFlowTrainer = TensorFlowTrainer
