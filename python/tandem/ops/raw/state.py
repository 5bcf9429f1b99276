"""Raw ops on what keeps a value: variables, tables, tensor arrays, optionals, files."""

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.framework.variable import variable_of  # noqa: F401  (a name in the table)
from tandem.ops.raw.arrays import text_of, values  # noqa: F401  (names in the table)
from tandem.ops.raw.steps import (  # noqa: F401  (names in the table)
    adadelta, adagrad, adagrad_da, adagrad_v2, adam, adamax, add_sign, amsgrad, centered_rms_prop, ftrl,
    gradient_descent, keras_momentum, momentum, power_sign, proximal_adagrad, proximal_gradient_descent, rms_prop,
    sparse_step, step,
)  # fmt: skip

TABLE = """
AssignVariableOp: AssignVariableOp(resource, value)
ReadVariableOp: ReadVariableOp(resource)
ResourceApplyAdaMax: step(adamax, locals())
ResourceApplyAdadelta: step(adadelta, locals())
ResourceApplyAdagrad: step(adagrad, locals())
ResourceApplyAdagradDA: step(adagrad_da, locals())
ResourceApplyAdagradV2: step(adagrad_v2, locals())
ResourceApplyAdam: step(adam, locals())
ResourceApplyAdamWithAmsgrad: step(amsgrad, locals())
ResourceApplyAddSign: step(add_sign, locals())
ResourceApplyCenteredRMSProp: step(centered_rms_prop, locals())
ResourceApplyFtrl, ResourceApplyFtrlV2: step(ftrl, locals())
ResourceApplyGradientDescent: step(gradient_descent, locals())
ResourceApplyKerasMomentum: step(keras_momentum, locals())
ResourceApplyMomentum: step(momentum_of, locals())
ResourceApplyPowerSign: step(power_sign, locals())
ResourceApplyProximalAdagrad: step(proximal_adagrad, locals())
ResourceApplyProximalGradientDescent: step(proximal_gradient_descent, locals())
ResourceApplyRMSProp: step(rms_prop, locals())
ResourceSparseApplyAdadelta: sparse_step(adadelta, locals())
ResourceSparseApplyAdagrad: sparse_step(adagrad, locals())
ResourceSparseApplyAdagradDA: sparse_step(adagrad_da, locals())
ResourceSparseApplyAdagradV2: sparse_step(adagrad_v2, locals())
ResourceSparseApplyCenteredRMSProp: sparse_step(centered_rms_prop, locals())
ResourceSparseApplyFtrl, ResourceSparseApplyFtrlV2: sparse_step(ftrl, locals())
ResourceSparseApplyKerasMomentum: sparse_step(keras_momentum, locals())
ResourceSparseApplyMomentum: sparse_step(momentum_of, locals())
ResourceSparseApplyProximalAdagrad: sparse_step(proximal_adagrad, locals())
ResourceSparseApplyProximalGradientDescent: sparse_step(proximal_gradient_descent, locals())
ResourceSparseApplyRMSProp: sparse_step(rms_prop, locals())
ResourceCountUpTo: variable_of(resource).count_up_to(limit)
ResourceGather: tf.gather(ReadVariableOp(resource), indices, batch_dims=batch_dims)
ResourceGatherNd: GatherNd(ReadVariableOp(resource), indices)
ResourceScatterNdAdd: done(variable_of(ref).scatter_nd_add(indices, updates))
ResourceScatterNdSub: done(variable_of(ref).scatter_nd_sub(indices, updates))
ResourceScatterNdMax: done(variable_of(ref).scatter_nd_max(indices, updates))
ResourceScatterNdMin: done(variable_of(ref).scatter_nd_min(indices, updates))
ResourceScatterNdUpdate: done(variable_of(ref).scatter_nd_update(indices, updates))
ResourceStridedSliceAssign: done(variable_of(ref).assign(TensorStridedSliceUpdate(ReadVariableOp(ref), begin, end, strides, value, begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask)))
DisableCopyOnRead: None
VarIsInitializedOp: variable_of(resource).is_initialized()
VariableShape: Shape(ReadVariableOp(input), out_type=out_type)
AnonymousMutableHashTable, MutableHashTableV2: new_table(key_dtype, value_dtype)
AnonymousHashTable, HashTableV2: new_table(key_dtype, value_dtype)
InitializeTableV2, LookupTableInsertV2: table(table_handle).insert(keys, values)
InitializeTableFromTextFileV2: from_file(table(table_handle), filename, key_index, value_index, vocab_size, delimiter, offset)
LookupTableImportV2: imported(table(table_handle), keys, values)
LookupTableFindV2: found(table(table_handle), keys, default_value)
LookupTableRemoveV2: table(table_handle).remove(keys)
LookupTableSizeV2: table(table_handle).size()
LookupTableExportV2: table(table_handle).export()
AnonymousMutableDenseHashTable, MutableDenseHashTableV2: dense_table(empty_key, deleted_key, value_dtype)
OptionalFromValue: tf.experimental.Optional.from_value(tuple(components))
OptionalGetValue: listed(optional.get_value())
OptionalHasValue: optional.has_value()
TensorArrayV3: (Handle(size, dtype, element_shape, dynamic_size, clear_after_read), tf.constant(0.0))
TensorArrayV2: Handle(size, dtype, element_shape, dynamic_size, clear_after_read)
TensorArrayCloseV2, TensorArrayCloseV3: handle.close()
TensorArrayWriteV2, TensorArrayWriteV3: handle.after(flow_in, 'write', index, value)
TensorArrayScatterV2, TensorArrayScatterV3: handle.after(flow_in, 'scatter', indices, value)
TensorArraySplitV2, TensorArraySplitV3: handle.after(flow_in, 'split', value, lengths)
TensorArrayReadV2, TensorArrayReadV3: handle.array.read(index)
TensorArrayGatherV2, TensorArrayGatherV3: handle.array.gather(indices)
TensorArrayConcatV2, TensorArrayConcatV3: handle.joined()
TensorArraySizeV2, TensorArraySizeV3: handle.array.size()
FIFOQueueV2: tf.queue.FIFOQueue(capacity, component_types, shapes or None)
PaddingFIFOQueueV2: tf.queue.PaddingFIFOQueue(capacity, component_types, shapes)
RandomShuffleQueueV2: tf.queue.RandomShuffleQueue(capacity, min_after_dequeue, component_types, shapes or None, seed=seed or seed2 or None)
PriorityQueueV2: tf.queue.PriorityQueue(capacity, component_types, shapes or None)
QueueEnqueueV2: done(handle.enqueue(components))
QueueEnqueueManyV2: done(handle.enqueue_many(components))
QueueDequeueV2: listed(handle.dequeue())
QueueDequeueManyV2: listed(handle.dequeue_many(n))
QueueDequeueUpToV2: listed(handle.dequeue_up_to(n))
QueueCloseV2: handle.close(cancel_pending_enqueues)
QueueIsClosedV2: handle.is_closed()
QueueSizeV2: handle.size()
RestoreV2: restored(text_of(prefix), tensor_names, shape_and_slices, dtypes)
"""

momentum_of = momentum


def done(value):
    """Of an op without results: nothing."""


def table(handle):
    """The table of a handle: the object, or the number that `resource_handle` gives."""
    from tandem.ops import lookup

    return lookup.table_of(handle) if isinstance(handle, int) else handle


def new_table(key_dtype, value_dtype):
    from tandem.ops.lookup import MutableHashTable

    value_dtype = _core.as_dtype(value_dtype)
    return MutableHashTable(key_dtype, value_dtype, "" if value_dtype.name == "string" else 0)


def dense_table(empty_key, deleted_key, value_dtype):
    from tandem.ops.lookup import DenseHashTable

    value_dtype, key = _core.as_dtype(value_dtype), convert_to_tensor(empty_key)
    return DenseHashTable(key.dtype, value_dtype, "" if value_dtype.name == "string" else 0, key, deleted_key)


def from_file(table, filename, key_index, value_index, most, delimiter, offset):
    from tandem.ops.lookup import TextFileInitializer

    initializer = TextFileInitializer(
        text_of(filename), table.key_dtype, key_index, table.value_dtype, value_index, None if most < 0 else most,
        delimiter, value_index_offset=offset,
    )  # fmt: skip
    table.fill = table.insert
    initializer.initialize(table)


def imported(table, keys, values):
    table.remove(table.export()[0])
    table.insert(keys, values)


def found(table, keys, default):
    keys = convert_to_tensor(keys)
    default = convert_to_tensor(default, table.value_dtype)
    return execute("LookupTableFindV2", table._keys(keys), default, table=table.resource_handle)


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Handle:
    """What the raw ops take for a tensor array: it has the one that the last of them left."""

    def __init__(self, size, dtype, element_shape, dynamic_size, clear_after_read):
        from tandem.ops.tensor_array import TensorArray

        shape = None if element_shape is None else element_shape
        self.array = TensorArray(
            dtype, size, dynamic_size=dynamic_size, clear_after_read=clear_after_read, element_shape=shape, infer_shape=False
        )

    def after(self, flow, method, *arguments):
        self.array = getattr(self.array, method)(*arguments)
        return convert_to_tensor(flow)

    def joined(self):
        lengths = [execute("Shape", self.array.read(i), out_type="int64")[0] for i in range(int(self.array.size()))]
        return self.array.concat(), execute("Pack", lengths, axis=0)

    def close(self):
        self.array = None


def restored(prefix, names, slices, dtypes):
    """Tensors of a checkpoint by name."""
    from tandem import train

    reader = train.load_checkpoint(prefix)
    names = [n.decode() if isinstance(n, bytes) else n for n in values(names)]
    if any(text_of(s) for s in values(slices)):
        raise NotImplementedError("tf.raw_ops.RestoreV2 reads whole tensors in Tandem: pass '' in shape_and_slices.")
    return [convert_to_tensor(reader.get_tensor(n), d) for n, d in zip(names, dtypes)]
