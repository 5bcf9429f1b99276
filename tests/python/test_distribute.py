"""Strategies: replicas on two devices give what one device gives with the whole batch."""

import textwrap

import pytest
from conftest import has_real_gpu

PRELUDE = """
import numpy as np
import tandem as tf

if not tf.config.list_physical_devices("GPU"):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
strategy = tf.distribute.MirroredStrategy([f"/{kind}:0", f"/{kind}:1"])
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
context = tf.distribute.get_replica_context

def values(v):
    return [np.asarray(x).tolist() for x in strategy.experimental_local_results(v)]
"""


@pytest.fixture(params=[0, 2], ids=["cpus", "gpus"])
def program(request, run_python):
    """Runs a program with two logical CPUs, or two emulated GPUs."""

    def run(code):
        status, out, err = run_python(PRELUDE + textwrap.dedent(code), gpus=request.param)
        assert status == 0, out + err

    return run


def test_scopes_and_contexts(program):
    program("""
    assert not tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()
    assert context().num_replicas_in_sync == 1
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy and tf.distribute.in_cross_replica_context()
        assert context() is None

    def inside():
        assert tf.distribute.get_strategy() is strategy and not tf.distribute.in_cross_replica_context()
        assert context().num_replicas_in_sync == 2
        return context().replica_id_in_sync_group

    assert values(strategy.run(inside)) == [0, 1]
    assert [d[-5:] for d in strategy.extended.worker_devices] == [f"{kind}:0", f"{kind}:1"]
    try:
        strategy.run(lambda: strategy.run(inside))
    except RuntimeError:
        pass
    else:
        raise AssertionError("a run inside a replica")
    """)


def test_values_reduce_and_gather(program):
    program("""
    made = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant([1.0, 2.0]) * (c.replica_id_in_sync_group + 1))
    assert values(made) == [[1, 2], [2, 4]]
    doubled = strategy.run(lambda v, by: {"x": v * by, "n": None}, args=(made,), kwargs={"by": 2.0})
    assert values(doubled["x"]) == [[2, 4], [4, 8]] and doubled["n"] is None
    assert strategy.reduce("SUM", made, axis=None).numpy().tolist() == [3, 6]
    assert strategy.reduce(MEAN, made, axis=None).numpy().tolist() == [1.5, 3]
    assert float(strategy.reduce(SUM, made, axis=0)) == 9
    assert float(strategy.reduce(MEAN, made, axis=0)) == 2.25
    assert strategy.gather(made, axis=0).numpy().tolist() == [1, 2, 2, 4]
    try:
        strategy.reduce(SUM, tf.constant(1.0), axis=None)
    except ValueError as error:
        assert "cannot be reduced" in str(error)
    else:
        raise AssertionError("a sum of what is not per replica")
    """)


def test_collectives(program):
    program("""
    def inside():
        mine = tf.cast(context().replica_id_in_sync_group + 1, tf.float32)
        many = [tf.fill([3], mine), tf.fill([2, 2], mine * 10), mine]
        total, mean, gathered = (context().all_reduce(SUM, many), context().all_reduce(MEAN, mine),
                                 context().all_gather(tf.fill([1], mine), axis=0))
        return total, mean, gathered

    total, mean, gathered = strategy.run(inside)
    assert values(total[0]) == [[3, 3, 3]] * 2 and values(total[1]) == [[[30, 30], [30, 30]]] * 2
    assert values(total[2]) == [3, 3] and values(mean) == [1.5, 1.5] and values(gathered) == [[1, 2], [1, 2]]

    def merging():
        mine = tf.cast(context().replica_id_in_sync_group + 1, tf.float32)
        return context().merge_call(lambda s, v: s.reduce(SUM, v, axis=None), args=(mine,))

    assert values(strategy.run(merging)) == [3]  # one value, which all replicas have

    def slices():
        mine = context().replica_id_in_sync_group
        s = tf.IndexedSlices(tf.cast(tf.fill([1, 2], mine + 1), tf.float32), tf.fill([1], mine), tf.constant([2, 2]))
        return tf.convert_to_tensor(context().all_reduce(SUM, s))

    assert values(strategy.run(slices)) == [[[1, 1], [2, 2]]] * 2
    """)


def test_mirrored_variables(program):
    program("""
    with strategy.scope():
        v = tf.Variable(3.0)
        summed = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
        first = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    assert isinstance(v, tf.Variable) and isinstance(v, tf.distribute.DistributedValues)
    assert [c.device[-5:] for c in v.values] == [f"{kind}:0", f"{kind}:1"]
    v.assign(4.0)
    v.assign_add(1.0)
    assert values(v) == [5, 5]

    def inside():
        mine = tf.cast(context().replica_id_in_sync_group + 1, tf.float32)
        summed.assign_add(mine)
        first.assign(mine * 10)
        return v * mine

    assert values(strategy.run(inside)) == [5, 10]
    assert values(summed) == [3, 3] and values(first) == [10, 10]
    strategy.extended.update(v, lambda copy, x: copy.assign(x), args=(7.0,))
    assert values(v) == [7, 7]
    assert not isinstance(tf.Variable(1.0), tf.distribute.DistributedValues)
    """)


def test_variables_that_are_joined_when_read(program):
    program("""
    with strategy.scope():
        total = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ,
                            aggregation=tf.VariableAggregation.SUM)
        mean = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ,
                           aggregation=tf.VariableAggregation.MEAN)
    assert not total.trainable

    @tf.function
    def step():
        def inside():
            mine = tf.cast(context().replica_id_in_sync_group + 1, tf.float32)
            total.assign_add(mine)
            mean.assign(mine)
            return total + 0.0
        return strategy.run(inside)

    assert values(step()) == [1, 2] and values(step()) == [2, 4]
    assert float(total) == 6 and float(total + 1.0) == 7 and float(mean) == 1.5
    total.assign(10.0)
    assert float(total) == 10
    total.assign_add(1.0)
    assert float(total) == 11
    """)


# Batches of 5, 5 and 2 rows: replicas get 3 and 2, 3 and 2, 1 and 1.
STEPS = """
rng = np.random.RandomState(0)
x, y = rng.randn(12, 4).astype(np.float32), rng.randn(12, 1).astype(np.float32)
start = rng.randn(4, 1).astype(np.float32)
alone = tf.Variable(start)
with strategy.scope():
    w = tf.Variable(start)

def loss_of(weights, a, b):
    return tf.reduce_sum(tf.square(tf.matmul(a, weights) - b)) / 12.0

@tf.function
def step(a, b):
    def inside(a, b):
        with tf.GradientTape() as tape:
            loss = loss_of(w, a, b)
        gradient = context().all_reduce(SUM, tape.gradient(loss, w))
        w.assign_sub(0.1 * gradient)
        return loss
    return strategy.reduce(SUM, strategy.run(inside, args=(a, b)), axis=None)

batches = [(tf.constant(x[i:i + 5]), tf.constant(y[i:i + 5])) for i in (0, 5, 10)]
for _ in range(3):
    for (a, b), cut in zip(batches, strategy.experimental_distribute_dataset(batches)):
        with tf.GradientTape() as tape:
            loss = loss_of(alone, a, b)
        alone.assign_sub(0.1 * tape.gradient(loss, alone))
        np.testing.assert_allclose(step(*cut), loss, rtol=1e-5)
np.testing.assert_allclose(values(w)[0], alone, rtol=1e-5)
"""


def test_a_step_equals_one_device(program):
    program(STEPS + "assert values(w)[0] == values(w)[1]")


def test_a_step_on_a_real_and_an_emulated_gpu(run_python):
    """Replicas on devices that reach each other by way of the host, and round differently."""
    if not has_real_gpu():
        pytest.skip("no real GPU here")
    code = PRELUDE + STEPS + "np.testing.assert_allclose(values(w)[0], values(w)[1], rtol=1e-5)"
    status, out, err = run_python(code, env={"TANDEM_EMULATE_GPUS": "1", "TANDEM_TF32": "0"})
    assert status == 0, out + err


def test_one_replica_and_defaults(program):
    program("""
    one = tf.distribute.OneDeviceStrategy(f"/{kind}:1")
    with one.scope():
        v = tf.Variable([1.0, 2.0])
    assert v.device.endswith(f"{kind}:1")
    result = one.run(lambda a: v * a, args=(tf.constant(2.0),))
    assert result.numpy().tolist() == [2, 4] and result.device.endswith(f"{kind}:1")
    assert tf.distribute.MirroredStrategy().num_replicas_in_sync == 2
    assert tf.distribute.MirroredStrategy(["/CPU:0"]).num_replicas_in_sync == 1
    for wrong in (["/GPU:9"], ["nothing"], [f"/{kind}:0", f"{kind}:0"], []):
        try:
            tf.distribute.MirroredStrategy(wrong)
        except ValueError:
            continue
        raise AssertionError(wrong)
    assert tf.nn.compute_average_loss([2.0, 4.0], global_batch_size=4).numpy() == 1.5
    """)


def test_a_value_from_outside_is_one_value(program):
    program("""
    outside = tf.constant(3.0)

    def reduce():
        replica = tf.distribute.get_replica_context()
        return replica.all_reduce(SUM, [outside, tf.constant(3.0), outside * 1.0])

    shared, inside, computed = strategy.run(reduce)
    assert values(shared) == [3, 3], values(shared)
    assert values(inside) == [6, 6] and values(computed) == [6, 6]
    """)


def test_fit_takes_a_dataset_that_one_replica_reads(run_python):
    status, out, err = run_python("""
    import tandem as tf
    from tandem import keras

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    made = lambda c: tf.data.Dataset.from_tensor_slices((tf.ones((4, 1)), tf.ones((4, 2)))).batch(2)
    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    history = model.fit(strategy.distribute_datasets_from_function(made), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2
    """)
    assert status == 0, out + err
