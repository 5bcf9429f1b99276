"""Functions with TensorFlow's signatures that are more than one op call."""
