"""tf.profiler.experimental (docs/profiling.md)."""
