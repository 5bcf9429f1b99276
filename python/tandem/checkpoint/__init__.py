"""tf.train.Checkpoint and what belongs to it: objects found by their attributes, saved and restored.

The files themselves are written and read by the native part (docs/checkpoints.md)."""
