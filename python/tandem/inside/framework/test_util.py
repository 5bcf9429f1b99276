"""tensorflow.python.framework.test_util: decorators of tests. Tandem runs each test once, eagerly."""

import contextlib
import functools
import unittest

from tandem.framework.device import gpu_device_name, is_gpu_available  # noqa: F401
from tandem.framework.testing import TestCase
from tandem.inside.framework import random_seed  # noqa: F401

TensorFlowTestCase = TestCase


def _as_it_is(function=None, *args, **kwargs):
    """Also as `@decorator()` and `@decorator("why")`."""
    return function if callable(function) else lambda decorated: decorated


run_all_in_graph_and_eager_modes = run_in_graph_and_eager_modes = run_v2_only = run_all_without_tensor_float_32 = _as_it_is
run_without_tensor_float_32 = disable_xla = disable_tfrt = disable_mlir_bridge = with_control_flow_v2 = _as_it_is
enable_control_flow_v2 = disable_cudnn_autotune = assert_no_new_tensors = assert_no_garbage_created = _as_it_is
also_run_as_tf_function = with_eager_op_as_function = enable_output_all_intermediates = _as_it_is
assert_no_new_pyobjects_executing_eagerly = _as_it_is
disable_asan = disable_msan = disable_tsan = disable_ubsan = _as_it_is


def _skipped(reason):
    def decorate(function=None, *args):
        return unittest.skip(reason)(function) if callable(function) else unittest.skip(reason)

    return decorate


run_v1_only = run_deprecated_v1 = deprecated_graph_mode_only = _skipped("it is for TensorFlow 1")
run_all_in_deprecated_graph_mode_only = _skipped("it is for TensorFlow 1")


def run_gpu_only(func=None):
    def decorate(f):
        @functools.wraps(f)
        def call(self, *args, **kwargs):
            if not is_gpu_available():
                self.skipTest("Test requires GPU")
            return f(self, *args, **kwargs)

        return call

    return decorate(func) if func is not None else decorate


run_cuda_only = run_gpu_only


@contextlib.contextmanager
def use_gpu():
    from tandem.framework.device import device

    with device(gpu_device_name() or "/device:CPU:0"):
        yield


@contextlib.contextmanager
def force_cpu():
    from tandem.framework.device import device

    with device("/device:CPU:0"):
        yield


def InstallStackTraceHandler():  # noqa: N802
    """Python's faulthandler does that."""


def IsMklEnabled():  # noqa: N802
    return False


def IsBuiltWithXLA():  # noqa: N802
    return False


def is_xla_enabled():
    return False


def is_mlir_bridge_enabled():
    return False


def IsBuiltWithNvcc():  # noqa: N802
    from tandem.framework.device import is_built_with_cuda

    return is_built_with_cuda()


def for_all_test_methods(decorator, *args, **kwargs):
    """Decorates each test of a class."""

    def decorate(cls):
        for name, value in list(vars(cls).items()):
            if name.startswith("test") and callable(value) and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def NHWCToNCHW(input_tensor):  # noqa: N802
    """A shape or a tensor in the other order of channels."""
    return _moved(input_tensor, lambda rank: [0, rank - 1, *range(1, rank - 1)])


def NCHWToNHWC(input_tensor):  # noqa: N802
    return _moved(input_tensor, lambda rank: [0, *range(2, rank), 1])


def _moved(value, order):
    from tandem import _namespaces

    if isinstance(value, (list, tuple)):
        return [value[i] for i in order(len(value))]
    return _namespaces.get("transpose")(value, order(value.shape.rank))


def sync_devices():
    """Waits until all devices are done."""
    from tandem import _core

    _core.synchronize()
