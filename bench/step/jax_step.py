"""The JAX worker of `make bench-step`: the models of models.cc under jit, with donated buffers and
Adam written out. common/worker.h has the protocol.
"""

import os
import sys
from functools import partial
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import worker

THREADS = worker.threads_argument()
# XLA makes as many threads as there are cores to run on: few while they are made, all afterwards.
ALL_CORES = os.sched_getaffinity(0)
os.sched_setaffinity(0, sorted(ALL_CORES)[:THREADS])

import jax
import jax.numpy as jnp

import cases


def allow_all_cores():
    for task in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(task), ALL_CORES)


class Take:
    """Parameters in the order of the case, in the dtype that the case computes in; statistics of batch
    normalisation on the way."""

    def __init__(self, parameters, averages, case):
        self.left = iter(parameters)
        self.size = case.size
        self.dtype = jnp.bfloat16 if case.bf16 else jnp.float32
        self.averages = iter(averages)
        self.next_averages = []

    def __call__(self):
        return self.exact().astype(self.dtype)

    def exact(self):
        return next(self.left)


def dense(take, x):
    return x @ take() + take()


def mlp(take, x):
    return dense(take, jax.nn.relu(dense(take, x)))


def convolution(x, kernel, stride, pad):
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def cnn(take, x):
    x = jax.nn.relu(convolution(x, take(), 1, 0) + take())
    return dense(take, x.reshape(x.shape[0], -1))


def lstm_layer(take, x, unroll):
    """Outputs, time first. The product with the inputs is one for all steps."""
    kernel, recurrent, bias = take(), take(), take()
    projected = jnp.swapaxes(x @ kernel + bias, 0, 1)
    zeros = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)

    def one(state, inputs):
        h, c = state
        i, f, g, o = jnp.split(inputs + h @ recurrent, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jnp.swapaxes(jax.lax.scan(one, (zeros, zeros), projected, unroll=unroll)[1], 0, 1)


def lstm(take, x, unroll=1):
    x = lstm_layer(take, lstm_layer(take, x, unroll), unroll)
    return dense(take, x[:, -1])


def layer_norm(take, x, epsilon=cases.NORM_EPSILON):
    x = x.astype(jnp.float32)
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return ((x - mean) * jax.lax.rsqrt(variance + epsilon) * take() + take()).astype(take.dtype)


def attention(take, x, causal=False):
    def heads():
        return jnp.einsum("btf,fnh->btnh", x, take()) + take()

    q, k, v = heads(), heads(), heads()
    return jnp.einsum("btnh,nhf->btf", jax.nn.dot_product_attention(q, k, v, is_causal=causal), take()) + take()


def transformer(take, ids):
    x = take()[ids] + take()
    for _ in range(take.size.blocks):
        x = x + attention(take, layer_norm(take, x))
        x = x + dense(take, jax.nn.relu(dense(take, layer_norm(take, x))))
    return dense(take, layer_norm(take, x).mean(1))


def conv_norm(take, x, stride):
    kernel = take()
    x = convolution(x, kernel, stride, kernel.shape[0] // 2).astype(jnp.float32)
    mean = x.mean((0, 1, 2))
    variance = jnp.square(x).mean((0, 1, 2)) - jnp.square(mean)
    old = next(take.averages)
    take.next_averages.append(
        [a + (new - a) * (1 - cases.NORM_MOMENTUM) for a, new in zip(old, jax.lax.stop_gradient((mean, variance)))]
    )
    y = (x - mean) * (jax.lax.rsqrt(variance + cases.NORM_EPSILON) * take.exact()) + take.exact()
    return y.astype(take.dtype)


def stem_pool(x):
    return jax.lax.reduce_window(
        x, x.dtype.type(-jnp.inf), jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))
    )


def resnet18(take, x):
    x = stem_pool(jax.nn.relu(conv_norm(take, x, 2)))
    for _, _, stride in cases.residual_blocks():
        y = conv_norm(take, jax.nn.relu(conv_norm(take, x, stride)), 1)
        x = jax.nn.relu(y + (x if y.shape == x.shape else conv_norm(take, x, stride)))
    return dense(take, x.mean((1, 2)))


MODELS = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer, "resnet18": resnet18}


def make_step(forward, case):
    def loss_of(parameters, averages, x, y):
        take = Take(parameters, averages, case)
        logs = jax.nn.log_softmax(forward(take, x))
        loss = -jnp.take_along_axis(logs, y[:, None], axis=1).mean()
        return loss, take.next_averages

    @partial(jax.jit, donate_argnums=0)
    def step(state, x, y, rate):
        parameters, m, v, t, averages = state
        (loss, averages), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters, averages, x, y)
        t = t + 1
        b1, b2 = cases.ADAM["beta_1"], cases.ADAM["beta_2"]
        alpha = rate * jnp.sqrt(1 - b2**t) / (1 - b1**t)
        m = [a + (g - a) * (1 - b1) for a, g in zip(m, gradients)]
        v = [a + (g * g - a) * (1 - b2) for a, g in zip(v, gradients)]
        parameters = [
            p - a * alpha / (jnp.sqrt(b) + cases.ADAM["epsilon"]) for p, a, b in zip(parameters, m, v)
        ]
        return (parameters, m, v, t, averages), loss

    return step


def make_case(case, forward):
    step = make_step(forward, case)
    parameters = [jnp.array(w) for w in case.weights()]
    averages = []
    if case.model.startswith("resnet"):
        sizes = [w.shape[-1] for w in parameters if w.ndim == 4]
        averages = [[jnp.zeros(n), jnp.ones(n)] for n in sizes]
    zeros = [jnp.zeros_like(p) for p in parameters]
    state = (parameters, zeros, [jnp.zeros_like(p) for p in parameters], jnp.float32(0), averages)
    x, y = (jnp.asarray(t) for t in case.batch())
    losses = []
    for _ in range(cases.CHECK_STEPS):
        state, loss = step(state, x, y, jnp.float32(case.check_rate))
        losses.append(float(loss))
    rate = jnp.float32(cases.TIMING_RATE)

    def body(n):
        nonlocal state
        for _ in range(n):
            state, loss = step(state, x, y, rate)
        jax.block_until_ready((state, loss))

    return {"body": body, "digest": lambda: {"losses": losses}}


def main():
    jnp.zeros(1).block_until_ready()
    allow_all_cores()
    setups = {}
    for name, case in cases.CASES.items():
        setups[f"{name}@jit"] = lambda c=case: make_case(c, MODELS[c.model])
        if case.model == "lstm":
            setups[f"{name}@jit_unroll8"] = lambda c=case: make_case(c, partial(lstm, unroll=8))
    worker.serve("jax", f"JAX {jax.__version__} (jit, donated buffers)", THREADS, setups)


if __name__ == "__main__":
    main()
