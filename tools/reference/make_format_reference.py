#!/usr/bin/env python3
"""Writes tests/cpu/tensor/data/format_reference.json: how TensorFlow prints tensors.

Run it with a Python that has TensorFlow:

    .venv-bench/bin/python tools/reference/make_format_reference.py

A case is [dtype, shape, values, str, repr]. `values` are the bytes of the first elements in hex
(for strings a list, one entry per element); they are repeated until the shape is full, so that
large tensors stay small in the file. `digests` are FNV-1a hashes of the str() of every value of a
16-bit dtype, one per line.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import ml_dtypes
import numpy as np
import tensorflow as tf

OUTPUT = pathlib.Path(__file__).parents[2] / "tests/cpu/tensor/data/format_reference.json"
RNG = np.random.default_rng(20240521)
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
COMPLEX = {np.complex64: np.float32, np.complex128: np.float64}
SMALL_SHAPES = [(3,), (7,), (17,), (2, 3), (3, 8), (2, 2, 2), (2, 1, 3), (1, 2, 1, 2)]
SUMMARY_SHAPES = [(1001,), (3, 400), (400, 3), (7, 7, 21), (8, 9, 4, 5), (2, 1, 600)]
EMPTY_SHAPES = [(0,), (0, 3), (2, 0), (1, 0, 4)]
nan, inf = float("nan"), float("inf")
EDGES = [0.0, -0.0, nan, inf, -inf, 1.0, 0.1, -2.5, 1 / 3, 1e-4, 9.9e-5, 1e-5, 999.0, 999.5, 1e3,
         999999.0, 1e6, 99999999.0, 1e8, 1e15, 1e16, 123456789.125, 2097152.25, 0.001953125,
         0.015625, 6e-8, 1e-40, 5e-324, 1e30, 65504.0, 3.4028235e38, 1.7976931348623157e308]

cases = []


def add(values, shape):
    """Adds the tensor of that shape filled with the values (a 1-d array), repeated."""
    size = int(np.prod(shape))
    if values.dtype == object:
        data = [v.hex() for v in values]
        tensor = tf.constant(np.resize(values, shape).tolist(), tf.string, shape)
    else:
        data = values.tobytes().hex()
        tensor = tf.constant(np.resize(values, size).reshape(shape))
    cases.append([tensor.dtype.name, list(shape), data, str(tensor), repr(tensor)])


def random_floats(dtype, size, kind):
    """One of several ways in which numbers are spread."""
    with np.errstate(all="ignore"):
        if kind == "bits":
            words = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
            return RNG.integers(0, np.iinfo(words).max, size, words, endpoint=True).view(dtype)
        if kind == "normal":
            return RNG.normal(size=size).astype(dtype)
        if kind == "round":
            return np.round(RNG.normal(size=size) * 10, RNG.integers(0, 4)).astype(dtype)
        if kind == "whole":
            return RNG.integers(-99, 100, size).astype(dtype)
        if kind == "scaled":
            return (RNG.uniform(-1, 1, size) * 10.0 ** RNG.integers(-9, 12)).astype(dtype)
        if kind == "wide":
            return (10.0 ** RNG.uniform(-7, 8, size)).astype(dtype)
        if kind == "binary":
            return (RNG.integers(-1000, 1000, size) / 2.0 ** RNG.integers(0, 16)).astype(dtype)
        if kind == "edges":
            return RNG.choice(EDGES, size).astype(dtype)
    raise ValueError(kind)


KINDS = ["bits", "normal", "round", "whole", "scaled", "wide", "binary", "edges"]


def pick(options):
    return options[RNG.integers(len(options))]


def random_bytes():
    pool = pick([b"abcdefgh ", b"a'b", b'a"b', b"a'\"\\\n\t\r\0\x7f\x80\xff", "äß→".encode()])
    return bytes(RNG.choice(list(pool), RNG.integers(0, 12)).astype(np.uint8))


def strings(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


def add_floats():
    for dtype in FLOATS:
        with np.errstate(all="ignore"):
            edges = np.array(EDGES).astype(dtype)
        for value in edges:
            add(np.array([value]), ())
        for kind in KINDS:
            for _ in range(2):
                shape = pick(SMALL_SHAPES)
                add(random_floats(dtype, int(np.prod(shape)), kind), shape)
            add(random_floats(dtype, 1, kind), ())
        for shape in SUMMARY_SHAPES[:4]:
            add(random_floats(dtype, 23, pick(KINDS)), shape)
        for values in [[nan], [inf], [-inf], [nan, -inf], [nan, 1], [-inf, 0.5], [0, -0.0],
                       [nan, 1e-9], [1e-9, 1], [1, 1000], [1, 1001], [1e300, 1e-300]]:
            with np.errstate(all="ignore"):
                add(np.array(values, np.float64).astype(dtype), (len(values),))


def add_complex():
    def parts(dtype, real, imaginary):
        values = np.empty(len(real), dtype)
        values.real, values.imag = real, imaginary
        return values

    for dtype, part in COMPLEX.items():
        for real in [0.0, -0.0, 1.1, 1e20, nan, -inf]:
            for imaginary in [0.0, -0.0, 2.5, -1e-7, nan, inf]:
                add(parts(dtype, [real], [imaginary]), ())
        for kind in KINDS:
            shape = pick(SMALL_SHAPES[:6])
            size = int(np.prod(shape))
            add(parts(dtype, random_floats(part, size, kind),
                      random_floats(part, size, pick(KINDS))), shape)
        add(parts(dtype, random_floats(part, 9, "round"), random_floats(part, 9, "round")),
            (40, 30))


def add_others():
    for dtype in INTS:
        info = np.iinfo(dtype)
        full = RNG.integers(info.min, info.max, 24, dtype, endpoint=True)
        for value in [info.min, info.max, 0]:
            add(np.array([value], dtype), ())
        add(np.array([info.min, 0, info.max], dtype), (3,))
        add(full, pick(SMALL_SHAPES))
        add(RNG.integers(0 if info.min == 0 else -20, 100, 24).astype(dtype), (2, 3, 4))
        add(full, pick(SUMMARY_SHAPES))
    for shape in [(1,), (40,), (2, 3), (2, 2, 2), (1200,)]:
        add(RNG.random(17) < 0.5, shape)
    add(np.array([True]), ())
    add(np.array([False]), ())
    for value in [b"", b"plain", b"it's", b'"', b"'\"", b"\\", b"\x00\x1f\x7f\xff\n", b"x" * 90]:
        add(strings([value]), ())
        add(strings([value]), (2, 1))
    for shape in SMALL_SHAPES + [(50,), (1001,), (300, 4)]:
        add(strings([random_bytes() for _ in range(19)]), shape)


def add_layout():
    """Wrapping, the line of the dtype, brackets, the border of summarising."""
    for n in range(14, 20):
        add(np.arange(10, dtype=np.int32), (n,))
        add(np.arange(n, dtype=np.float32) / 4, (n,))
    for n in range(62, 80):
        add(strings([b"y" * (n - 20)]), (1,))
    add(np.arange(7, dtype=np.int64), (1000,))
    add(np.zeros(1, np.float64), (1001,))
    add(np.ones(1, np.int64), (2, 2, 2, 2, 2))
    add(np.ones(1, np.float32), (1, 1, 1, 1, 1, 1, 1))
    add(np.arange(5, dtype=np.int8), (9, 3, 8, 6))
    for dtype in FLOATS + INTS + list(COMPLEX) + [np.bool_, object]:
        add(np.zeros(0, dtype), pick(EMPTY_SHAPES))
    for shape in EMPTY_SHAPES:
        add(np.zeros(0, np.float32), shape)


def digest(dtype):
    fnv = 0xCBF29CE484222325
    for value in np.arange(1 << 16, dtype=np.uint16).view(dtype):
        for byte in str(value).encode() + b"\n":
            fnv = (fnv ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{fnv:016x}"


def main():
    add_floats()
    add_complex()
    add_others()
    add_layout()
    head = {
        "made_by": "tools/reference/make_format_reference.py",
        "versions": {m.__name__: m.__version__ for m in (tf, np, ml_dtypes)},
        "digests": {"float16": digest(np.float16), "bfloat16": digest(ml_dtypes.bfloat16)},
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text("{" + ",\n".join(lines) + ',\n"cases": [\n' + rows + "\n]}\n")
    print(f"{len(cases)} cases, {OUTPUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
