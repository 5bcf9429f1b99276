"""tf.experimental.ExtensionTypeBatchEncoder: how a batch of values of an extension type becomes one value."""

from tandem.framework.shape import TensorShape


class ExtensionTypeBatchEncoder:
    """Stacks every tensor of a value; shapes among the fields get the dimension, too."""

    def batch(self, spec, batch_size):
        from tandem.extension.spec import batched_field

        added = TensorShape([batch_size])
        return type(spec)._tf_like(batched_field(f, added.concatenate) for f in spec._tf_values())

    def unbatch(self, spec):
        from tandem.extension.spec import batched_field

        return type(spec)._tf_like(batched_field(f, _without_first) for f in spec._tf_values())

    def encode(self, spec, value, minimum_rank=0):
        """The tensors of a value."""
        return list(value._tf_components())

    def encoding_specs(self, spec):
        """The specs of what encode() gives."""
        return list(spec._tf_components())

    def decode(self, spec, encoded_value):
        """The value of these tensors."""
        return spec._from_components(encoded_value)


def _without_first(shape):
    if shape.rank is None:
        return shape
    if shape.rank == 0:
        raise ValueError("Cannot take a batch apart: a tensor or a shape of it has no dimension to take away.")
    return shape[1:]
