"""tensorflow.core.protobuf.rewriter_config_pb2: what TensorFlow's graph optimizer may do. Tandem's passes have no such
switches: the fields are kept and have no effect."""


class RewriterConfig:
    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def CopyFrom(self, other):  # noqa: N802  (protobuf's name)
        self.__dict__.clear()
        self.__dict__.update(vars(other))
