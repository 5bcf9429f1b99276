"""tensorflow.python.distribute.cluster_resolver.tpu_cluster_resolver: there is no TPU, and the question is answered so."""


class TPUClusterResolver:
    """Raises what TensorFlow raises where there is no TPU: notebooks ask with `try`."""

    def __init__(self, tpu=None, *args, **kwargs):
        raise ValueError("Please provide a TPU Name to connect to." if not tpu else f"There is no TPU {tpu!r}: Tandem runs on CPUs and GPUs.")

    @staticmethod
    def connect(tpu=None, zone=None, project=None):
        return TPUClusterResolver(tpu)
