"""Programs with tf.function whose results TensorFlow decides, in one place for the tests and for the script that asks
TensorFlow (tools/reference/make_function_reference.py). Each takes the module `tf` and returns a structure of tensors and
numbers. Those marked `eager` give the same when functions run eagerly."""

import collections

CASES = {}
EAGER = set()


def case(function=None, *, eager=True):
    if function is None:
        return lambda f: case(f, eager=eager)
    CASES[function.__name__] = function
    if eager:
        EAGER.add(function.__name__)
    return function


# ---- if


@case
def if_else(tf):
    @tf.function
    def f(x):
        if tf.reduce_sum(x) > 0:
            y, z = x * 2, 1
        elif x[0] < -5:
            y, z = x - 1, 2
        else:
            y, z = -x, 3
        return y, z

    return [f(tf.constant(v)) for v in ([1.0, 2.0], [-6.0, 1.0], [-1.0, 0.0])]


@case
def if_nested_and_returns(tf):
    @tf.function
    def f(x, flag):
        if flag:
            if x > 0:
                return x * 10
            return x - 10
        if x > 100 and not flag:
            return x
        return -x

    return [f(tf.constant(x), tf.constant(b)) for x in (-1, 1, 101) for b in (True, False)]


@case
def if_python_conditions_are_decided_while_tracing(tf):
    seen = []

    @tf.function
    def f(x, training):
        if training:
            seen.append("training")
            x = x + 1
        return x

    return [f(tf.constant(1), True), f(tf.constant(1), False), f(tf.constant(1), True), "training" in seen]


@case
def logical_operators(tf):
    @tf.function
    def f(a, b):
        return a and b, a or b, not a, (a or b) and not (a and b)

    return [f(tf.constant(a), tf.constant(b)) for a in (True, False) for b in (True, False)]


@case
def comparisons_and_expressions(tf):
    @tf.function
    def f(x):
        kind = "small" if x < 3 else "large"
        between = 1 < x <= 5
        return {"kind": kind, "between": between, "signed": x if x % 2 == 0 else -x}

    return [f(tf.constant(v)) for v in (1, 4, 7)]


@case
def if_structures(tf):
    Pair = collections.namedtuple("Pair", ["a", "b"])

    @tf.function
    def f(x):
        if x > 0:
            state = {"pair": Pair(x, x + 1), "list": [x, x * 2]}
        else:
            state = {"pair": Pair(-x, x - 1), "list": [x * 3, x]}
        return state["pair"].a, state["pair"].b, state["list"]

    return [f(tf.constant(2.0)), f(tf.constant(-2.0))]


# ---- Loops


@case
def while_collatz(tf):
    @tf.function
    def f(n):
        steps = 0
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    return [f(tf.constant(n)) for n in (1, 6, 27)]


@case
def break_and_continue(tf):
    @tf.function
    def f(values, stop):
        total = 0
        seen = 0
        for v in values:
            if v == stop:
                break
            if v % 2 == 0:
                continue
            total += v
            seen += 1
        return total, seen

    values = tf.constant([1, 2, 3, 4, 5, 6, 7])
    return [f(values, tf.constant(s)) for s in (100, 5, 1)]


@case(eager=False)  # the names of the loop end differently in plain Python
def while_true_with_break(tf):
    @tf.function
    def f(n):
        i = tf.constant(0)
        while tf.constant(True):
            i += 1
            if i * i >= n:
                break
        return i

    return [f(tf.constant(n)) for n in (1, 10, 100)]


@case
def nested_loops(tf):
    @tf.function
    def f(n):
        total = 0
        for i in tf.range(n):
            for j in tf.range(i):
                if j > 3:
                    break
                total += i * j
        return total

    return [f(tf.constant(n)) for n in (0, 3, 8)]


@case
def loop_over_rows_and_python_values(tf):
    @tf.function
    def f(x):
        total = tf.zeros((2,))
        for row in x:
            for scale in (1.0, 10.0):
                total += row * scale
        return total

    return f(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


@case
def loop_state_of_several_kinds(tf):
    @tf.function
    def f(n):
        pair = (tf.constant(0), tf.constant(1.0))
        table = {"count": tf.constant(0)}
        last = -1
        for i in tf.range(n):
            pair = (pair[0] + i, pair[1] * 2.0)
            table = {"count": table["count"] + 1}
            last = i
        return pair, table, last

    return [f(tf.constant(0)), f(tf.constant(5))]


@case
def loop_variable_defined_inside(tf):
    @tf.function
    def f(x):
        for v in x:
            square = v * v
            found = square + 1
        return found

    return f(tf.constant([1.0, 2.0, 3.0]))


@case
def tensor_array_in_a_loop(tf):
    @tf.function
    def f(x):
        out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        total = 0.0
        for i in tf.range(tf.shape(x)[0]):
            total += x[i]
            out = out.write(i, total)
        return out.stack()

    return f(tf.constant([1.0, 2.0, 3.0, 4.0]))


@case(eager=False)
def loop_options(tf):
    @tf.function
    def f(x):
        for i in tf.range(10):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))], maximum_iterations=3
            )
            x = tf.concat([x, [i]], 0)
        return x

    return f(tf.constant([7]))


@case
def enumerate_and_zip_of_python_values(tf):
    @tf.function
    def f(a, b):
        total = 0
        for i, (x, y) in enumerate(zip([a, b], [b, a])):
            total += i * x - y
        return total

    return f(tf.constant(3), tf.constant(4))


@case
def helpers_closures_and_methods(tf):
    class Scaler:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            if x > 0:
                return x * self.factor
            return x

    offset = tf.constant(100)
    scaler = Scaler(3)

    def helper(x):
        while x < 10:
            x = scaler(x) + 1
        return x + offset

    @tf.function
    def f(x):
        return helper(x), (lambda y: y if y > 0 else -y)(x - 50)

    return [f(tf.constant(x)) for x in (-20, 1, 60)]


@case(eager=False)
def not_converted(tf):
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return x + 1 if isinstance(x, tf.Tensor) else 0

    @tf.function
    def f(x):
        return plain(x)

    return f(tf.constant(1))


# ---- Functional control flow


@case
def cond_case_switch(tf):
    @tf.function
    def f(i):
        a = tf.cond(i > 1, lambda: {"x": i + 1, "y": [i]}, lambda: {"x": i - 1, "y": [i * 2]})
        b = tf.switch_case(i, [lambda: 1.0, lambda: 2.0], default=lambda: -1.0)
        c = tf.case([(i > 5, lambda: "big"), (i > 0, lambda: "positive")], default=lambda: "other")
        return a, b, c

    return [f(tf.constant(i)) for i in (-1, 0, 1, 7)]


@case
def while_loop_with_everything(tf):
    @tf.function
    def f(n):
        i, a = tf.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, tf.concat([a, [i]], 0)),
            (tf.constant(0), tf.zeros((0,), tf.int32)),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
        )
        (limited,) = tf.while_loop(lambda i: i < n, lambda i: (i + 1,), (tf.constant(0),), maximum_iterations=3)
        return i, a, limited

    return [f(tf.constant(n)) for n in (0, 2, 6)]


@case
def maps_and_folds(tf):
    @tf.function
    def f(x):
        return (
            tf.map_fn(lambda r: (r * 2, tf.reduce_sum(r)), x, fn_output_signature=(tf.float32, tf.float32)),
            tf.scan(lambda a, r: a + r, x),
            tf.scan(lambda a, r: a * 2 + r, x, initializer=tf.ones((2,)), reverse=True),
            tf.foldl(lambda a, r: a - r, x),
            tf.foldr(lambda a, r: a - r, x, initializer=tf.zeros((2,))),
            tf.vectorized_map(lambda r: tf.reduce_max(r), x),
        )

    return f(tf.constant([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]]))


@case
def tensor_array_methods(tf):
    @tf.function
    def f(x):
        a = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(x)
        b = tf.TensorArray(tf.float32, size=3).scatter([2, 0, 1], x)
        c = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x[0], [1, 1])
        a = a.write(1, x[0] * 100)
        return a.stack(), a.concat(), a.gather([2, 0]), a.size(), b.stack(), c.concat()

    return f(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


# ---- Gradients


@case
def gradient_through_control_flow(tf):
    w = tf.Variable(2.0)

    @tf.function
    def f(x, n):
        y = x
        for i in tf.range(n):
            if y > 10.0:
                y = y * 0.5 + w
            else:
                y = y * w
        return y

    results = []
    for x, n in ((1.0, 1), (1.0, 3), (1.5, 7)):
        x = tf.constant(x)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x, tf.constant(n))
            first = inner.gradient(y, [x, w])
        results.append((y, first[0], first[1], outer.gradient(first[0], w)))
    return results


@case
def gradient_taken_inside(tf):
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            loss = tf.constant(0.0)
            for row in x:
                loss += tf.reduce_sum(tf.square(row * w))
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.01 * gradient)
        return loss, gradient

    x = tf.constant([[1.0, -1.0], [2.0, 0.5]])
    return [f(x), f(x), w.numpy()]


@case
def gradient_of_maps(tf):
    @tf.function
    def f(x):
        return tf.reduce_sum(tf.map_fn(lambda r: r**3, x)) + tf.foldl(lambda a, r: a * r, x)

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tf.convert_to_tensor(tape.gradient(y, x))


@case
def own_gradients(tf):
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def scaled(x):
        def back(upstream, variables=None):
            return upstream * 100.0, [tf.reduce_sum(upstream) * 7.0]

        return x * v, back

    @tf.function
    def f(x):
        return tf.reduce_sum(scaled(x) ** 2)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, [x, v])
    return y, first, outer.gradient(first[0], x)


@case
def stop_gradient_and_pass_through(tf):
    rounded = tf.grad_pass_through(tf.round)

    @tf.function
    def f(x):
        return tf.reduce_sum(rounded(x * 1.3) * tf.stop_gradient(x))

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


@case
def python_functions_in_graphs(tf):
    import numpy as np

    @tf.function
    def f(x):
        y = tf.py_function(lambda a: a * a, [x], tf.float32)
        z = tf.numpy_function(lambda a: np.cumsum(a).astype(np.float32), [x], tf.float32)
        return tf.reduce_sum(y * 3.0), z

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = f(x)
    return y, z, tape.gradient(y, x)


@case
def forward_mode(tf):
    @tf.function
    def f(x):
        while x < 100.0:
            x = x * x
        return x

    with tf.autodiff.ForwardAccumulator(tf.constant(3.0), tf.constant(1.0)) as accumulator:
        y = f(tf.constant(3.0) * 1.0)
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(2.0)) as accumulator:
        y = f(x)
        tangent = accumulator.jvp(y)
    return y, tangent


# ---- State


@case
def variables_in_branches_and_loops(tf):
    v = tf.Variable(0)
    log = tf.Variable([0, 0, 0])

    @tf.function
    def f(n):
        for i in tf.range(n):
            if i % 2 == 0:
                v.assign_add(i)
            else:
                v.assign_sub(1)
            log.assign(tf.stack([i, v, n]))
        return v.read_value()

    return [f(tf.constant(n)) for n in (0, 5, 2)] + [v.numpy(), log.numpy()]


@case
def module_creates_variables_once(tf):
    class Dense(tf.Module):
        def __init__(self, units):
            super().__init__()
            self.units = units
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([x.shape[-1], self.units]) * 0.5)
                self.b = tf.Variable(tf.zeros([self.units]))
            self.b.assign_add(tf.ones([self.units]))
            return x @ self.w + self.b

    one, two = Dense(2), Dense(3)
    x = tf.ones((1, 4))
    return one(x), one(x), two(x), len(one.trainable_variables), two.b.shape.as_list()


# ---- Signatures


@case(eager=False)
def when_it_traces(tf):
    counts = []

    @tf.function
    def f(x, y=1, *, flag=None):
        return x

    for args, kwargs in (
        ((tf.constant(1.0),), {}), ((tf.constant(2.0), 1), {}), ((tf.constant(2.0),), {"y": 1}),
        ((tf.constant(2.0), 2), {}), ((tf.constant([1.0]),), {}), ((1.5,), {}), ((1,), {}),
        ((tf.constant(2.0),), {"flag": "a"}), ((tf.constant(2.0),), {"flag": "b"}), ((tf.constant(2.0),), {"flag": "a"}),
        (([tf.constant(1.0)],), {}), (((tf.constant(1.0),),), {}), (({"a": tf.constant(1.0)},), {}),
    ):  # fmt: skip
        f(*args, **kwargs)
        counts.append(f.experimental_get_tracing_count())
    return counts


@case(eager=False)
def relaxed_and_given_signatures(tf):
    relaxed = tf.function(lambda x: tf.reduce_sum(x), reduce_retracing=True)
    sums = [relaxed(tf.ones((n, 2))) for n in (1, 2, 3, 4)]

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([], tf.int32)])
    def given(x, n=3):
        return tf.shape(x)[0] * n

    return [
        sums, relaxed.experimental_get_tracing_count(), given(tf.ones((2, 5)), 4), given([[1.0, 2.0]], 5),
        given.experimental_get_tracing_count(),
    ]  # fmt: skip


@case(eager=False)
def concrete_functions(tf):
    @tf.function
    def f(x, scale=2.0):
        return {"y": x * scale, "n": tf.shape(x)[0]}

    concrete = f.get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
    again = f.get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
    out = concrete(tf.ones((2, 3)))
    return (
        out, concrete is again, concrete.structured_outputs["y"].shape.as_list(), f(tf.ones((5, 3)))["n"],
        f.experimental_get_tracing_count(),
    )  # fmt: skip


@case
def init_scope_lifts(tf):
    eagerly = []

    @tf.function
    def f(x):
        with tf.init_scope():
            eagerly.append(tf.executing_eagerly())
        return x + 1

    f(tf.constant(1))
    return eagerly[0]


@case
def datasets_in_loops(tf):
    @tf.function
    def f(dataset):
        total = tf.constant(0, tf.int64)
        for x in dataset:
            if x > 7:
                break
            total += x
        return total

    return f(tf.data.Dataset.range(10)), f(tf.data.Dataset.range(4))
