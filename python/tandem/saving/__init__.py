"""tf.saved_model: objects with their functions in a folder (docs/saved-model.md)."""
