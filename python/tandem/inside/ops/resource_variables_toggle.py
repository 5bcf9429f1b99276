"""tensorflow.python.ops.resource_variables_toggle: whether variables of graphs are resources or references."""

from tandem.graph_mode.switches import (  # noqa: F401
    disable_resource_variables,
    enable_resource_variables,
    resource_variables_enabled,
)
