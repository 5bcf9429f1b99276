"""The switches between TensorFlow 1's behaviour and TensorFlow 2's."""

from tandem.framework import shape
from tandem.graph_mode import graph as graphs


def disable_eager_execution():
    """From now on ops outside functions are put into the default graph."""
    graphs.disable_eager()


def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    graphs.enable_eager()


def disable_v2_tensorshape():
    """The sizes in a TensorShape are Dimensions."""
    shape.use_dimensions(True)


def enable_v2_tensorshape():
    shape.use_dimensions(False)


def disable_tensor_equality():
    """`==` of tensors of a graph says whether they are the same in any case; of eager ones it compares contents."""


def disable_control_flow_v2():
    """There is one kind of control flow."""


def disable_resource_variables():
    """There is one kind of variables: a read is a snapshot."""


def disable_v2_behavior():
    """TensorFlow 1's: graphs and sessions, sizes as Dimensions."""
    disable_eager_execution()
    disable_v2_tensorshape()


def enable_v2_behavior():
    enable_eager_execution()
    enable_v2_tensorshape()
