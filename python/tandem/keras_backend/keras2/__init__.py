"""Keras 2 (the package tf_keras) on Tandem: what its modules get after they are loaded (keras_loader.py)."""
