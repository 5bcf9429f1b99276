"""The switches between TensorFlow 1's behaviour and TensorFlow 2's."""

from tandem.framework import shape
from tandem.graph_mode import graph as graphs


_resources = [True]


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
    """Variables of graphs are references: what is fetched of one is what it is when the run ends."""
    _resources[0] = False


def enable_resource_variables():
    _resources[0] = True


def resource_variables_enabled():
    return _resources[0]


def disable_v2_behavior():
    """TensorFlow 1's: graphs and sessions, sizes as Dimensions."""
    disable_eager_execution()
    disable_v2_tensorshape()
    disable_resource_variables()


def enable_v2_behavior():
    enable_eager_execution()
    enable_v2_tensorshape()
    enable_resource_variables()
