"""tf.linalg.LinearOperator*: matrices that know their form and are applied without being written out."""
