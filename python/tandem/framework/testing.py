"""tf.test: a TestCase with TensorFlow's comparisons (test_comparisons.py), and numeric gradients.

It derives from absl's TestCase where absl is installed, as TensorFlow's does, else from unittest's.
"""

import contextlib
import random
import re
import shutil
import tempfile
import threading
import unittest

import numpy as np

from tandem import _core
from tandem.framework import nest
from tandem.framework.errors import InvalidArgumentError, OpError
from tandem.framework.test_comparisons import Comparisons, array_of

try:
    from absl.testing import absltest
except ImportError:
    _Base = unittest.TestCase
else:
    _Base = absltest.TestCase

_SEED = 87654321


class _EagerSession:
    """What `with self.session() as s:` gives where ops run at once: `run` evaluates, everything else is refused."""

    def __init__(self, test):
        self._test = test

    def __getattr__(self, name):
        raise AttributeError(
            f"{name!r}: there is no session where ops run at once. Use self.evaluate(tensor), or a graph (tf.Graph())."
        )

    def run(self, fetches, *args, **kwargs):
        if args or kwargs.get("feed_dict"):
            raise RuntimeError("feed_dict cannot be used where ops run at once. Call the function with the values.")
        return self._test.evaluate(fetches)


class _CheckedThread:
    """A thread of a test: join() raises what the thread raised."""

    def __init__(self, test, target, args, kwargs):
        self._error = None
        self._test = test
        self._thread = threading.Thread(target=self._run, args=(target, args or (), kwargs or {}))

    def _run(self, target, args, kwargs):
        try:
            target(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001  (raised again by join)
            self._error = error

    def start(self):
        self._thread.start()

    def is_alive(self):
        return self._thread.is_alive()

    def join(self):
        self._thread.join()
        if self._error is not None:
            self._test.fail(f"Error in checkedThread: {self._error}")


class CapturedWrites:
    """What was written to a stream."""

    def __init__(self, file):
        self._file = file

    def contents(self):
        self._file.flush()
        with open(self._file.name, encoding="utf-8") as file:
            return file.read()


class TestCase(Comparisons, _Base):
    """A test case with comparisons of arrays and tensors."""

    def __init__(self, methodName="runTest"):  # noqa: N803  (unittest's name)
        super().__init__(methodName)
        self._tempdir = None

    def setUp(self):
        if self._testMethodName == "test_session":  # a method of ours by its name
            self.skipTest("Not a test.")
        super().setUp()
        random.seed(_SEED)
        np.random.seed(_SEED)
        _core.functions.set_seed(_SEED)

    def get_temp_dir(self):
        """A folder of this test alone."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, self._tempdir, ignore_errors=True)
        return self._tempdir

    # ---- Values

    def evaluate(self, tensors):
        """The values of tensors, in their structure."""
        if not _core.executing_eagerly():
            session = _session()
            if session is not None:
                return session.run(tensors)
            with self.cached_session() as session:
                return session.run(tensors)
        if callable(tensors) and not hasattr(tensors, "numpy"):
            return self.evaluate(tensors())
        return nest.map_structure(_value, tensors)

    def evaluate_if_both_tensors(self, a, b):
        if all(isinstance(x, _core.Tensor) for x in (a, b)):
            return self.evaluate(a), self.evaluate(b)
        return a, b

    def _GetNdArray(self, a):  # noqa: N802
        return array_of(self, a)

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        """A session of the graph that is built in; where ops run at once, an object whose `run` evaluates."""
        if _core.executing_eagerly():
            yield _EagerSession(self)
            return
        from tandem import _namespaces

        with _namespaces.get("compat.v1.Session")(graph=graph, config=config) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        """The same session for all blocks of a test."""
        if _core.executing_eagerly():
            yield _EagerSession(self)
            return
        if getattr(self, "_cached_session", None) is None:
            from tandem import _namespaces

            self._cached_session = _namespaces.get("compat.v1.Session")(graph=graph, config=config)
            self.addCleanup(self._forget_session)
        with self._cached_session.graph.as_default(), self._cached_session.as_default():
            yield self._cached_session

    def test_session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        """The session of the test, or one of a graph."""
        if graph is None:
            return self.cached_session(None, config, use_gpu, force_gpu)
        return self.session(graph, config, use_gpu, force_gpu)

    def _forget_session(self):
        self._cached_session.close()
        self._cached_session = None

    # ---- Threads, streams

    def checkedThread(self, target, args=None, kwargs=None):  # noqa: N802
        return _CheckedThread(self, target, args, kwargs)

    @contextlib.contextmanager
    def captureWritesToStream(self, stream):  # noqa: N802
        """Captures what is written to a stream, also by the native part."""
        import os

        number = stream.fileno()
        kept = os.dup(number)
        with tempfile.NamedTemporaryFile("w+", dir=self.get_temp_dir(), delete=False) as file:
            os.dup2(file.fileno(), number)
            try:
                yield CapturedWrites(file)
            finally:
                stream.flush()
                os.dup2(kept, number)
                os.close(kept)

    # ---- Errors

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):  # noqa: N802
        """The error is of a type, and the pattern is in its words, or the predicate holds of it."""
        wanted = expected_err_re_or_predicate
        try:
            yield
        except exception_type as error:
            matches = wanted(error) if callable(wanted) else wanted is None or re.search(wanted, str(error))
            if not matches:
                raise AssertionError(f"Exception of type {type(error)}: {error} does not match {wanted!r}") from error
        else:
            self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate):  # noqa: N802
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type=InvalidArgumentError):  # noqa: N802
        words = r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes|incompatible"
        return self.assertRaisesWithPredicateMatch(exception_type, words)

    def assertRaisesRegexp(self, expected_exception, expected_regex, *args, **kwargs):  # noqa: N802
        return self.assertRaisesRegex(expected_exception, expected_regex, *args, **kwargs)


def _session():
    from tandem import _namespaces

    return _namespaces.get("compat.v1.get_default_session")()


def _ragged_value(value):
    from tandem.inside.ops.ragged.ragged_tensor_value import RaggedTensorValue

    if isinstance(value, RaggedTensorValue):
        return value
    made = value.flat_values.numpy()
    for splits in reversed(value.nested_row_splits):
        made = RaggedTensorValue(made, splits.numpy())
    return made


def _value(value):
    if value is None:
        return None
    if hasattr(value, "to_list") and hasattr(value, "nested_row_splits"):
        return _ragged_value(value)
    if hasattr(value, "dense_shape"):
        from tandem.inside.framework.sparse_tensor import SparseTensorValue

        if isinstance(value, SparseTensorValue):
            return value
        return SparseTensorValue(value.indices.numpy(), value.values.numpy(), value.dense_shape.numpy())
    if callable(value) and not hasattr(value, "numpy"):
        return _value(value())
    if hasattr(value, "numpy"):
        return value.numpy()
    raise ValueError(f"Unsupported type {type(value).__name__!r}.")


def main(argv=None):
    """Runs the tests of the program."""
    if _Base is unittest.TestCase:
        unittest.main(argv=argv)
    else:
        absltest.main(argv=argv)


def compute_gradient(f, x, delta=None):
    """Jacobians by the tape and by differences, one of each for each argument."""
    from tandem.framework.gradients import GradientTape

    arguments = [_core.convert_to_tensor(v) for v in x]
    theoretical, numerical = [], []
    for i, argument in enumerate(arguments):
        with GradientTape(persistent=True) as tape:
            tape.watch(argument)
            y = f(*arguments)
        n, m = argument.shape.num_elements(), y.shape.num_elements()
        theoretical.append(np.reshape(array_of(None, tape.jacobian(y, argument)), [m, n]))
        step = 1.0 / 1024 if delta is None else delta
        columns = []
        base = array_of(None, argument).astype(argument.dtype.as_numpy_dtype)
        for k in range(n):
            moved = []
            for sign in (1, -1):
                values = base.copy().reshape(-1)
                values[k] += sign * step
                changed = [*arguments]
                changed[i] = _core.convert_to_tensor(values.reshape(base.shape))
                moved.append(array_of(None, f(*changed)).reshape(-1))
            columns.append((moved[0] - moved[1]) / (2 * step))
        numerical.append(np.stack(columns, axis=1) if columns else np.zeros([m, 0]))
    return tuple(theoretical), tuple(numerical)


def is_built_with_rocm():
    return False


def is_built_with_xla():
    return False


def is_built_with_gpu_support():
    from tandem.framework.device import is_built_with_cuda

    return is_built_with_cuda()


def is_cpu_target_available(target):
    return True
