"""The TensorFlow worker of `make bench-step`: the models of models.cc as tf.function, with and
without XLA, and Keras's Adam. common/worker.h has the protocol.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cases
from common import worker


class Model:
    """Variables in the order of the case, and the forward pass, which takes them in that order."""

    def __init__(self, case):
        self.variables = [tf.Variable(w) for w in case.weights()]
        self.size = case.size
        self.averages = {}  # of batch normalisation, by the index of gamma

    def logits(self, x):
        self.next = 0
        return self.forward(x)

    def take(self):
        self.next += 1
        return self.variables[self.next - 1]

    def dense(self, x):
        kernel, bias = self.take(), self.take()
        return tf.nn.bias_add(tf.tensordot(x, kernel, 1) if x.shape.rank > 2 else tf.matmul(x, kernel), bias)


class Mlp(Model):
    def forward(self, x):
        return self.dense(tf.nn.relu(self.dense(x)))


class Cnn(Model):
    def forward(self, x):
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, self.take(), 1, "VALID"), self.take()))
        return self.dense(tf.reshape(x, [x.shape[0], -1]))


class Lstm(Model):
    """Keras's layers, whose variables take the place of the model's."""

    unroll = False

    def __init__(self, case):
        super().__init__(case)
        self.layers = [
            keras.layers.LSTM(128, return_sequences=True, unroll=self.unroll),
            keras.layers.LSTM(128, unroll=self.unroll),
        ]
        shape = case.input
        for i, layer in enumerate(self.layers):
            layer.build(shape)
            layer.set_weights([v.numpy() for v in self.variables[3 * i : 3 * i + 3]])
            self.variables[3 * i : 3 * i + 3] = [v.value for v in layer.trainable_variables]
            shape = (*shape[:2], 128)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        self.next = 6
        return self.dense(x)


class UnrolledLstm(Lstm):
    unroll = True


class Transformer(Model):
    def norm(self, x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        gamma, beta = self.take(), self.take()
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, cases.NORM_EPSILON)

    def heads(self, x):
        kernel, bias = self.take(), self.take()
        return tf.einsum("btf,fnh->bnth", x, kernel) + bias[:, None, :]

    def attention(self, x):
        q, k, v = self.heads(x), self.heads(x), self.heads(x)
        scale = (self.size.features // self.size.heads) ** -0.5
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * scale)
        kernel, bias = self.take(), self.take()
        return tf.einsum("bnth,nhf->btf", tf.matmul(weights, v), kernel) + bias

    def forward(self, ids):
        x = tf.gather(self.take(), ids) + self.take()
        for _ in range(self.size.blocks):
            x += self.attention(self.norm(x))
            x += self.dense(tf.nn.relu(self.dense(self.norm(x))))
        return self.dense(tf.reduce_mean(self.norm(x), 1))


class Resnet18(Model):
    def conv_norm(self, x, stride):
        kernel, at = self.take(), self.next
        gamma, beta = self.take(), self.take()
        if at not in self.averages:
            with tf.init_scope():
                self.averages[at] = (tf.Variable(tf.zeros_like(beta)), tf.Variable(tf.ones_like(beta)))
        pad = [kernel.shape[0] // 2] * 2
        x = tf.nn.conv2d(x, kernel, stride, [[0, 0], pad, pad, [0, 0]])
        y, mean, variance = tf.compat.v1.nn.fused_batch_norm(x, gamma, beta, epsilon=cases.NORM_EPSILON)
        for average, value in zip(self.averages[at], (mean, variance)):
            average.assign_sub((average - value) * (1 - cases.NORM_MOMENTUM))
        return y

    def residual(self, x, stride):
        y = self.conv_norm(tf.nn.relu(self.conv_norm(x, stride)), 1)
        return tf.nn.relu(y + (x if y.shape == x.shape else self.conv_norm(x, stride)))

    def forward(self, x):
        x = tf.nn.relu(self.conv_norm(x, 2))
        # Zeros are below nothing that relu returns.
        x = tf.nn.max_pool2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, 2, "VALID")
        for _, _, stride in cases.residual_blocks():
            x = self.residual(x, stride)
        return self.dense(tf.reduce_mean(x, [1, 2]))


MODELS = {"mlp": Mlp, "cnn": Cnn, "lstm": Lstm, "transformer": Transformer, "resnet18": Resnet18}


def make_case(case, model_class, jit_compile):
    model = model_class(case)
    optimizer = keras.optimizers.Adam(case.check_rate, **cases.ADAM)
    optimizer.build(model.variables)
    x, y = (tf.constant(t) for t in case.batch())

    @tf.function(jit_compile=jit_compile)
    def step(x, y):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model.logits(x))
            loss = tf.reduce_mean(losses)
        # Dense gradients of the embedding too: Keras treats rows that occur twice differently.
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, model.variables)]
        optimizer.apply(gradients, model.variables)
        return loss

    losses = [float(step(x, y)) for _ in range(cases.CHECK_STEPS)]
    optimizer.learning_rate = cases.TIMING_RATE

    def body(n):
        for _ in range(n):
            loss = step(x, y)
        loss.numpy()

    return {"body": body, "digest": lambda: {"losses": losses}}


def main():
    threads = worker.threads_argument()
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    setups = {}
    for name, case in cases.CASES.items():
        model = MODELS[case.model]
        setups[f"{name}@function"] = lambda c=case, m=model: make_case(c, m, False)
        setups[f"{name}@xla"] = lambda c=case, m=model: make_case(c, m, True)
        if model is Lstm:
            setups[f"{name}@function_unrolled"] = lambda c=case: make_case(c, UnrolledLstm, False)
    worker.serve("tensorflow", f"TensorFlow {tf.__version__} (tf.function, and with XLA)", threads, setups)


if __name__ == "__main__":
    main()
