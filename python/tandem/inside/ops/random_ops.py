"""tensorflow.python.ops.random_ops."""

from tandem import _namespaces


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    return _namespaces.get("random.categorical")(logits, num_samples, output_dtype or "int64", seed)
