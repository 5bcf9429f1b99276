#!/usr/bin/env python3
"""Writes tests/cpu/ops/data/random.json: numbers that TensorFlow draws for given seeds.

Needs TensorFlow in the Python that runs it (tools/bench-env makes such an environment); the tests
only read the file. usage: make_random_reference.py > tests/cpu/ops/data/random.json
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

cases = []


def values(t):
    t = tf.cast(t, tf.float32) if t.dtype in (tf.float16, tf.bfloat16) else t
    return [str(v) if t.dtype.is_integer else float(v) for v in t.numpy().ravel()]


def case(kind, tensors, **arguments):
    cases.append(dict(kind=kind, arguments=arguments,
                      outputs=[dict(shape=t.shape.as_list(), dtype=t.dtype.name, values=values(t))
                               for t in tensors]))


FLOATS = ["float32", "float64", "float16", "bfloat16"]

# Stateless: one call decides everything.
for dtype in FLOATS:
    for seed in [(1, 2), (0, 0), (-5, 2**40 + 7)]:
        for shape in [[7], [3, 5]]:
            a = dict(shape=shape, seed=list(seed), dtype=dtype)
            case("stateless_uniform", [tf.random.stateless_uniform(shape, seed, dtype=dtype)], **a)
            case("stateless_normal", [tf.random.stateless_normal(shape, seed, dtype=dtype)], **a)
            case("stateless_truncated_normal", [tf.random.stateless_truncated_normal(shape, seed, dtype=dtype)], **a)
for dtype in ["int32", "int64"]:
    case("stateless_uniform_int", [tf.random.stateless_uniform([11], (3, 4), -5, 12, dtype)],
         shape=[11], seed=[3, 4], minval=-5, maxval=12, dtype=dtype)
for dtype in ["int32", "int64", "uint32", "uint64"]:
    case("stateless_uniform_full_int", [tf.random.stateless_uniform([9], (3, 4), None, None, dtype)],
         shape=[9], seed=[3, 4], dtype=dtype)

# Sequences: global seed only, both seeds, op seed only; several calls in a row.
for global_seed, op_seed in [(42, None), (0, None), (42, 7), (0, 0), (123456789, 1)]:
    for dtype in ["float32", "float64"]:
        tf.random.set_seed(global_seed)
        a = dict(global_seed=global_seed, op_seed=-1 if op_seed is None else op_seed, dtype=dtype)
        case("uniform", [tf.random.uniform([5], -1, 3, dtype, op_seed) for _ in range(3)], **a)
        tf.random.set_seed(global_seed)
        case("normal", [tf.random.normal([2, 3], 1.0, 2.0, dtype, op_seed) for _ in range(3)], **a)
        tf.random.set_seed(global_seed)
        case("truncated_normal", [tf.random.truncated_normal([6], 0.0, 1.0, dtype, op_seed) for _ in range(2)], **a)
        tf.random.set_seed(global_seed)
        alpha = tf.constant([0.5, 1.0, 3.0], dtype)
        case("gamma", [tf.random.gamma([4], alpha, dtype=dtype, seed=op_seed) for _ in range(2)], **a)
    tf.random.set_seed(global_seed)
    a = dict(global_seed=global_seed, op_seed=-1 if op_seed is None else op_seed)
    case("uniform_int", [tf.random.uniform([6], 3, 1000, tf.int64, op_seed) for _ in range(2)], **a)
    tf.random.set_seed(global_seed)
    logits = tf.math.log([[0.1, 0.6, 0.3], [0.8, 0.1, 0.1]])
    case("categorical", [tf.random.categorical(logits, 9, seed=op_seed) for _ in range(2)], **a)
    tf.random.set_seed(global_seed)
    case("shuffle", [tf.random.shuffle(tf.range(10), seed=op_seed) for _ in range(2)], **a)

print(json.dumps(dict(tensorflow=tf.__version__, cases=cases), separators=(",", ":")))
