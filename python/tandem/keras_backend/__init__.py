"""Tandem's own parts of Keras's TensorFlow backend. keras_loader puts them in the place of Keras's."""
