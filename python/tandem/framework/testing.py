"""tf.test: a TestCase with TensorFlow's comparisons, and numeric gradients."""

import contextlib
import unittest

import numpy as np

from tandem import _core
from tandem.framework import nest


def _array(value):
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


class TestCase(unittest.TestCase):
    """unittest.TestCase with comparisons of arrays and tensors."""

    def setUp(self):
        super().setUp()
        self._tempdir = None
        np.random.seed(87654321)
        _core.functions.set_seed(87654321)

    def get_temp_dir(self):
        import tempfile

        if self._tempdir is None:
            self._tempdir = tempfile.TemporaryDirectory()
            self.addCleanup(self._tempdir.cleanup)
        return self._tempdir.name

    def evaluate(self, tensors):
        """The values of tensors, in their structure."""
        return nest.map_structure(_array, tensors)

    @contextlib.contextmanager
    def session(self, *args, **kwargs):
        yield self

    cached_session = test_session = session

    def assertAllEqual(self, a, b, msg=None):
        np.testing.assert_array_equal(_array(a), _array(b), err_msg=msg or "")

    def assertNotAllEqual(self, a, b, msg=None):
        self.assertFalse(np.array_equal(_array(a), _array(b)), msg or "The two values are equal at all elements.")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and any(isinstance(v, (dict, list, tuple)) or hasattr(v, "shape") for v in a):
            self.assertEqual(len(a), len(b), msg)
            for x, y in zip(a, b):
                self.assertAllClose(x, y, rtol, atol, msg)
        else:
            np.testing.assert_allclose(_array(a), _array(b), rtol=rtol, atol=atol, err_msg=msg or "")

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        self.assertFalse(np.allclose(_array(a), _array(b), rtol=rtol, atol=atol), msg or "The two values are close.")

    def assertAllCloseAccordingToType(
        self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6, half_rtol=1e-3, half_atol=1e-3,
        bfloat16_rtol=1e-2, bfloat16_atol=1e-2, msg=None,
    ):  # fmt: skip
        names = {_array(v).dtype.name for v in (a, b)}
        if "bfloat16" in names:
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        elif "float16" in names:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        elif names & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        self.assertAllClose(_array(a).astype(np.float64), _array(b).astype(np.float64), rtol, atol, msg)

    def assertNear(self, f1, f2, err, msg=None):
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, msg or f"{f1!r} != {f2!r} +/- {err!r}")

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        self.assertEqual(len(farray1), len(farray2), msg)
        for x, y in zip(farray1, farray2):
            self.assertNear(float(x), float(y), err, msg)

    def assertShapeEqual(self, input_a, input_b, msg=None):
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target, expected_dtype):
        self.assertEqual(_core.as_dtype(target.dtype), _core.as_dtype(expected_dtype))

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False):
        values = _array(target)
        below = values <= lower_bound if open_lower_bound else values < lower_bound
        above = values >= upper_bound if open_upper_bound else values > upper_bound
        self.assertFalse(np.any(below | above), f"{values} is not within {lower_bound} and {upper_bound}")

    def assertAllInSet(self, target, expected_set):
        self.assertTrue(set(_array(target).reshape(-1).tolist()) <= set(expected_set))

    def assertAllGreater(self, a, comparison_target):
        self.assertGreater(np.min(_array(a)), comparison_target)

    def assertAllGreaterEqual(self, a, comparison_target):
        self.assertGreaterEqual(np.min(_array(a)), comparison_target)

    def assertAllLess(self, a, comparison_target):
        self.assertLess(np.max(_array(a)), comparison_target)

    def assertAllLessEqual(self, a, comparison_target):
        self.assertLessEqual(np.max(_array(a)), comparison_target)

    def assertStartsWith(self, actual, expected_start, msg=None):
        self.assertTrue(actual.startswith(expected_start), msg)


def main(argv=None):
    """Runs the tests of the program."""
    unittest.main(argv=argv)


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
        theoretical.append(np.reshape(_array(tape.jacobian(y, argument)), [m, n]))
        step = 1.0 / 1024 if delta is None else delta
        columns = []
        base = _array(argument).astype(argument.dtype.as_numpy_dtype)
        for k in range(n):
            moved = []
            for sign in (1, -1):
                values = base.copy().reshape(-1)
                values[k] += sign * step
                changed = [*arguments]
                changed[i] = _core.convert_to_tensor(values.reshape(base.shape))
                moved.append(_array(f(*changed)).reshape(-1))
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
