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
compat.v1.graph_util | later | graphs have no GraphDef
compat.v1.Session | later | there are no sessions: call a tf.function
compat.v1.InteractiveSession | later | there are no sessions: call a tf.function
compat.v1.saved_model | later | use tf.saved_model.save and tf.saved_model.load
compat.v1.train | later | use tf.keras.optimizers, tf.train.Checkpoint or tf.data
compat.v1.GraphDef | later | graphs have no GraphDef
compat.v1.ConfigProto | later | there are no sessions: tf.config has what is configured
compat.v1.losses | later | use tf.keras.losses
compat.v1.metrics | later | use tf.keras.metrics
compat.v1.nn | later | use tf.nn
compat.v1.summary | later | use tf.summary
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
dtypes | absent | use a dtype of 16 bits or more
"""


def _rules():
    for line in _TABLE.strip().split("\n"):
        beginning, status, text = (part.strip() for part in line.split("|"))
        yield beginning, status, text


_RULES = sorted(_rules(), key=lambda rule: -len(rule[0]))


def reason(full):
    """(status, what to use instead) of an absent name."""
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
