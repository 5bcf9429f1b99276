"""What Keras's data adapters take for a tf.data dataset: Keras goes by the names of TensorFlow's classes."""

import tandem as tf


def is_tf_dataset(x):
    return isinstance(x, (tf.data.Dataset, tf.distribute.DistributedDataset))


def install(module):
    module.is_tf_dataset = is_tf_dataset
