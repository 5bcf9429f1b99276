"""tensorflow.python.training.experimental.mixed_precision."""

_WRAPPERS = {}


def register_loss_scale_wrapper(optimizer_cls, wrapper_fn, wrapper_cls=None):
    """Notes how an optimizer is wrapped for TensorFlow's graph rewrite, which Tandem does not do."""
    _WRAPPERS[optimizer_cls] = wrapper_fn
