"""tf.summary: values that TensorBoard shows (docs/profiling.md)."""
