"""tf.experimental.ExtensionType: users' own types made of tensors, and dispatch of TensorFlow's functions to them."""
