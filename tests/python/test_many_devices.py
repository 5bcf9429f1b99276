"""More devices than a buffer, a plan or a machine word has places for: one tensor that all of them read, functions over all
of them, and a strategy with so many replicas."""

import pytest

DEVICES = 33


@pytest.mark.parametrize("kind", ["GPU", "CPU"])
def test_all_of_them_at_once(run_python, kind):
    """Emulated GPUs, and parts of the processor."""
    status, out, err = run_python(
        f"""
        import numpy as np
        import tandem as tf

        count, kind = {DEVICES}, "{kind}"
        if kind == "CPU":
            cpu = tf.config.list_physical_devices("CPU")[0]
            tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
        devices = [d.name for d in tf.config.list_logical_devices(kind)]
        assert len(devices) == count

        def on_all(function):
            made = []
            for i, device in enumerate(devices):
                with tf.device(device):
                    made.append(function(i))
            return made

        # What they read is let go of, and its memory written again, while they may still be at it.
        for home in ("/CPU:0", devices[0]):
            for turn in range(4):
                with tf.device(home):
                    x = tf.fill([20_000], float(turn))
                sums = on_all(lambda i: tf.reduce_sum(x * float(i)))
                del x
                with tf.device(home):
                    other = tf.fill([20_000], 99.0)
                assert [float(s) for s in sums] == [20_000.0 * turn * i for i in range(count)]

        # A variable that changes between reads of all.
        with tf.device(devices[0]):
            v = tf.Variable(tf.ones([3000]))
        for turn in range(1, 4):
            sums = on_all(lambda i: tf.reduce_sum(v * 1.0))
            v.assign_add(tf.ones([3000]))
            assert [float(s) for s in sums] == [3000.0 * turn] * count

        @tf.function
        def over_all(x):
            parts = on_all(lambda i: x * float(i))
            with tf.device(devices[-1]):
                return tf.add_n(parts)

        for turn in range(3):
            x = np.arange(1000, dtype=np.float32) + turn
            np.testing.assert_allclose(over_all(x).numpy(), x * sum(range(count)), 1e-5)

        layers = tf.keras.layers
        x = np.random.default_rng(0).random((2 * count, 3), dtype=np.float32)

        def trained(scope):
            with scope:
                model = tf.keras.Sequential([tf.keras.Input((3,)), layers.Dense(1, kernel_initializer="ones")])
                model.compile(tf.keras.optimizers.SGD(0.01), "mse")
            logs = model.fit(x, x.sum(1) * 2, batch_size=2 * count, epochs=2, verbose=0, shuffle=False).history
            return logs["loss"], model.get_weights()[0]

        one, all = trained(tf.device("/CPU:0")), trained(tf.distribute.MirroredStrategy(devices).scope())
        np.testing.assert_allclose(all[0], one[0], 1e-4)
        np.testing.assert_allclose(all[1], one[1], 1e-4)
        """,
        gpus=DEVICES if kind == "GPU" else 0,
    )
    assert status == 0, out + err[-3000:]
