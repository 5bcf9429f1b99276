"""`%load_ext tandem` in a kernel of IPython: imports, the progress bar and the stop button, in cells.

The kernel runs in a process of its own and is given cells one after the other, as a notebook would.
"""

import importlib.util
import textwrap

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ipykernel") is None,
    reason="there is no kernel of IPython in this environment; run: pip install ipykernel",
)

KERNEL = """
from ipykernel.inprocess.manager import InProcessKernelManager

manager = InProcessKernelManager()
manager.start_kernel()
client = manager.client()
client.start_channels()


def cell(text):
    '''Runs a cell; its outputs as text, and the name of the error that it ended with.'''
    client.execute(text)
    reply = client.get_shell_msg(timeout=200)["content"]
    printed = ""
    while client.iopub_channel.msg_ready():
        content = client.get_iopub_msg(timeout=10)["content"]
        printed += content.get("text", "") + content.get("data", {}).get("text/plain", "")
    return printed, reply.get("ename")


"""

MODEL = """
import numpy as np
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
"""


@pytest.fixture
def cells(run_python):
    """Runs the body of a program in which cell(text) runs a cell."""

    def run(body):
        status, out, err = run_python(KERNEL + f"MODEL = {MODEL!r}\n" + textwrap.dedent(body))
        assert status == 0, out + err
        return out

    return run


def test_the_extension_serves_tensorflow(cells):
    out = cells(
        """
        print(cell("%load_ext tandem"))
        print(cell("import tensorflow as tf, keras, tandem\\nprint(tf.nn is tandem.nn, tf.keras is keras, tandem.keras is keras)"))
        print(cell("tf.constant([1.0, 2.0]) + 1.0"))
        """
    )
    first, second, third = out.splitlines()[:3]
    assert first == "('', None)"
    assert "True True True" in second
    assert "<tf.Tensor: shape=(2,)" in third


def test_the_bar_is_drawn_over_itself(cells):
    out = cells(
        """
        cell("%load_ext tandem\\nimport tensorflow as tf")
        cell(MODEL)
        printed, error = cell("history = model.fit(x, y, batch_size=8, epochs=2)")
        assert error is None, (printed, error)
        print(repr(printed))
        """
    )
    assert "Epoch 1/2" in out and "Epoch 2/2" in out
    assert "8/8" in out and "loss:" in out
    assert "\\r" in out  # one line per epoch, rewritten


def test_the_stop_button_interrupts_fit_and_the_model_goes_on(cells):
    out = cells(
        """
        cell("%load_ext tandem\\nimport tensorflow as tf")
        cell(MODEL)
        # What the stop button does: a signal to the kernel's process, here once the first epoch is over.
        cell(
            "import os, signal\\n"
            "class Stop(tf.keras.callbacks.Callback):\\n"
            "    def on_epoch_end(self, epoch, logs=None):\\n"
            "        if epoch == 0: os.kill(os.getpid(), signal.SIGINT)\\n"
        )
        printed, error = cell("model.fit(x, y, epochs=100000, verbose=0, callbacks=[Stop()])")
        print(error)
        printed, error = cell("print(len(model.fit(x, y, epochs=3, verbose=0).history['loss']))")
        print(printed.strip(), error)
        """
    )
    assert out.splitlines() == ["KeyboardInterrupt", "3 None"]


def test_too_late_is_said_in_the_cell(cells):
    out = cells(
        """
        cell("import sys, types; sys.modules['tensorflow'] = types.ModuleType('tensorflow')")
        printed, error = cell("%load_ext tandem")
        print(error)
        """
    )
    assert out == "ImportError\n"


def test_the_installed_kernel(run_python, tmp_path):
    status, out, err = run_python(
        f"""
        import json, subprocess, sys
        subprocess.run([sys.executable, "-m", "tandem", "kernel", "install", "--prefix", {str(tmp_path)!r}], check=True)
        from jupyter_client.kernelspec import KernelSpec
        from jupyter_client import KernelManager
        spec = KernelSpec.from_resource_dir({str(tmp_path / "share/jupyter/kernels/tandem")!r})
        manager = KernelManager()
        manager._kernel_spec = spec
        manager.start_kernel()
        client = manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=100)
        client.execute_interactive("import tensorflow as tf, tandem; print(tf.matmul is tandem.matmul)", timeout=100)
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        """
    )
    assert status == 0 and out.split()[-1] == "True", out + err
