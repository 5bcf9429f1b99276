"""What scripts about devices, strategies and seeds ask and print: answers and errors are TensorFlow's."""

import numpy as np
import pytest

import tandem as tf

# ---- Devices


@pytest.mark.parametrize(("visible", "seen"), [("-1", 0), ("", 0), ("0", 1), ("1,0", 2), ("0,7", 1), ("x", 0), ("0,0", 0)])
def test_cuda_visible_devices_hides_emulated_gpus(run_python, visible, seen):
    status, out, err = run_python(
        f"""
        import os
        os.environ["CUDA_VISIBLE_DEVICES"] = {visible!r}
        import tandem as tf
        print(len(tf.config.list_physical_devices("GPU")), len(tf.config.list_logical_devices("GPU")))
        """,
        gpus=2,
    )
    assert (status, out.split()) == (0, [str(seen)] * 2), err


def test_a_gpu_that_is_not_there(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        x = tf.ones(2)
        for call in (x.gpu, lambda: x.gpu(1), lambda: tf.config.experimental.get_memory_info("GPU"),
                     lambda: tf.config.experimental.get_memory_info("GPU:0")):
            try:
                call()
            except (RuntimeError, ValueError) as error:
                print(type(error).__name__)
        print(tf.config.experimental.get_device_details(tf.config.list_physical_devices("CPU")[0]))
        """,
        gpus=0,
    )
    assert (status, out.split()) == (0, ["RuntimeError"] * 2 + ["ValueError"] * 2 + ["{}"]), err


def test_dlpack_keeps_the_device(run_python):
    status, out, err = run_python(
        """
        import numpy as np, tandem as tf
        for device in ("CPU", "GPU"):
            with tf.device(device + ":0"):
                x = tf.constant([1.0, 2.0]) + 1
            back = tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x))
            assert device in back.device and back.numpy().tolist() == [2.0, 3.0], back
        """,
        gpus=1,
    )
    assert status == 0, out + err


# ---- Determinism and seeds

DRAWS = """
tf.random.uniform([1])
tf.random.shuffle(tf.range(3))
tf.nn.dropout(tf.ones([3]), 0.5)
tf.random.categorical([[1.0, 1.0]], 1)
tf.random.poisson([1], 1.0)
tf.function(lambda: tf.random.normal([1]))()
list(tf.data.Dataset.range(3).shuffle(3))
tf.image.random_flip_left_right(tf.ones([2, 2, 3]))
tf.random.Generator.from_non_deterministic_state()
tf.random.get_global_generator()
"""


def test_random_ops_need_a_seed_under_determinism(run_python):
    status, out, err = run_python(
        f"""
        import tandem as tf
        tf.config.experimental.enable_op_determinism()
        calls = {DRAWS.strip().splitlines()!r}
        for call in calls:
            try:
                eval(call)
                print("not refused:", call)
            except RuntimeError as error:
                assert "determinism is enabled" in str(error)
        tf.random.uniform([1], seed=1), tf.random.Generator.from_seed(1).normal([1])
        tf.random.stateless_uniform([1], [1, 2])
        tf.random.set_seed(1)
        for call in calls[:-2]:
            eval(call)
        """
    )
    assert (status, out) == (0, ""), out + err


@pytest.mark.parametrize(
    ("rows", "orders"),  # TensorFlow's, for the global seed 7 and the op's seed 1
    [
        (5, [[3, 4, 1, 0, 2], [4, 1, 2, 3, 0], [2, 3, 0, 4, 1]]),
        (9, [[0, 8, 4, 3, 1, 5, 6, 7, 2], [7, 0, 5, 4, 1, 3, 8, 6, 2], [3, 5, 4, 6, 8, 1, 0, 2, 7]]),
    ],
)
def test_shuffles_one_after_the_other(rows, orders):
    def shuffle(x):
        return tf.random.shuffle(x, seed=1)

    open_sizes = tf.function(shuffle, input_signature=[tf.TensorSpec([None], tf.int32)])
    for f in (shuffle, tf.function(shuffle), open_sizes):
        tf.random.set_seed(7)
        assert [f(tf.range(rows)).numpy().tolist() for _ in orders] == orders


def losses(shuffle):
    r = np.random.RandomState(0)
    x, y = r.normal(size=(37, 4)).astype("float32"), r.normal(size=(37, 1)).astype("float32")
    tf.keras.utils.set_random_seed(7)
    layers = [tf.keras.Input((4,)), tf.keras.layers.Dense(3, activation="tanh"), tf.keras.layers.Dropout(0.3),
              tf.keras.layers.Dense(1)]  # fmt: skip
    model = tf.keras.Sequential(layers)
    model.compile("sgd", "mse")
    return model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=shuffle).history["loss"]


@pytest.mark.parametrize(
    ("shuffle", "expected"),  # TensorFlow's
    [(True, [2.12224, 1.64497, 1.89168]), ("batch", [2.17852, 1.64394, 1.52789])],
)
def test_fit_on_arrays_has_the_losses_of_tensorflow(shuffle, expected):
    np.testing.assert_allclose(losses(shuffle), expected, rtol=1e-4)


# ---- Strategies

MERGING = """
import tandem as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

def number():
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32) + 1.0

def merging(merge):
    return lambda: tf.distribute.get_replica_context().merge_call(merge, args=(number(),))

for run in (strategy.run, tf.function(strategy.run)):
    total = run(merging(lambda s, v: s.reduce("SUM", v, axis=None) * 2))
    assert isinstance(total, tf.Tensor) and float(total) == 6.0, total
    parts = run(merging(lambda s, v: s.experimental_local_results(v)))
    assert [float(p) for p in parts] == [1.0, 2.0], parts
    same = run(merging(lambda s, v: v))
    assert [float(p) for p in strategy.experimental_local_results(same)] == [1.0, 2.0], same
print(strategy.run(number))
print(repr(strategy.run(number)))
"""


def test_results_of_merge_call_are_one_for_all_replicas(run_python):
    status, out, err = run_python(MERGING, gpus=0)
    assert status == 0, err
    assert out.splitlines() == [
        "PerReplica:{", "  0: tf.Tensor(1.0, shape=(), dtype=float32),", "  1: tf.Tensor(2.0, shape=(), dtype=float32)", "}",
        "PerReplica:{", "  0: <tf.Tensor: shape=(), dtype=float32, numpy=1.0>,",
        "  1: <tf.Tensor: shape=(), dtype=float32, numpy=2.0>", "}",
    ]  # fmt: skip


def test_a_cluster_of_one_worker(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert type(strategy).__name__ == "CollectiveAllReduceStrategy" and strategy.cluster_resolver.task_type is None
    with strategy.scope():
        assert strategy.num_replicas_in_sync == len(strategy.extended.worker_devices)
    assert type(tf.distribute.get_strategy()).__name__ == "_DefaultDistributionStrategy"
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}')
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    assert (resolver.task_type, resolver.task_id, resolver.master(rpc_layer="grpc")) == ("worker", 1, "grpc://b:2")
    with pytest.raises(NotImplementedError, match="2 processes"):
        tf.distribute.MultiWorkerMirroredStrategy()


def test_variable_policy():
    policy = tf.saved_model.experimental.VariablePolicy
    options = tf.saved_model.SaveOptions(experimental_variable_policy="expand_distributed_variables")
    assert options.experimental_variable_policy is policy.EXPAND_DISTRIBUTED_VARIABLES
    assert tf.saved_model.SaveOptions().experimental_variable_policy is policy.NONE
    with pytest.raises(ValueError, match="invalid VariablePolicy"):
        tf.saved_model.SaveOptions(experimental_variable_policy="both")


# ---- NumPy's methods, the log, names that are absent

NUMPY = """
import numpy as np
import tandem as tf
tf.experimental.numpy.experimental_enable_numpy_behavior()
f, i, i8 = tf.constant([1.0, 2.0]), tf.constant([1, 2]), tf.constant([1, 2], tf.int8)
for value, dtype, values in [
    (f.clip(1.5, 3), "float32", [1.5, 2.0]), (f.flatten(), "float32", [1.0, 2.0]), (f.transpose(), "float32", [1.0, 2.0]),
    (i * 2.5, "float64", [2.5, 5.0]), (f * 2.5, "float32", [2.5, 5.0]), (f + i, "float64", [2.0, 4.0]),
    (i8 + i, "int32", [2, 4]), (i8 * 300, "int8", [44, 88]), (np.ones(2) + f, "float64", [2.0, 3.0]),
    (f == i, "bool", [True, True]), (f @ f, "float32", 5.0), (i % 2.0, "float64", [1.0, 0.0]),
]:
    assert value.dtype == dtype and value.tolist() == values, value
"""


def test_numpy_behaviour(run_python):
    status, out, err = run_python(NUMPY)
    assert status == 0, out + err


def test_the_logger_of_warnings(run_python):
    status, out, err = run_python(
        """
        import sys
        import tandem as tf
        @tf.function
        def f(x):
            return x
        for level in ("WARNING", "ERROR"):
            tf.get_logger().setLevel(level)
            for n in range(1, 9):
                f(tf.zeros([n, len(level)]))
        """
    )
    assert status == 0 and err.count("triggered tf.function retracing") == 2, err
    assert err.startswith("WARNING:tensorflow:5 out of the last 5 calls")


def test_an_absent_name_is_no_endless_list():
    with pytest.raises(TypeError, match="not iterable"):
        list(tf.tpu.experimental.DeviceAssignment)


# ---- Messages


def test_a_limit_of_ours_is_not_the_users_fault():
    traced = tf.function(lambda k: tf.linalg.diag(tf.ones([2, 3]), k=k), input_signature=[tf.TensorSpec([2], tf.int32)])
    with pytest.raises(TypeError, match=r"tandem\.ops\..* wants a value .*limit of Tandem") as caught:
        traced(tf.constant([-1, 0]))
    assert "Return it" not in str(caught.value) and "@tf.function" not in str(caught.value)


def test_a_fault_of_the_user_gets_the_advice_of_tensorflow():
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="decorate this function"):
        tf.function(lambda x: [v for v in x], autograph=False)(tf.constant([1.0, 2.0]))
    with pytest.raises(TypeError, match="Return it"):
        tf.function(lambda x: int(x), autograph=False)(tf.constant(1))


def test_check_numerics_names_the_op():
    tf.debugging.enable_check_numerics()
    try:
        x = tf.constant([1.0, -1.0])
        for f in (tf.math.log, tf.function(lambda v: tf.math.log(v) + 1.0)):
            with pytest.raises(tf.errors.InvalidArgumentError, match='Detected Infinity or NaN in output 0 of .* op "Log"'):
                f(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sqrt(tf.abs(x) - 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Detected Infinity or NaN"):
            tape.gradient(y, x)
    finally:
        tf.debugging.disable_check_numerics()
    assert np.isnan(tf.math.log(tf.constant(-1.0)))


def test_a_check_on_a_gpu_raises_at_once(run_python):
    status, out, err = run_python(
        """
        import tandem as tf
        for check in (tf.debugging.check_numerics, tf.debugging.assert_all_finite):
            try:
                check(tf.constant(float("nan")), "bad")
            except tf.errors.InvalidArgumentError:
                print("refused")
        """,
        gpus=1,
    )
    assert (status, out.split()) == (0, ["refused"] * 2), err


def test_an_option_that_only_a_run_knows():
    flag = tf.TensorSpec([], tf.bool)
    with pytest.raises(TypeError, match="symbolic"):
        tf.function(lambda f: tf.cumsum([1, 2], exclusive=f), input_signature=[flag], autograph=False)(True)


# ---- Lookups


def test_safe_lookups_keep_the_outer_dimensions():
    table = tf.reshape(tf.range(12.0), [4, 3])
    ids = tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]], [1, -2, 3, 2], [2, 2, 2])
    found = tf.nn.safe_embedding_lookup_sparse(table, ids, default_id=2)
    assert found.numpy().tolist() == [[[3, 4, 5], [6, 7, 8]], [[7.5, 8.5, 9.5], [6, 7, 8]]]
    weights = tf.SparseTensor(ids.indices, [1.0, 2.0, 0.0, 3.0], [2, 2, 2])
    found = tf.nn.safe_embedding_lookup_sparse(table, ids, weights)
    assert found.numpy().tolist() == [[[3, 4, 5], [0, 0, 0]], [[6, 7, 8], [0, 0, 0]]]


# ---- What libraries look at


def test_served_tensors_are_of_a_module_of_tensorflow(run_python):
    code = """
    import pickle
    import tensorflow as tf
    x = tf.constant([1.0])
    assert type(x).__module__.startswith("tensorflow.") and repr(type(x)).startswith("<class 'tensorflow."), type(x)
    assert pickle.loads(pickle.dumps(type(x))) is type(x) and pickle.loads(pickle.dumps(x)).numpy() == [1.0]
    """
    status, out, err = run_python(code, arguments=["-m", "tandem", "run", "--quiet"])
    assert status == 0, out + err


def test_what_libraries_ask_of_eager_tensors():
    x = tf.constant([[1.0, 2.0]])
    assert (x._rank(), x._num_elements(), x._shape_tuple(), x._shape_as_list()) == (2, 2, (1, 2), [1, 2])
    assert x._numpy().tolist() == [[1.0, 2.0]] and not x.is_packed and x._copy() is x and x._tensor_shape == [1, 2]
    tf.function(lambda s: hasattr(s, "_numpy") and pytest.fail("a symbolic tensor has no value"))(x)


def test_argument_lists_are_those_of_the_function_itself():
    import functools

    from tandem.python.util import tf_inspect

    def f(a, b=2):
        return a

    @functools.wraps(f)
    def g(*args):
        return f(*args)

    assert tf_inspect.getfullargspec(g).args == [] and tf_inspect.getfullargspec(f).args == ["a", "b"]
    assert tf_inspect.getfullargspec(tf.function(f)).args == ["a", "b"]
