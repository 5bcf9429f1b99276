"""The TensorFlow worker of `make bench-eager`: the cases of bench_eager.cc in eager TensorFlow on
the CPU. common/worker.h has the protocol.

TensorFlow's ops are called from Python, since that is its eager interface. For large ops this
does not show; times of small ops are those of Python's dispatch and are reported as such.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import worker

CHAIN = 1000
M16 = 16 << 20


def random(seed, shape, lo=-1.0, hi=1.0):
    return tf.constant(worker.random_values(seed, shape, lo, hi))


def mean_square(op):
    """The digest of a case: workers that compute the same thing agree on it."""
    return lambda: {"digest": float(np.mean(op().numpy().astype(np.float64) ** 2))}


def repeat(op):
    def body(n):
        for _ in range(n):
            op()

    return {"body": body, "ops": 1, "digest": mean_square(op)}


def add_4():
    a, b = random(1, [4]), random(2, [4])
    return repeat(lambda: tf.add(a, b))


def chain(a, b):
    x = a
    for _ in range(CHAIN):
        x = tf.add(x, b)
    return x


def chain_1000():
    a, b = random(1, [4]), random(2, [4])
    return repeat(lambda: chain(a, b)) | {"ops": CHAIN}


def add_4_taped():
    a, b = random(1, [4]), random(2, [4])

    def body(n):
        while n > 0:
            with tf.GradientTape() as tape:
                tape.watch(a)
                for _ in range(min(n, 100)):
                    tf.add(a, b)
            n -= 100

    return {"body": body, "ops": 1, "digest": mean_square(lambda: tf.add(a, b))}


def chain_1000_taped():
    a, b = random(1, [4]), random(2, [4])

    def once():
        with tf.GradientTape() as tape:
            tape.watch(a)
            return chain(a, b)

    return repeat(once) | {"ops": CHAIN}


def matmul(size):
    a, b = random(1, [size, size]), random(2, [size, size])
    return repeat(lambda: tf.matmul(a, b))


def conv2d(size, in_channels, kernel, out_channels):
    x = random(1, [8, size, size, in_channels])
    w = random(2, [kernel, kernel, in_channels, out_channels])
    return repeat(lambda: tf.nn.conv2d(x, w, strides=1, padding="SAME"))


def reduce_sum():
    x = random(1, [M16], 0, 1)
    return repeat(lambda: tf.reduce_sum(x))


def add_16m():
    x, y = random(1, [M16]), random(2, [M16])
    return repeat(lambda: tf.add(x, y))


def mul_add_16m():
    x, y, z = (random(seed, [M16]) for seed in (1, 2, 3))
    return repeat(lambda: tf.add(tf.multiply(x, y), z))


def unary_16m(op):
    x = random(1, [M16], -4, 4)
    return repeat(lambda: op(x))


def softmax():
    x = random(1, [4096, 1000], -4, 4)
    return repeat(lambda: tf.nn.softmax(x))


def gather():
    table = random(1, [1_000_000, 64])
    indices = tf.constant(worker.random_indices(2, [100_000], 1_000_000))
    return repeat(lambda: tf.gather(table, indices))


def layer_norm():
    """TensorFlow has no such op: moments and batch_normalization are what its users write."""
    x, gamma, beta = random(1, [4096, 768]), random(2, [768]), random(3, [768])

    def once():
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)

    return repeat(once)


def transpose():
    x = random(1, [4096, 4096])
    return repeat(lambda: tf.transpose(x))


CASES = {
    "add_4": add_4,
    "chain_1000": chain_1000,
    "matmul_64": lambda: matmul(64),
    "add_4_taped": add_4_taped,
    "chain_1000_taped": chain_1000_taped,
    "matmul_1024": lambda: matmul(1024),
    "conv_56_64_k3_64": lambda: conv2d(56, 64, 3, 64),
    "conv_28_128_k3_128": lambda: conv2d(28, 128, 3, 128),
    "conv_14_256_k3_256": lambda: conv2d(14, 256, 3, 256),
    "conv_56_64_k1_256": lambda: conv2d(56, 64, 1, 256),
    "reduce_sum_16m": reduce_sum,
    "add_16m": add_16m,
    "mul_add_16m": mul_add_16m,
    "exp_16m": lambda: unary_16m(tf.exp),
    "tanh_16m": lambda: unary_16m(tf.tanh),
    "softmax_4096_1000": softmax,
    "gather_100k_of_1m": gather,
    "layer_norm_4096_768": layer_norm,
    "transpose_4096": transpose,
}


def main():
    threads = worker.threads_argument()
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    worker.serve("tensorflow", f"TensorFlow {tf.__version__} (eager, from Python)", threads, CASES)


if __name__ == "__main__":
    main()
