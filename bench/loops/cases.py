"""Loops whose length depends on data, and their gradients: the same bodies for Tandem, TensorFlow and JAX.

A case is a function of no arguments that runs once and returns a number, which must agree. JAX cannot differentiate
a loop of unknown length: its gradients are of `scan` over a length that is known when it compiles.
"""

import numpy as np

WIDTH = 8
X = np.linspace(-1.0, 1.0, WIDTH).astype("float32")
W = (np.eye(WIDTH) * 0.9 + 0.01).astype("float32")


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

    bodies = [elementwise, recurrent, indexed, branching, nested]
    cases = {f"{f.__name__}": forward(f) for f in bodies}
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

    bodies = {"elementwise": elementwise, "recurrent": recurrent, "indexed": indexed, "branching": branching}
    lengths = {name: turns for name in bodies} | {"nested": turns // 10}
    bodies["nested"] = nested
    cases = {name: until(body, lengths[name]) for name, body in bodies.items()}
    cases |= {f"gradient_{name}": gradient(body, lengths[name]) for name, body in bodies.items()}
    first = jax.grad(over(elementwise, turns))
    twice = jax.jit(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(jnp.square(first(x))))(x)))
    cases["second_elementwise"] = lambda: float(twice(x))
    return cases
