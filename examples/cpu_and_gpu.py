"""A TensorFlow script: the CPU prepares batches while the GPU trains on those before.

    tandem run examples/cpu_and_gpu.py                          # the machine's own devices
    TANDEM_EMULATE_GPUS=1 tandem run examples/cpu_and_gpu.py    # with an emulated GPU
"""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(0)
print("devices:", ", ".join(d.name for d in tf.config.list_logical_devices()))
gpu = "/GPU:0" if tf.config.list_logical_devices("GPU") else "/CPU:0"

# Digits of sorts: each class is a pattern, seen through noise.
rng = np.random.RandomState(0)
patterns = rng.randint(0, 256, (10, 28, 28))
labels = rng.randint(0, 10, 2048)
images = np.clip(patterns[labels] + rng.randint(-60, 61, (2048, 28, 28)), 0, 255).astype(np.uint8)


def prepare(image, label):
    with tf.device("/CPU:0"):
        image = tf.image.convert_image_dtype(image, tf.float32)
        return tf.image.random_flip_left_right(image[..., tf.newaxis], seed=1) - 0.5, label


batches = (
    tf.data.Dataset.from_tensor_slices((images, labels))
    .shuffle(2048, seed=0)
    .map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(64)
    .prefetch(tf.data.AUTOTUNE)
)

with tf.device(gpu):
    model = tf.keras.Sequential([
        tf.keras.Input((28, 28, 1)),
        tf.keras.layers.Conv2D(16, 5, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ])
    model.compile(
        optimizer="adam",
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    history = model.fit(batches, epochs=3, shuffle=False)

print("weights on", model.variables[0].value.device)
assert history.history["loss"][-1] < history.history["loss"][0]
