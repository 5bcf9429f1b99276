"""Comparisons of tf.test.TestCase: arrays, tensors, ragged and sparse ones, and structures of them."""

import collections.abc

import numpy as np

from tandem import _core


def array_of(test, value):
    """The value as an array; a tensor of a graph is evaluated by the test's session."""
    if isinstance(value, _core.Tensor) and value._symbolic and test is not None:
        value = test.evaluate(value)
    if hasattr(value, "numpy"):
        value = value.numpy()
    return value if isinstance(value, np.ndarray) else np.asarray(value)


def _is_ragged(value):
    return hasattr(value, "to_list") and (hasattr(value, "row_splits") or hasattr(value, "ragged_rank"))


def _is_sparse(value):
    return all(hasattr(value, part) for part in ("indices", "values", "dense_shape"))


def _as_lists(test, value):
    if _is_ragged(value):
        return value.to_list()
    if isinstance(value, (list, tuple)):
        return [_as_lists(test, item) for item in value]
    return array_of(test, value).tolist()


def _is_deep(value):
    """A list that is no array: it holds dicts, or tensors of several shapes."""
    if isinstance(value, np.ndarray) or not isinstance(value, (list, tuple)):
        return False
    if any(isinstance(item, (dict, tuple, list)) or hasattr(item, "shape") for item in value):
        try:
            np.asarray([array_of(None, item) for item in value])
        except (TypeError, ValueError):
            return True
        return any(isinstance(item, dict) or hasattr(item, "_fields") or hasattr(item, "_symbolic") for item in value)
    return False


def _are_strings(array):
    """Strings of NumPy, or bytes, which those of tensors are."""
    return array.dtype.kind in "US" or (array.dtype.kind == "O" and all(isinstance(x, bytes) for x in array.flat))


def _encoded(array):
    return np.char.encode(array, "utf-8").astype(object) if array.dtype.kind == "U" else array


class Comparisons:
    """Mixed into TestCase."""

    maxDiff = 1600  # unittest's name

    # ---- Equal

    def assertAllEqual(self, a, b, msg=None):
        if _is_ragged(a) or _is_ragged(b):
            self.assertEqual(_as_lists(self, a), _as_lists(self, b), msg)
            return
        if _is_sparse(a) and _is_sparse(b):
            for part in ("indices", "values", "dense_shape"):
                self.assertAllEqual(getattr(a, part), getattr(b, part), msg)
            return
        a, b = array_of(self, a), array_of(self, b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg or ''}")
        if _are_strings(a) and _are_strings(b):
            a, b = _encoded(a), _encoded(b)
        same = a == b
        if a.dtype.kind in "fcV" and b.dtype.kind in "fcV":  # V: bfloat16
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        if not np.all(same):
            where = np.where(np.atleast_1d(np.logical_not(same)))
            lines = [f"not equal where = {where}"]
            if a.ndim:
                lines += [f"not equal lhs = {a[where]!r}", f"not equal rhs = {b[where]!r}"]
            np.testing.assert_array_equal(a, b, err_msg="\n".join([msg or "", *lines]))

    def assertNotAllEqual(self, a, b, msg=None):
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(f"The two values are equal at all elements. {msg or ''}")

    def assertDictEqual(self, a, b, msg=None):
        """Dicts whose values may be arrays."""
        self.assertEqual(set(a), set(b), msg)
        for key in a:
            x, y = a[key], b[key]
            if isinstance(x, dict) and isinstance(y, dict):
                self.assertDictEqual(x, y, msg)
            elif hasattr(x, "shape") or hasattr(y, "shape"):
                self.assertAllClose(x, y, msg=f"Unequal values for key {key}: {msg or ''}")
            else:
                self.assertEqual(x, y, msg)

    def assertItemsEqual(self, first, second, msg=None):
        self.assertCountEqual(first, second, msg)

    # ---- Close

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """Arrays, or structures of arrays, that are close."""
        if _is_ragged(a) or _is_ragged(b):
            self._close_lists(_as_lists(self, a), _as_lists(self, b), rtol, atol, msg)
        else:
            self._close(a, b, rtol, atol, "", msg)

    def _close_lists(self, a, b, rtol, atol, msg):
        self.assertEqual(isinstance(a, list), isinstance(b, list), msg)
        if not isinstance(a, list):
            self._close_arrays(a, b, rtol, atol, "", msg)
            return
        self.assertEqual(len(a), len(b), msg)
        for x, y in zip(a, b):
            self._close_lists(x, y, rtol, atol, msg)

    def _close(self, a, b, rtol, atol, path, msg):
        if hasattr(a, "_asdict") and hasattr(b, "_asdict"):
            a, b = a._asdict(), b._asdict()
        dicts = isinstance(a, collections.abc.Mapping), isinstance(b, collections.abc.Mapping)
        if any(dicts):
            if not all(dicts):
                raise ValueError(f"Can't compare dict to non-dict, {path or 'a'} vs {path or 'b'}. {msg or ''}")
            self.assertCountEqual(a, b, f"mismatched keys: a has keys {a.keys()}, but b has keys {b.keys()}. {msg or ''}")
            for key in a:
                self._close(a[key], b[key], rtol, atol, f"{path}[{key}]", msg)
        elif _is_ragged(a) or _is_ragged(b):
            self.assertAllClose(a, b, rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and (_is_deep(a) or _is_deep(b)):
            self.assertEqual(len(a), len(b), f"Length mismatch: {path or 'a'} has {len(a)} items. {msg or ''}")
            for i, (x, y) in enumerate(zip(a, b)):
                self._close(x, y, rtol, atol, f"{path}[{i}]", msg)
        else:
            self._close_arrays(a, b, rtol, atol, path, msg)

    def _close_arrays(self, a, b, rtol, atol, path, msg):
        a, b = array_of(self, a), array_of(self, b)
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape} at {path!r}. {msg or ''}")
        if a.dtype.kind == "V" or b.dtype.kind == "V":  # bfloat16 and its like
            a, b = a.astype(np.float32), b.astype(np.float32)
        rtol, atol = array_of(self, rtol), array_of(self, atol)
        if not np.allclose(a, b, rtol=rtol, atol=atol):
            far = np.logical_or(np.abs(a - b) > atol + rtol * np.abs(b), np.isnan(a) != np.isnan(b))
            where = np.where(np.atleast_1d(far))
            lines = [f"Mismatched value: a{path} is different from b{path}. {msg or ''}", f"not close where = {where}"]
            if a.ndim:
                lines += [f"not close lhs = {a[where]}", f"not close rhs = {b[where]}"]
            lines.append(f"dtype = {a.dtype}, shape = {a.shape}")
            largest = float(np.max(rtol)), float(np.max(atol))
            np.testing.assert_allclose(a, b, rtol=largest[0], atol=largest[1], err_msg="\n".join(lines))
            self.fail("\n".join(lines))  # tolerances that differ by element

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        try:
            self.assertAllClose(a, b, rtol=rtol, atol=atol)
        except AssertionError:
            return
        self.fail(f"The two values are close at all elements. {msg or ''}")

    def assertAllCloseAccordingToType(
        self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6, half_rtol=1e-3, half_atol=1e-3,
        bfloat16_rtol=1e-2, bfloat16_atol=1e-2, msg=None,
    ):  # fmt: skip
        a, b = array_of(self, a), array_of(self, b)
        for name, by_r, by_a in (
            ("complex64", float_rtol, float_atol), ("float32", float_rtol, float_atol),
            ("float16", half_rtol, half_atol), ("bfloat16", bfloat16_rtol, bfloat16_atol),
        ):  # fmt: skip
            if name in (a.dtype.name, b.dtype.name):
                rtol, atol = max(rtol, by_r), max(atol, by_a)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def assertNear(self, f1, f2, err, msg=None):
        self.assertTrue(
            f1 == f2 or abs(f1 - f2) <= err,
            f"{f1:f} != {f2:f} +/- {err:f} (difference: {abs(f1 - f2)}){f' : {msg}' if msg else ''}",
        )

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        self.assertEqual(len(farray1), len(farray2), msg)
        for x, y in zip(farray1, farray2):
            self.assertNear(float(x), float(y), err, msg)

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):
        distance = np.linalg.norm(array_of(self, ndarray1) - array_of(self, ndarray2))
        self.assertLess(distance, err, msg)

    # ---- Shapes, dtypes, devices

    def assertShapeEqual(self, input_a, input_b, msg=None):
        a, b = (tuple(x.shape) for x in (input_a, input_b))
        self.assertAllEqual(a, b, msg)

    def assertDTypeEqual(self, target, expected_dtype):
        target = target.dtype if hasattr(target, "dtype") else array_of(self, target).dtype
        self.assertEqual(_core.as_dtype(target), _core.as_dtype(expected_dtype))

    def assertDeviceEqual(self, device1, device2, msg=None):
        from tandem.framework.device_spec import DeviceSpec

        one, two = (DeviceSpec.from_string(d or "").to_string() for d in (device1, device2))
        self.assertEqual(one, two, f"Devices {one} and {two} are not equal. {msg or ''}")

    # ---- Ranges

    def _report_outside(self, values, outside, said):
        if not np.any(outside):
            return
        found = [f"  {[int(i) for i in at]} : {values[tuple(at)]}" for at in np.argwhere(outside)[:10]]
        raise AssertionError(
            f"{int(np.sum(outside))} of the {outside.size} element(s) are {said}. Subscript(s) and value(s) of the "
            "offending elements:\n" + "\n".join(found)
        )

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False):
        values = array_of(self, target)
        if not (np.issubdtype(values.dtype, np.floating) or np.issubdtype(values.dtype, np.integer)):
            raise AssertionError(f"The value of {target} does not have an ordered numeric type, instead it has type: {values.dtype}")
        if np.any(np.isnan(values)):
            self._report_outside(values, np.isnan(values), "NaN, which is not in any range")
        below = values <= lower_bound if open_lower_bound else values < lower_bound
        above = values >= upper_bound if open_upper_bound else values > upper_bound
        bounds = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"
        self._report_outside(values, below | above, f"outside the range {bounds}")

    def assertAllInSet(self, target, expected_set):
        extra = np.setdiff1d(array_of(self, target).reshape(-1), list(expected_set))
        if extra.size:
            raise AssertionError(f"{extra.size} unique element(s) are not in the set {expected_set}: {extra}")

    def assertAllGreater(self, a, comparison_target):
        self.assertGreater(np.min(array_of(self, a)), comparison_target)

    def assertAllGreaterEqual(self, a, comparison_target):
        self.assertGreaterEqual(np.min(array_of(self, a)), comparison_target)

    def assertAllLess(self, a, comparison_target):
        self.assertLess(np.max(array_of(self, a)), comparison_target)

    def assertAllLessEqual(self, a, comparison_target):
        self.assertLessEqual(np.max(array_of(self, a)), comparison_target)

    # ---- Texts, messages

    def assertStartsWith(self, actual, expected_start, msg=None):
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}{f' : {msg}' if msg else ''}")

    def assertProtoEquals(self, expected_message_maybe_ascii, validate_message, msg=None, relative_tolerance=None):
        """Two messages, of which the first may be given as text."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            from google.protobuf import text_format

            expected = text_format.Merge(expected, type(validate_message)(), descriptor_pool=None)
        self.assertEqual(expected, validate_message, msg)
