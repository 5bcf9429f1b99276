#!/usr/bin/env python3
"""Writes tests/cpu/ops/data/function_random.json: numbers that TensorFlow's functions draw call by call.

Needs TensorFlow in the Python that runs it (tools/bench-env makes such an environment); the tests
only read the file. usage: make_function_random_reference.py > tests/cpu/ops/data/function_random.json
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

cases = []


def output(t):
    values = [str(v) if t.dtype.is_integer else float(v) for v in t.numpy().ravel()]
    return dict(shape=t.shape.as_list(), dtype=t.dtype.name, values=values)


def body(kind, seeds):
    s = iter(seeds)
    if kind == "floats":
        return lambda: [tf.random.uniform([5], -1, 3, seed=next(s)), tf.random.normal([2, 3], 1.0, 2.0, seed=next(s)),
                        tf.random.truncated_normal([4], seed=next(s))]
    if kind == "others":
        logits = tf.math.log([[0.1, 0.6, 0.3], [0.8, 0.1, 0.1]])
        return lambda: [tf.random.uniform([6], 3, 1000, tf.int64, next(s)), tf.random.categorical(logits, 9, seed=next(s)),
                        tf.random.shuffle(tf.range(10), seed=next(s)),
                        tf.random.gamma([4], tf.constant([0.5, 1.0, 3.0]), seed=next(s))]
    # The same seeds twice: each op has a sequence of its own.
    return lambda: [tf.random.uniform([3], seed=next(s)), tf.random.uniform([3], seed=next(s))]


def case(kind, global_seed, op_seeds):
    # set_seed(None) is "no global seed"; every call of f goes on, and set_seed starts over.
    tf.random.set_seed(global_seed)
    f = tf.function(body(kind, op_seeds))
    calls = [[output(t) for t in f()] for _ in range(3)]
    tf.random.set_seed(global_seed)
    calls.append([output(t) for t in f()])
    cases.append(dict(kind=kind, global_seed=global_seed, op_seeds=[-1 if s is None else s for s in op_seeds],
                      restarts_at=3, calls=calls))


for global_seed in [42, 0]:
    case("floats", global_seed, [5, 6, 7])
    case("floats", global_seed, [None, None, None])
    case("floats", global_seed, [0, None, 9])
    case("others", global_seed, [5, 6, 7, 8])
    case("others", global_seed, [None, None, None, None])
    case("twice", global_seed, [3, 3])

print(json.dumps(dict(tensorflow=tf.__version__, cases=cases), separators=(",", ":")))
