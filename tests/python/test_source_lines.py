"""Nodes of traced functions know the user's line: in explain(), in profiles and in errors."""

import inspect
import json
import os

import pytest

import tandem as tf


def line_of(text, function=None):
    """The number of the line of this file (of a function in it) that contains the text."""
    lines, first = inspect.getsourcelines(function) if function else (open(__file__).read().split("\n"), 1)
    return first + next(i for i, line in enumerate(lines) if text in line)


HERE = os.path.basename(__file__)


@tf.function
def lookup(table, ids):
    rows = tf.gather(table, ids)  # the lookup
    return rows * 2.0


def helper(x):
    return tf.linalg.matmul(x, x)  # the helper's product


@tf.function
def branches(x, n):
    i = 0
    while i < n:
        if tf.reduce_sum(x) > 0.0:
            x = helper(x)
        else:
            x = tf.math.tanh(x)  # in a branch of a loop
        i += 1
    return x


def test_explain_names_lines():
    lookup(tf.ones([3, 2]), tf.constant([0, 1]))
    assert f"at {HERE}:{line_of('# the lookup')}" in lookup.explain()
    branches(tf.ones([2, 2]), tf.constant(2))
    text = branches.explain()
    assert f"at {HERE}:{line_of('x, x)  # the helper')}" in text
    assert f"at {HERE}:{line_of('# in a branch of a loop')}" in text


def test_gradients_have_the_lines_of_what_they_are_of():
    x = tf.ones([2, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = branches(x, tf.constant(2))
    tape.gradient(y, x)
    text = branches.explain().split("its gradient")[1]
    assert f"at {HERE}:{line_of('x, x)  # the helper')}" in text


def test_errors_name_op_and_line():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        lookup(tf.ones([3, 2]), tf.constant([0, 7])).numpy()  # a GPU says it when somebody looks
    message = str(caught.value)
    assert "GatherV2" in message
    assert f"{__file__}:{line_of('# the lookup')}, in lookup" in message
    lookup(tf.ones([3, 2]), tf.constant([0, 2]))  # goes on


def test_errors_in_loops_name_the_line_once():
    @tf.function
    def walk(table, n):
        total = 0.0
        for i in tf.range(n):
            total += table[i]  # one too many
        return total

    assert float(walk(tf.ones([3]), tf.constant(3))) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        float(walk(tf.ones([3]), tf.constant(4)))
    message = str(caught.value)
    assert f":{line_of('# one too many')}, in walk" in message
    assert message.count("{{node") == 1


def test_assertions_name_the_line():
    @tf.function
    def positive(x):
        tf.debugging.assert_positive(x)  # the assertion
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match=f":{line_of('# the assertion')}"):
        positive(tf.constant([1.0, -1.0]))


def test_errors_on_a_device_name_the_line(run_python):
    status, out, err = run_python(
        """
        import tandem as tf

        @tf.function
        def lookup(table, ids):
            with tf.device("/GPU:0"):
                return tf.gather(table, ids)  # line 7

        try:
            print(lookup(tf.ones([3, 2]), tf.constant([0, 7])).numpy())
        except tf.errors.InvalidArgumentError as error:
            print(str(error))
        """,
        gpus=1,
    )
    assert status == 0, err
    assert "program.py:7, in lookup" in out


def test_tracing_errors_point_at_the_line():
    @tf.function
    def wrong(x):
        if tf.reduce_sum(x) > 0:
            return tf.matmul(x, tf.ones([7, 7]))  # does not fit
        return x

    with pytest.raises(ValueError) as caught:
        wrong(tf.ones([2, 2]))
    message = str(caught.value)
    assert "in user code" in message
    assert f'{HERE}", line {line_of("# does not fit")}' in message


def test_profiles_name_lines(tmp_path):
    lookup(tf.ones([3, 2]), tf.constant([0, 1]))
    with tf.profiler.experimental.Profile(str(tmp_path)):
        lookup(tf.ones([3, 2]), tf.constant([0, 1]))
    trace = next(tmp_path.rglob("*.trace.json"))
    events = json.loads(trace.read_text())["traceEvents"]
    sources = {e["name"]: e["args"]["source"] for e in events if "source" in e.get("args", {})}
    assert sources["GatherV2"] == f"{__file__}:{line_of('# the lookup')}"


def test_layers_of_keras_belong_to_the_users_call():
    import tandem.keras as keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])

    @tf.function
    def predict(x):
        return model(x)  # the call of the model

    predict(tf.ones([3, 4]))
    text = predict.explain()
    assert f"at {HERE}:{line_of('# the call of the model')}" in text
    assert "dense.py" not in text


def test_lines_of_code_that_is_not_in_a_file():
    scope = {"tf": tf}
    exec(compile("@tf.autograph.experimental.do_not_convert\ndef f(x):\n    return tf.sin(x)\n", "<cell 1>", "exec"), scope)
    f = tf.function(scope["f"])
    f(tf.ones([2]))
    assert "at <cell 1>:3" in f.explain()


def test_running_out_of_memory_names_lines(run_python):
    program = """
        import tandem as tf
        with tf.device("/GPU:0"):
            kept = [tf.ones([8 << 20]) + float(i) for i in range(2)]  # the sums
            weights = tf.Variable(tf.zeros([1 << 20]), name="kernel")

            @tf.function
            def f(x):
                return [x + 1.0, x * 2.0]
            made = f(kept[0])  # the call
            try:
                tf.zeros([64 << 20])
            except tf.errors.ResourceExhaustedError as e:
                print(e.message)
    """
    env = {"TANDEM_EMULATE_GPUS": "1", "TANDEM_EMULATED_MEMORY_MB": "256", "TANDEM_CUDA": "0"}
    status, out, err = run_python(program, env=env)
    assert status == 0, err
    assert "It was for: result of Fill, float32 [67108864]" in out
    assert "64.00MiB (2 of 32.00MiB): result of AddV2, float32 [8388608], at " in out
    assert "program.py:4\n" in out, out
    assert "64.00MiB (2 of 32.00MiB): result of __inference_f_" in out
    assert "program.py:10\n" in out, out
    assert "4.00MiB: value of variable 'kernel', float32 [1048576]" in out
