#!/usr/bin/env python3
"""Writes tests/cpu/ops/data/ops.json: what TensorFlow answers where a textbook does not decide
(padding, rounding, ties, NaN, empty reductions, casts, signs).

Needs TensorFlow in the Python that runs it (tools/bench-env makes such an environment); the tests
only read the file. usage: make_op_reference.py > tests/cpu/ops/data/ops.json
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

raw = tf.raw_ops
cases = []
rng = np.random.default_rng(20261115)


def plain(v):
    if isinstance(v, (bool, np.bool_)):
        return int(v)
    if isinstance(v, (int, np.integer)):
        return int(v)
    v = float(v)
    return str(v) if v != v or v in (float("inf"), float("-inf")) else v


def tensor(t):
    t = tf.convert_to_tensor(t)
    name = t.dtype.name
    if name in ("float16", "bfloat16"):
        t = tf.cast(t, tf.float32)
    return dict(dtype=name, shape=t.shape.as_list(), values=[plain(v) for v in t.numpy().ravel()])


def case(op, inputs, outputs, attrs=None, note=""):
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    cases.append(dict(op=op, note=note, attrs=attrs or {}, inputs=[tensor(i) for i in inputs],
                      outputs=[tensor(o) for o in outputs]))


nan, inf = float("nan"), float("inf")
f32 = lambda v: tf.constant(v, tf.float32)

# ---- Rounding, division, remainders -------------------------------------------------------------
halves = f32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609.0, nan, inf])
case("Round", [halves], raw.Round(x=halves))
case("Rint", [halves], raw.Rint(x=halves))
case("Floor", [halves], raw.Floor(x=halves))
case("Ceil", [halves], raw.Ceil(x=halves))
a, b = f32([7, -7, 7, -7, 5.5, 0, 1e20, nan]), f32([3, 3, -3, -3, 0.5, 5, 3, 1])
for op in ["FloorDiv", "FloorMod", "RealDiv", "TruncateMod"]:
    case(op, [a, b], getattr(raw, op)(x=a, y=b))
for dtype in [tf.int32, tf.int64, tf.int8]:
    i, j = tf.constant([7, -7, 7, -7, 0, 6], dtype), tf.constant([3, 3, -3, -3, 5, -2], dtype)
    for op in ["FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod"]:
        if op.startswith("Truncate") and dtype == tf.int8 and op == "TruncateMod":
            continue
        case(op, [i, j], getattr(raw, op)(x=i, y=j))
z, w = f32([1, 0, -1, nan, inf]), f32([0, 0, 0, 0, 0])
case("DivNoNan", [z, w], raw.DivNoNan(x=z, y=w))
case("MulNoNan", [z, w], raw.MulNoNan(x=z, y=w))
case("RealDiv", [z, w], raw.RealDiv(x=z, y=w))
p, q = f32([0, 0, 2, -2, 1, nan, inf]), f32([0, -1, 0.5, 3, nan, 0, 0])
case("Pow", [p, q], raw.Pow(x=p, y=q))
m, n = f32([1, nan, -0.0, 2, inf]), f32([nan, 1, 0.0, -2, nan])
case("Maximum", [m, n], raw.Maximum(x=m, y=n))
case("Minimum", [m, n], raw.Minimum(x=m, y=n))
case("Sign", [m], raw.Sign(x=m))
for op in ["Xlogy", "Xdivy", "Xlog1py"]:
    x, y = f32([0, 0, 1, 2]), f32([0, nan, 0, 3])
    case(op, [x, y], getattr(raw, op)(x=x, y=y))
case("Relu", [m], raw.Relu(features=m))
case("Softplus", [f32([-100, -1, 0, 1, 100])], raw.Softplus(features=f32([-100, -1, 0, 1, 100])))

# ---- Casts ---------------------------------------------------------------------------------------
values = f32([-1.9, -0.5, 0.5, 1.9, 100.7, 3.5])
for target in ["int32", "int64", "int8", "bool", "float16", "bfloat16", "float64", "complex64"]:
    if target == "complex64":
        continue
    case("Cast", [values], tf.cast(values, target), dict(dtype=target))
near = f32([1.0 + 2**-9, 1.0 + 3 * 2**-9, 65504.0, 65520.0, 1e-8, 6e-8])
case("Cast", [near], tf.cast(near, "float16"), dict(dtype="float16"), "ties to even")
case("Cast", [near], tf.cast(near, "bfloat16"), dict(dtype="bfloat16"), "ties to even")
wide = tf.constant([300, -1, 128, 2**31 - 1], tf.int32)
for target in ["int8", "uint8", "int16", "uint16", "bool", "float32"]:
    case("Cast", [wide], tf.cast(wide, target), dict(dtype=target), "wraps")

# ---- Reductions: empty, NaN, ties ----------------------------------------------------------------
empty = tf.zeros([0, 3])
for op in ["Sum", "Mean", "Prod", "Max", "Min"]:
    for axis in ([0], [1], [0, 1]):
        case(op, [empty], getattr(raw, op)(input=empty, axis=axis), dict(axis=list(axis)), "empty")
withnan = f32([[1, nan, 3], [nan, nan, nan], [4, 5, 6]])
for op in ["Sum", "Mean", "Prod", "Max", "Min"]:
    case(op, [withnan], getattr(raw, op)(input=withnan, axis=[1]), dict(axis=[1]), "NaN")
ints = tf.constant([[7, -8, 2], [-1, -1, -1]], tf.int32)
case("Mean", [ints], raw.Mean(input=ints, axis=[1]), dict(axis=[1]), "integer mean")
ties = f32([[1, 3, 3, 2], [5, 5, 5, 5], [nan, 1, nan, 2]])
for op in ["ArgMax", "ArgMin"]:
    case(op, [ties[:2]], getattr(raw, op)(input=ties[:2], dimension=1), dict(axis=1), "ties")
row = f32([1, 2, 3, 4])
for exclusive in (False, True):
    for reverse in (False, True):
        a4 = dict(axis=0, exclusive=exclusive, reverse=reverse)
        case("Cumsum", [row], raw.Cumsum(x=row, axis=0, exclusive=exclusive, reverse=reverse), a4)
        case("Cumprod", [row], raw.Cumprod(x=row, axis=0, exclusive=exclusive, reverse=reverse), a4)

# ---- Padding: SAME windows -----------------------------------------------------------------------
for size, kernel, stride, dilation in [(5, 3, 2, 1), (6, 3, 2, 1), (7, 2, 2, 1), (6, 4, 3, 1), (7, 3, 1, 2)]:
    x = tf.constant(rng.normal(size=(2, size, size, 3)), tf.float32)
    f = tf.constant(rng.normal(size=(kernel, kernel, 3, 4)), tf.float32)
    for padding in ["SAME", "VALID"]:
        attrs = dict(strides=[stride, stride], padding=padding, dilations=[dilation, dilation])
        case("Conv2D", [x, f], tf.nn.conv2d(x, f, stride, padding, dilations=dilation), attrs)
        if dilation == 1:
            pool = dict(ksize=[kernel, kernel], strides=[stride, stride], padding=padding)
            case("MaxPool", [x], tf.nn.max_pool2d(x, kernel, stride, padding), pool)
            case("AvgPool", [x], tf.nn.avg_pool2d(x, kernel, stride, padding), pool)
g = tf.constant(np.arange(12).reshape(3, 4), tf.float32)
pads = tf.constant([[1, 2], [2, 1]])
case("MirrorPad", [g, pads], raw.MirrorPad(input=g, paddings=pads, mode="REFLECT"), dict(mode="REFLECT"))
case("MirrorPad", [g, pads], raw.MirrorPad(input=g, paddings=pads, mode="SYMMETRIC"), dict(mode="SYMMETRIC"))

# ---- Sorting, searching --------------------------------------------------------------------------
k = f32([[3, 1, 3, 2, 3]])
case("TopKV2", [k, tf.constant(3)], list(raw.TopKV2(input=k, k=3)), {}, "ties")
seq, find = f32([[1, 2, 2, 3]]), f32([[0, 2, 2.5, 3, 9]])
case("LowerBound", [seq, find], raw.LowerBound(sorted_inputs=seq, values=find))
case("UpperBound", [seq, find], raw.UpperBound(sorted_inputs=seq, values=find))

# ---- Clipping, norms, losses ---------------------------------------------------------------------
logits = f32([[1, 2, 3], [1000, 0, -1000], [0, 0, 0]])
case("Softmax", [logits], tf.nn.softmax(logits), dict(axis=-1))
case("LogSoftmax", [logits], tf.nn.log_softmax(logits), dict(axis=-1))

# ---- Neural: moments, ties, resizing, recurrent layers under a mask -------------------------------
def normal(*shape):
    return tf.constant(rng.normal(size=shape), tf.float32)


x, scale, offset = normal(2, 3, 2, 4), normal(4), normal(4)
mean, variance = normal(4), tf.abs(normal(4))
for factor, training in [(1.0, True), (0.25, True), (1.0, False)]:
    a4 = dict(epsilon=0.01, exponential_avg_factor=factor, is_training=training)
    y = raw.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=mean, variance=variance, **a4)
    case("FusedBatchNormV3", [x, scale, offset, mean, variance], list(y)[:3], a4)
dy, first, second = normal(2, 3, 2, 4), normal(4), tf.abs(normal(4))
for training in (True, False):
    y = raw.FusedBatchNormGradV3(y_backprop=dy, x=x, scale=scale, reserve_space_1=first,
                                 reserve_space_2=second,
                                 reserve_space_3=f32([]), epsilon=0.01, is_training=training)
    case("FusedBatchNormGradV3", [dy, x, scale, first, second, f32([])], list(y)[:3],
         dict(epsilon=0.01, is_training=training))
tied = tf.constant(rng.integers(0, 3, size=(2, 5, 4, 2)), tf.float32)
for padding in ["SAME", "VALID"]:
    window = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding=padding)
    y = raw.MaxPoolWithArgmax(input=tied, **window)
    case("MaxPoolWithArgmax", [tied], list(y), window, "ties")
    y = raw.MaxPool(input=tied, **window)
    g = tf.constant(rng.normal(size=y.shape), tf.float32)
    case("MaxPoolGrad", [tied, y, g], raw.MaxPoolGrad(orig_input=tied, orig_output=y, grad=g, **window),
         window, "ties")
x, f = normal(1, 5, 6, 3), normal(3, 2, 3, 2)
for padding, explicit in [("SAME", []), ("EXPLICIT", [0, 0, 1, 2, 0, 1, 0, 0])]:
    a4 = dict(strides=[1, 2, 2, 1], padding=padding, explicit_paddings=explicit)
    y = raw.DepthwiseConv2dNative(input=x, filter=f, **a4)
    case("DepthwiseConv2dNative", [x, f], y, a4)
x, f = normal(1, 4, 5, 4, 2), normal(2, 3, 3, 2, 3)
a4 = dict(strides=[1, 2, 1, 2, 1], padding="SAME")
case("Conv3D", [x, f], raw.Conv3D(input=x, filter=f, **a4), a4)
x = normal(1, 4, 5, 2)
for size in [(7, 3), (2, 9), (8, 10)]:
    for corners, half in [(False, False), (True, False), (False, True)]:
        a4 = dict(align_corners=corners, half_pixel_centers=half)
        case("ResizeBilinear", [x, tf.constant(size)], raw.ResizeBilinear(images=x, size=size, **a4), a4)
        case("ResizeNearestNeighbor", [x, tf.constant(size)],
             raw.ResizeNearestNeighbor(images=x, size=size, **a4), a4)
x, steps = normal(2, 4, 3), tf.constant([[False, True, True, False], [True, True, False, True]])
for name, states in [("LSTM", 2), ("GRU", 1)]:
    for masked in (False, True):
        for backwards in (False, True):
            layer = getattr(tf.keras.layers, name)(5, return_sequences=True, return_state=True,
                                                   go_backwards=backwards)
            initial = [normal(2, 5) for _ in range(states)]
            layer(x, initial_state=initial)
            layer.set_weights([rng.normal(size=w.shape) for w in layer.get_weights()])
            mask = steps if masked else tf.ones_like(steps)
            y = layer(x, initial_state=initial, mask=mask)
            weights = [tf.constant(w) for w in layer.get_weights()]
            case(name.capitalize(), [x, *weights, *initial, mask], list(y),
                 dict(go_backwards=backwards), "mask" if masked else "")

print(json.dumps(dict(tensorflow=tf.__version__, cases=cases), separators=(",", ":")))
