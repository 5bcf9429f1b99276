"""tensorflow.python.ops.stateless_random_ops."""

from tandem import _namespaces


def stateless_multinomial(logits, num_samples, seed, output_dtype="int64", name=None):
    return _namespaces.get("random.stateless_categorical")(logits, num_samples, seed, output_dtype)
