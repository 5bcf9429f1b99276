"""Loops whose length depends on data, and their gradients: the same bodies for Tandem, TensorFlow and JAX.

A case is a function of no arguments that runs once and returns a number, which must agree. JAX cannot differentiate
a loop of unknown length: its gradients are of `scan` over a length that is known when it compiles.
"""

import numpy as np

WIDTH = 8
X = np.linspace(-1.0, 1.0, WIDTH).astype("float32")
W = (np.eye(WIDTH) * 0.9 + 0.01).astype("float32")
BATCH, UNITS = 16, 64  # of a recurrent cell


def cell_inputs(turns):
    random = np.random.default_rng(0)
    shapes = [(turns, BATCH, UNITS), (UNITS, UNITS), (UNITS, UNITS)]  # inputs, their weights, the state's
    return [(random.standard_normal(shape) / 8).astype("float32") for shape in shapes]


def tf_cases(tf, turns):
    x, n = tf.constant(X), tf.constant(turns)
    w = tf.Variable(W)
    rows = tf.constant(np.tile(X, (turns, 1)))

    @tf.function
    def elementwise(x, n):
        i = tf.constant(0)
        while i < n:
            x = tf.sin(x) * 1.01
            i += 1
        return tf.reduce_sum(x)

    @tf.function
    def recurrent(x, n):
        state = x[None]
        for _ in tf.range(n):
            state = tf.tanh(tf.matmul(state, w))
        return tf.reduce_sum(state)

    @tf.function
    def indexed(x, n):
        for i in tf.range(n):
            x = tf.tanh(x + rows[i])
        return tf.reduce_sum(x)

    @tf.function
    def branching(x, n):
        for i in tf.range(n):
            if i % 2 == 0:  # no sum that rounding could turn
                x = tf.sin(x) - 0.1
            else:
                x = x * 1.01 + 0.1
        return tf.reduce_sum(x)

    @tf.function
    def nested(x, n):
        for _ in tf.range(n // 10):
            for _ in tf.range(10):
                x = tf.sin(x) * 1.01
        return tf.reduce_sum(x)

    def forward(f):
        return lambda: float(f(x, n))

    def gradient(f):
        def run():
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x, n)
            return float(tf.reduce_sum(tape.gradient(y, x)))

        return run

    @tf.function
    def second(x, n):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = elementwise(x, n)
            g = tf.reduce_sum(tf.square(inner.gradient(y, x)))
        return tf.reduce_sum(outer.gradient(g, x))

    @tf.function
    def rows_gradient(rows):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            y = x
            for i in tf.range(n):
                y = tf.tanh(y + rows[i])
        return tf.reduce_sum(tape.gradient(y, rows))

    inputs, *weights = (tf.constant(value) for value in cell_inputs(turns))

    @tf.function
    def cell_gradient(inputs, weights):
        with tf.GradientTape() as tape:
            tape.watch([inputs, weights])
            given = tf.TensorArray(tf.float32, size=turns).unstack(inputs)
            states = tf.TensorArray(tf.float32, size=turns)
            state = tf.zeros([BATCH, UNITS])
            for i in tf.range(turns):
                state = tf.tanh(given.read(i) @ weights[0] + state @ weights[1])
                states = states.write(i, state)
            y = tf.reduce_sum(tf.square(states.stack()))
        return sum(tf.reduce_sum(g) for g in tape.gradient(y, [inputs, *weights]))

    bodies = [elementwise, recurrent, indexed, branching, nested]
    cases = {f"{f.__name__}": forward(f) for f in bodies}
    cases["gradient_rows"] = lambda: float(rows_gradient(rows))
    cases["gradient_cell"] = lambda: float(cell_gradient(inputs, weights))
    cases |= {f"gradient_{f.__name__}": gradient(f) for f in bodies}
    cases["second_elementwise"] = forward(second)
    return cases


def jax_cases(turns):
    import jax
    import jax.numpy as jnp
    from jax import lax

    x, w, rows = jnp.asarray(X), jnp.asarray(W), jnp.asarray(np.tile(X, (turns, 1)))

    def elementwise(x, i):
        return jnp.sin(x) * 1.01

    def recurrent(x, i):
        return jnp.tanh(x[None] @ w)[0]

    def indexed(x, i):
        return jnp.tanh(x + rows[i])

    def branching(x, i):
        return lax.cond(i % 2 == 0, lambda x: jnp.sin(x) - 0.1, lambda x: x * 1.01 + 0.1, x)

    def nested(x, i):
        return lax.scan(lambda x, j: (elementwise(x, j), None), x, None, length=10)[0]

    def over(body, count):
        def run(x):
            return jnp.sum(lax.scan(lambda x, i: (body(x, i), None), x, jnp.arange(count))[0])

        return run

    def until(body, count):
        @jax.jit
        def run(x, n):
            start = (jnp.int32(0), x)
            return jnp.sum(lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, body(s[1], s[0])), start)[1])

        return lambda: float(run(x, count))

    def gradient(body, count):
        run = jax.jit(lambda x: jnp.sum(jax.grad(over(body, count))(x)))
        return lambda: float(run(x))

    def of_rows(rows):
        return jnp.sum(lax.scan(lambda y, row: (jnp.tanh(y + row), None), x, rows)[0])

    def of_cell(inputs, weights):
        def turn(state, given):
            state = jnp.tanh(given @ weights[0] + state @ weights[1])
            return state, state

        return jnp.sum(jnp.square(lax.scan(turn, jnp.zeros((BATCH, UNITS)), inputs)[1]))

    inputs, *weights = (jnp.asarray(value) for value in cell_inputs(turns))

    @jax.jit
    def cell_gradient(inputs, weights):
        return sum(jnp.sum(g) for g in jax.tree_util.tree_leaves(jax.grad(of_cell, (0, 1))(inputs, weights)))

    rows_gradient = jax.jit(lambda rows: jnp.sum(jax.grad(of_rows)(rows)))
    bodies = {"elementwise": elementwise, "recurrent": recurrent, "indexed": indexed, "branching": branching}
    lengths = {name: turns for name in bodies} | {"nested": turns // 10}
    bodies["nested"] = nested
    cases = {name: until(body, lengths[name]) for name, body in bodies.items()}
    cases |= {f"gradient_{name}": gradient(body, lengths[name]) for name, body in bodies.items()}
    first = jax.grad(over(elementwise, turns))
    twice = jax.jit(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(jnp.square(first(x))))(x)))
    cases["second_elementwise"] = lambda: float(twice(x))
    cases["gradient_rows"] = lambda: float(rows_gradient(rows))
    cases["gradient_cell"] = lambda: float(cell_gradient(inputs, weights))
    return cases
