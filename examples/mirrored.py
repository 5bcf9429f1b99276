"""A model trained on every GPU at once, with a loop of one's own.

    TANDEM_EMULATE_GPUS=2 tandem run examples/mirrored.py
"""

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
print(f"{strategy.num_replicas_in_sync} replicas:", ", ".join(strategy.extended.worker_devices))

GLOBAL_BATCH = 64
rng = np.random.RandomState(0)
x = rng.randn(1024, 20).astype(np.float32)
y = (x @ rng.randn(20, 4)).argmax(axis=1)
batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1024, seed=0).batch(GLOBAL_BATCH)

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((20,)),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(4),
    ])
    optimizer = tf.keras.optimizers.Adam(0.01)
    losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def replica_step(features, labels):
    """What one replica does with its part of the batch."""
    with tf.GradientTape() as tape:
        each = losses(labels, model(features, training=True))
        loss = tf.nn.compute_average_loss(each, global_batch_size=GLOBAL_BATCH)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # summed over replicas
    return loss


@tf.function
def step(features, labels):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(features, labels)), axis=None)


first = last = None
for epoch in range(4):
    for features, labels in strategy.experimental_distribute_dataset(batches):
        last = float(step(features, labels))
        first = first or last
    print(f"epoch {epoch + 1}: loss {last:.4f}")
assert last < first

for variable in model.trainable_variables:
    copies = [copy.numpy() for copy in strategy.experimental_local_results(variable.value)]
    assert all(np.array_equal(copies[0], copy) for copy in copies), "the replicas stay the same to the bit"
