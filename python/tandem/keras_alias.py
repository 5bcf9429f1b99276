"""tf.losses, tf.metrics and the like: TensorFlow's second names for parts of Keras."""


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    from tandem.keras_loader import keras

    return getattr(keras, name)
