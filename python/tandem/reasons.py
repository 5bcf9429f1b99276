"""Why a name of TensorFlow's is not there, by the beginning of the name: the longest that fits decides."""

_TABLE = """
lite | out of scope | Tandem writes no TFLite models; save with tf.saved_model.save and load with tf.saved_model.load
compat.v1.lite | out of scope | Tandem writes no TFLite models; save with tf.saved_model.save
tpu | out of scope | Tandem runs on CPUs and GPUs
compat.v1.tpu | out of scope | Tandem runs on CPUs and GPUs
compat.v1.experimental.output_all_intermediates | out of scope | it is for TPU estimators
mlir | out of scope | Tandem's graphs are not MLIR; f.get_concrete_function().graph shows one
compat.v1.mlir | out of scope | Tandem's graphs are not MLIR
quantization | later | there are no quantized kernels; compute in float32, float16 or bfloat16
compat.v1.quantization | later | there are no quantized kernels
experimental.dtensor | out of scope | tensors over a mesh of devices are not there; use tf.distribute.MirroredStrategy
experimental.tensorrt | out of scope | Tandem runs graphs itself
compat.v1.experimental | absent | it changes the way TensorFlow 1 runs
distribute.cluster_resolver | later | training over several processes is not there; use tf.distribute.MirroredStrategy
distribute.coordinator | later | there are no parameter servers; use tf.distribute.MirroredStrategy
distribute.experimental.coordinator | later | there are no parameter servers; use tf.distribute.MirroredStrategy
distribute.experimental.rpc | out of scope | processes do not call each other
distribute.experimental.partitioners | later | variables are not cut into shards
distribute.experimental | later | training over several processes is not there; use tf.distribute.MirroredStrategy
distribute.Server | later | training over several processes is not there; use tf.distribute.MirroredStrategy
distribute | later | only strategies for the devices of one process are there; use tf.distribute.MirroredStrategy
compat.v1.distribute | later | use tf.distribute.MirroredStrategy
data.experimental.service | out of scope | datasets run in the process that uses them
data.experimental | later | 
compat.v1.feature_column | later | use Keras's preprocessing layers
linalg | absent |
graph_util | later | graphs have no GraphDef
compat.v1.graph_util | later | graphs of sessions are not stored: build them by the program
compat.v1.saved_model | later | use tf.compat.v1.saved_model.simple_save and loader.load
compat.v1.train | later | use tf.train.Checkpoint or tf.data
compat.v1.train.import_meta_graph | later | graphs of sessions are not stored: build the graph by the program and restore with tf.train.Saver
compat.v1.train.export_meta_graph | later | graphs of sessions are not stored: save variables with tf.train.Saver, functions with tf.saved_model
compat.v1.train.SyncReplicasOptimizer | later | there are no parameter servers; use tf.distribute.MirroredStrategy
compat.v1.train.Server | later | processes do not call each other; use tf.distribute.MirroredStrategy
compat.v1.train.do_quantize_training_on_graphdef | later | there are no quantized kernels
compat.v1.train.sdca | out of scope | it is for estimators
compat.v1.create_partitioned_variables | later | variables are not cut into parts
compat.v1.import_graph_def | later | graphs of sessions are not stored: build them by the program
compat.v1.wrap_function | later | build a tf.Graph and run it with tf.compat.v1.Session
compat.v1.get_session_handle | later | fetch the value and feed it, or use a variable
compat.v1.get_session_tensor | later | fetch the value and feed it, or use a variable
compat.v1.delete_session_tensor | later | fetch the value and feed it, or use a variable
compat.v1.FixedLengthRecordReader | later | use tf.data.FixedLengthRecordDataset
compat.v1.TFRecordReader | later | use tf.data.TFRecordDataset
compat.v1.TextLineReader | later | use tf.data.TextLineDataset
compat.v1.WholeFileReader | later | use tf.data and tf.io.read_file
compat.v1.IdentityReader | later | use tf.data
compat.v1.LMDBReader | later | use tf.data.Dataset.from_generator
compat.v1.ReaderBase | later | use tf.data
compat.v1.nn | later | use tf.nn
compat.v1.data | later | use tf.data
compat.v1.profiler | out of scope | use tf.profiler.experimental
compat.v1.python_io | later | use tf.io
compat.v1.user_ops | out of scope | it is an example of TensorFlow's own
compat.v1 | later | use what stands for it in tf
lookup.experimental | absent | use tf.lookup.StaticHashTable or MutableHashTable
load_op_library | out of scope | op libraries are compiled for TensorFlow's own interface; write the op with tf.py_function or in C++
load_library | out of scope | libraries are compiled for TensorFlow's own interface; write the op with tf.py_function or in C++
compat.v1.load_op_library | out of scope | op libraries are compiled for TensorFlow's own interface; write the op with tf.py_function or in C++
compat.v1.load_library | out of scope | op libraries are compiled for TensorFlow's own interface; write the op with tf.py_function or in C++
profiler.experimental | absent | start a profile in the program itself
xla | later | functions are compiled by Tandem itself
compat.v1.xla | later | functions are compiled by Tandem itself
raw_ops | absent | no op of Tandem's has this meaning; use the public function that called it
__internal__ | absent | it is TensorFlow's inside
__operators__ | absent | it is TensorFlow's inside
sysconfig | out of scope | C++ code for TensorFlow does not fit Tandem
nn.experimental | absent |
autodiff | absent |
quantization.experimental | out of scope | Tandem writes no models for quantized hardware
dtypes.q | out of scope | use integers and scales of your own
linalg | absent |
config.experimental.ClusterDeviceFilters | later | training over several processes is not there
config.experimental_connect | later | training over several processes is not there; use the devices of this process
config.experimental.disable_mlir | out of scope | Tandem's graphs are not MLIR
config.experimental.enable_mlir | out of scope | Tandem's graphs are not MLIR
debugging | absent | use tf.debugging.check_numerics and tf.debugging.assert_all_finite on the tensors in question
experimental.StructuredTensor | absent | use tf.experimental.ExtensionType or tf.RaggedTensor
experimental.enable_strict_mode | absent | Tandem has no deprecated behaviour that it could refuse
experimental.register_filesystem_plugin | out of scope | plugins are compiled for TensorFlow's own interface; mount the files, or pass bytes
experimental.float | absent | use a dtype of 16 bits or more
experimental.int | absent | use a dtype of 8 bits or more
experimental.uint | absent | use a dtype of 8 bits or more
image.decode_jxl | absent | the library of this format is not linked; decode with another package and pass the array
image.decode_webp | absent | the library of this format is not linked; decode with another package and pass the array
io.decode_jxl | absent | the library of this format is not linked; decode with another package and pass the array
io.decode_webp | absent | the library of this format is not linked; decode with another package and pass the array
import_graph_def | later | graphs have no GraphDef
io.write_graph | later | graphs have no GraphDef
math.sobol_sample | absent | there is no table of direction numbers; draw with scipy.stats.qmc.Sobol and pass the array
random.experimental.index_shuffle | absent | there is no cipher of indices; use tf.random.experimental.stateless_shuffle of tf.range
random_index_shuffle | absent | there is no cipher of indices; use tf.random.experimental.stateless_shuffle of tf.range
nn.RNNCell | absent | wrap tf.keras.layers.RNN's cells
saved_model.experimental | absent | saved models of Tandem have checksums of their own, no fingerprint
test | absent | tests of TensorFlow's own processes and graphs; use tf.test.TestCase
train.experimental | absent | a checkpoint of Tandem has one file for values, which nothing cuts
types.experimental | absent | use tf.types.experimental.Callable
check_pinned | absent | where memory lies is the runtime's own
Operation | later | the ops of a graph are seen by f.get_concrete_function().graph
raw_ops.BoostedTrees | out of scope | it is for estimators, which TensorFlow itself has removed
raw_ops.IsBoostedTrees | out of scope | it is for estimators, which TensorFlow itself has removed
raw_ops.Quantize | out of scope | there are no quantized dtypes; use integers and scales of your own
raw_ops.Requantiz | out of scope | there are no quantized dtypes; use integers and scales of your own
raw_ops.Dequantize | out of scope | there are no quantized dtypes; use integers and scales of your own
raw_ops.UniformQuantize | out of scope | there are no quantized dtypes; use integers and scales of your own
raw_ops.UniformDequantize | out of scope | there are no quantized dtypes; use integers and scales of your own
raw_ops.UniformRequantize | out of scope | there are no quantized dtypes; use integers and scales of your own
raw_ops.Xla | out of scope | it runs only in TensorFlow's own compiler
raw_ops.TPU | out of scope | Tandem runs on CPUs and GPUs
raw_ops.Experimental | out of scope | it is an older name of a dataset's op; use tf.data
raw_ops.Collective | absent | use the methods of tf.distribute.ReplicaContext
raw_ops.Nccl | absent | use the methods of tf.distribute.ReplicaContext
raw_ops.Cudnn | absent | use tf.keras.layers.LSTM and GRU
raw_ops.Sdca | out of scope | it is for estimators, which TensorFlow itself has removed
raw_ops.Debug | absent | use tf.print and tf.debugging
raw_ops.Iterator | absent | use tf.data.Iterator
raw_ops.MultiDeviceIterator | absent | use tf.distribute.DistributedIterator
raw_ops.Snapshot | absent | use tf.data.Dataset.snapshot
raw_ops.Reader | out of scope | a graph of TensorFlow 1 alone has readers; use tf.data
raw_ops.Stack | absent | use tf.TensorArray
raw_ops.Map | absent | use tf.queue
raw_ops.OrderedMap | absent | use tf.queue
raw_ops.Barrier | absent | use tf.queue
raw_ops.SparseMatrix | absent | use tf.sparse
raw_ops.CSRSparseMatrix | absent | use tf.sparse
raw_ops.TensorMap | absent | use tf.lookup.experimental.MutableHashTable
raw_ops.TensorArray | out of scope | its handles are references of TensorFlow 1's graphs; use tf.TensorArray
raw_ops.Queue | out of scope | its handles are references of TensorFlow 1's graphs; use tf.queue
raw_ops.Write | absent | use tf.summary
raw_ops.Mutex | absent | use tf.CriticalSection
raw_ops.ResourceConditionalAccumulator | absent | add up gradients in a tf.Variable
raw_ops.ResourceAccumulator | absent | add up gradients in a tf.Variable
dtypes | absent | use a dtype of 16 bits or more
"""


def _rules():
    for line in _TABLE.strip().split("\n"):
        beginning, status, text = (part.strip() for part in line.split("|"))
        yield beginning, status, text


_RULES = sorted(_rules(), key=lambda rule: -len(rule[0]))


# Of raw ops, by a part of the name.
_PARTS = (
    ("TPU", "out of scope", "Tandem runs on CPUs and GPUs"),
    ("SparseCore", "out of scope", "Tandem runs on CPUs and GPUs"),
    ("PhysicalReplica", "out of scope", "Tandem runs on CPUs and GPUs"),
    ("MinibatchStatistics", "out of scope", "Tandem runs on CPUs and GPUs"),
    ("Infeed", "out of scope", "Tandem runs on CPUs and GPUs"),
    ("Outfeed", "out of scope", "Tandem runs on CPUs and GPUs"),
    ("Prelinearize", "out of scope", "Tandem runs on CPUs and GPUs"),
    ("Dataset", "absent", "use the methods of tf.data.Dataset"),
    ("Reader", "out of scope", "a graph of TensorFlow 1 alone has readers; use tf.data"),
    ("Summary", "absent", "use tf.summary"),
    ("Accumulator", "out of scope", "its handles are references of TensorFlow 1's graphs; add up gradients in a tf.Variable"),
    ("SeedGenerator", "absent", "use the methods of tf.data.Dataset"),
    ("Barrier", "absent", "use tf.queue"),
)
_LOOPS = frozenset("Enter Exit LoopCond Merge NextIteration Switch ControlTrigger".split())
_SESSIONS = frozenset(
    """DeleteSessionTensor GetSessionHandle GetSessionHandleV2 GetSessionTensor Send Recv FakeQueue WorkerHeartbeat GlobalIterId
    DistributedSave""".split()
)
_REFERENCE = "out of scope", "it changes a reference, which only TensorFlow 1's graphs have; use tf.Variable"
_REFERENCES = frozenset(
    """ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam ApplyAddSign ApplyCenteredRMSProp ApplyFtrl
    ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp
    Assign AssignAdd AssignSub CountUpTo DestroyTemporaryVariable IsVariableInitialized RefEnter RefExit RefIdentity RefMerge
    RefNextIteration RefSelect RefSwitch ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNdAdd ScatterNdMax
    ScatterNdMin ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate SparseApplyAdadelta SparseApplyAdagrad
    SparseApplyAdagradDA SparseApplyAdagradV2 SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum
    SparseApplyProximalAdagrad SparseApplyProximalGradientDescent SparseApplyRMSProp StridedSliceAssign TemporaryVariable
    Variable VariableV2 HashTable MutableHashTable MutableHashTableOfTensors MutableDenseHashTable InitializeTable
    InitializeTableFromTextFile LookupTableExport LookupTableFind LookupTableImport LookupTableInsert LookupTableSize FIFOQueue
    PaddingFIFOQueue PriorityQueue RandomShuffleQueue DebugGradientRefIdentity""".split()
)


def _of_raw_op(op):
    if op in _REFERENCES:
        return _REFERENCE
    if op in _LOOPS:
        return "out of scope", "it is a part of TensorFlow 1's loops; use tf.while_loop and tf.cond"
    if op in _SESSIONS:
        return "out of scope", "TensorFlow's executor puts it into graphs; nobody calls it"
    for part, status, text in _PARTS:
        if part in op and not op.startswith("Experimental"):
            return status, text
    return None


def reason(full):
    """(status, what to use instead) of an absent name."""
    found = _of_raw_op(full[8:]) if full.startswith("raw_ops.") else None
    if found is not None:
        return found
    for beginning, status, text in _RULES:
        if full.startswith(beginning):
            return status, text
    return "absent", ""


def private(path):
    """The same, of what is in a module of TensorFlow's inside."""
    if path.startswith(("lite.", "python.tpu.", "dtensor.")):
        return "out of scope", "Tandem runs on CPUs and GPUs and writes no TFLite models"
    if path.startswith("core.") or path.rpartition(".")[0].endswith("_pb2"):
        return "absent", "Tandem has no such message"
    return "absent", "it is TensorFlow's inside, and nothing here stands for it"
