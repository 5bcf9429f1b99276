"""Two programs on one GPU at the same time, each within its limit: the real GPU where there is one, else emulated ones."""

import subprocess
import sys

import pytest
from conftest import environment

LIMIT_MB = 512

# Waits until the other one is as far, so that both train at once.
PROGRAM = """
import os, sys, time
import numpy as np
import tandem as tf

limit = {limit} << 20
gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit={limit})])
tf.keras.utils.set_random_seed(7)
x = np.random.default_rng(1).normal(size=(2048, 256)).astype("float32")
y = (x.sum(1) > 0).astype("int32")
model = tf.keras.Sequential([tf.keras.Input((256,)), tf.keras.layers.Dense(512, "relu"), tf.keras.layers.Dense(2)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x[:256], y[:256], batch_size=64, verbose=0)
folder, me, other = sys.argv[1:]
open(os.path.join(folder, me), "w").close()
for _ in range(1200):
    if os.path.exists(os.path.join(folder, other)):
        break
    time.sleep(0.05)
else:
    sys.exit("the other process never came")
losses = model.fit(x, y, batch_size=64, epochs=5, shuffle=False, verbose=0).history["loss"]
assert losses[-1] < losses[0], losses
assert "GPU:0" in model.layers[0].kernel.value.device, "trained elsewhere"
usage = tf.config.experimental.get_memory_info("GPU:0")
assert 0 < usage["peak"] <= limit, usage
try:
    with tf.device("/GPU:0"):
        tf.zeros((limit // 2,))
    sys.exit("the limit was not kept")
except tf.errors.ResourceExhaustedError:
    pass
print("LOSSES", *losses)
"""


def test_both_train_within_their_limits(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(limit=LIMIT_MB))
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(tmp_path), me, other],
            env=environment(gpus=1),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for me, other in (("first", "second"), ("second", "first"))
    ]
    try:
        ends = [process.communicate(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, ends, strict=True):
        assert process.returncode == 0, errors
    first, second = ([line.split()[1:] for line in out.splitlines() if line.startswith("LOSSES")] for out, _ in ends)
    # Not the same bits: each measures which kernels are the fastest.
    assert [float(loss) for loss in first[0]] == pytest.approx([float(loss) for loss in second[0]], rel=1e-2)
