"""Where tandem has what TensorFlow's modules of graph mode define: "module: file of graph_mode | names"."""

import importlib

_TABLE = """
python.client.session: session | Session InteractiveSession BaseSession
python.framework.stack: session | get_default_session
python.framework.ops: collections | GraphKeys add_to_collection add_to_collections get_collection get_collection_ref
python.framework.ops: operation | Operation
python.framework.ops: scopes | name_scope_v1=name_scope op_scope
python.framework.ops: switches | disable_eager_execution
python.framework.tensor: switches | disable_tensor_equality
python.framework.tensor_shape: switches | disable_v2_tensorshape
python.framework.sparse_tensor: values | SparseTensorValue
python.framework.indexed_slices: values | IndexedSlicesValue
python.framework.graph_util_impl: messages | GraphDef
python.ops.ragged.ragged_tensor_value: values | RaggedTensorValue
python.compat.v2_compat: switches | disable_v2_behavior
python.ops.control_flow_v2_toggles: switches | disable_control_flow_v2
python.ops.resource_variables_toggle: switches | disable_resource_variables
python.ops.variable_scope: scopes | AUTO_REUSE VariableScope get_local_variable get_variable get_variable_scope
python.ops.variable_scope: scopes | variable_creator_scope_v1=variable_creator_scope variable_op_scope variable_scope
python.ops.variables: collections | global_variables local_variables model_variables trainable_variables
python.ops.variables: collections | moving_average_variables all_variables=global_variables
python.ops.variables: variables | global_variables_initializer local_variables_initializer variables_initializer
python.ops.variables: variables | assert_variables_initialized report_uninitialized_variables
python.ops.variables: variables | initialize_all_variables=global_variables_initializer
python.ops.variables: variables | initialize_local_variables=local_variables_initializer
python.ops.variables: variables | initialize_variables=variables_initializer
python.ops.variable_v1: variables | is_variable_initialized
python.ops.array_ops: ops | placeholder placeholder_with_default sparse_placeholder
python.proto_exports: configuration | ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions
python.proto_exports: messages | NodeDef
python.training.optimizer: optimizer | Optimizer
python.training.gradient_descent: optimizers | GradientDescentOptimizer
python.training.momentum: optimizers | MomentumOptimizer
python.training.adam: optimizers | AdamOptimizer
python.training.adagrad: optimizers | AdagradOptimizer
python.training.adagrad_da: optimizers | AdagradDAOptimizer
python.training.adadelta: optimizers | AdadeltaOptimizer
python.training.rmsprop: optimizers | RMSPropOptimizer
python.training.ftrl: optimizers | FtrlOptimizer
python.training.proximal_adagrad: optimizers | ProximalAdagradOptimizer
python.training.proximal_gradient_descent: optimizers | ProximalGradientDescentOptimizer
"""


def _entries():
    found = {}
    for line in _TABLE.strip().splitlines():
        module, _, rest = line.partition(": ")
        file, _, names = rest.partition(" | ")
        for entry in names.split():
            own, _, here = entry.partition("=")
            found.setdefault(module, {})[own] = (file, here or own)
    return found


_PLACES = _entries()


def find(module, name):
    """The object of graph mode that a module of TensorFlow calls `name`, or None."""
    place = _PLACES.get(module, {}).get(name)
    if place is None:
        return None
    return getattr(importlib.import_module("tandem.graph_mode." + place[0]), place[1])
