"""tf.random.Generator and the samplers with parameters for every element."""

import enum
import secrets

import numpy as np

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int32, int64
from tandem.framework.trackable import AutoTrackable
from tandem.framework.variable import Variable
from tandem.ops import random as _random

_UINT64 = as_dtype("uint64")


class Algorithm(enum.Enum):
    """Algorithms of random numbers. Tandem has Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _algorithm(alg):
    if isinstance(alg, _core.Tensor):
        alg = int(alg)
    if isinstance(alg, str):
        alg = {"philox": 1, "threefry": 2, "auto_select": 3}.get(alg)
    if alg is None or (isinstance(alg, int) and alg not in (1, 2, 3)):
        raise ValueError(f"Unsupported algorithm: {alg!r}; use 'philox'.")
    return alg if isinstance(alg, Algorithm) else Algorithm(alg)


def create_rng_state(seed, alg):
    """The state of a generator made from a seed: as many numbers as the algorithm has."""
    alg = _algorithm(alg)
    size = 2 if alg is Algorithm.THREEFRY else 3
    if isinstance(seed, int):  # of any length: cut into words, the lowest first
        seed = [seed >> 64 * i & 2**64 - 1 for i in range(size)]
    if isinstance(seed, (list, tuple)):
        seed = [n - 2**64 if isinstance(n, int) and 2**63 <= n < 2**64 else n for n in seed]
    state = execute("Reshape", execute("Cast", convert_to_tensor(seed), dtype=int64), [-1])[:size]
    # Zeros come first: the last number is the key, which shall differ.
    if state.shape[0] is None:
        raise ValueError("The number of a seed's elements must be known.")
    return execute("ConcatV2", [convert_to_tensor([0] * (size - state.shape[0]), int64), state], axis=0)


class Generator(AutoTrackable):
    """Random numbers from a state that is a variable: it can be saved, and used inside functions."""

    def __init__(self, copy_from=None, state=None, alg=None):
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("If `copy_from` is not None, `state` and `alg` must be None.")
            state, alg = copy_from.state.read_value(), copy_from._alg
        if state is None or alg is None:
            raise ValueError("Both `state` and `alg` are needed when `copy_from` is None.")
        self._alg = _algorithm(alg)
        if self._alg is Algorithm.THREEFRY:
            raise NotImplementedError("Tandem's generators use Philox: pass alg='philox'.")
        self._state = Variable(convert_to_tensor(state, int64), trainable=False, name="StateVar")

    @classmethod
    def from_state(cls, state, alg):
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed, alg=None):
        alg = alg or "philox"
        return cls(state=create_rng_state(seed, "philox" if _algorithm(alg) is Algorithm.AUTO_SELECT else alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        if _core.config.op_determinism_enabled():
            raise RuntimeError('"from_non_deterministic_state" cannot be called when determinism is enabled.')
        state = [int.from_bytes(secrets.token_bytes(8), "little", signed=True) for _ in range(3)]
        return cls(state=state, alg=alg or "philox")

    @classmethod
    def from_key_counter(cls, key, counter, alg):
        counter, key = convert_to_tensor(counter, int64), convert_to_tensor(key, int64)
        counter = execute("Reshape", counter, [-1])
        missing = 2 - counter.shape[0]
        zeros = convert_to_tensor([0] * missing, int64)
        parts = [counter, zeros, execute("Reshape", key, [1])] if missing else [counter, execute("Reshape", key, [1])]
        return cls(state=execute("ConcatV2", parts, axis=0), alg=alg)

    state = property(lambda self: self._state)
    algorithm = property(lambda self: self._alg.value)
    key = property(lambda self: self._state.read_value()[2])

    def reset(self, state):
        self._state.assign(convert_to_tensor(state, int64))

    def reset_from_seed(self, seed):
        self.reset(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key, counter):
        self.reset(Generator.from_key_counter(key, counter, self._alg).state.read_value())

    def skip(self, delta):
        """Moves on as after so many numbers; gives the state from before."""
        before = self._state.read_value()
        bits = execute("Bitcast", before, type=_UINT64)
        step = execute("Bitcast", execute("Cast", convert_to_tensor(delta), dtype=int64) * 256, type=_UINT64)
        low = bits[0] + step
        high = bits[1] + execute("Cast", execute("Less", low, step), dtype=_UINT64)
        after = execute("Pack", [low, high, bits[2]], axis=0)
        self._state.assign(execute("Bitcast", after, type=int64))
        return before

    def _draw(self, shape):
        """Key and counter for so many numbers."""
        count = execute("Prod", execute("Cast", convert_sizes(shape, None, int32), dtype=int64)) if len(
            np.shape(shape) if not hasattr(shape, "shape") else shape.shape
        ) else convert_to_tensor(1, int64)  # fmt: skip
        before = execute("Bitcast", self.skip(count), type=_UINT64)
        return before[2:3], before[:2]

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=float32, name=None):
        return self._scaled("StatelessRandomNormalV2", shape, mean, stddev, dtype)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=float32, name=None):
        return self._scaled("StatelessTruncatedNormalV2", shape, mean, stddev, dtype)

    def _scaled(self, op, shape, mean, stddev, dtype):
        shape = _shape(shape)
        dtype = as_dtype(dtype)
        drawn = execute(op, shape, *self._draw(shape), dtype=dtype)
        return drawn * convert_to_tensor(stddev, dtype) + convert_to_tensor(mean, dtype)

    def uniform(self, shape, minval=0, maxval=None, dtype=float32, name=None):
        dtype, shape = as_dtype(dtype), _shape(shape)
        if maxval is None:
            if dtype.is_integer:
                raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
            maxval = 1
        state = self._draw(shape)
        if dtype.is_integer:
            bounds = (convert_to_tensor(v, dtype) for v in (minval, maxval))
            return execute("StatelessRandomUniformIntV2", shape, *state, *bounds)
        low, high = (convert_to_tensor(v, dtype) for v in (minval, maxval))
        return execute("StatelessRandomUniformV2", shape, *state, dtype=dtype) * (high - low) + low

    def uniform_full_int(self, shape, dtype=_UINT64, name=None):
        shape = _shape(shape)
        return execute("StatelessRandomUniformFullIntV2", shape, *self._draw(shape), dtype=as_dtype(dtype))

    def binomial(self, shape, counts, probs, dtype=int32, name=None):
        key, counter = self._draw(_shape(shape))
        return _sample("StatelessRandomBinomialV2", shape, key, counter, [counts, probs], dtype)

    def make_seeds(self, count=1):
        """Seeds for stateless functions, as columns."""
        keys = self.uniform_full_int([_count(count)], dtype=int64)
        return execute("Pack", [keys, execute("ZerosLike", keys)], axis=0)

    def split(self, count=1):
        """Generators of their own, independent of one another and of this one."""
        keys = execute("Bitcast", self.uniform_full_int([int(count)], dtype=_UINT64), type=int64)
        zeros = [0, 0]
        return [Generator.from_key_counter(keys[i], zeros, self._alg) for i in range(int(count))]


def _count(count):
    """A number of seeds: a tensor where only a run knows it."""
    known = _core.static_value(count) if isinstance(count, _core.Tensor) else count
    return count if known is None else int(known)


def _shape(shape):
    if isinstance(shape, _core.Tensor):
        return shape
    if isinstance(shape, (list, tuple)) and any(isinstance(n, _core.Tensor) for n in shape):
        return convert_sizes(shape, None, int32)
    sizes = _core.to_ints([shape] if isinstance(shape, int) else shape)
    return convert_sizes(sizes, None, int32) if sizes else convert_to_tensor([], int32)


_GLOBAL = {}


def get_global_generator():
    """The generator of the process, made when it is first asked for."""
    if _GLOBAL.get("generator") is None:
        if _core.config.op_determinism_enabled():
            raise RuntimeError(
                '"get_global_generator" cannot be called if determinism is enabled, unless "set_global_generator" has '
                "been called: give it a generator with a seed first."
            )
        with _core.init_scope():
            _GLOBAL["generator"] = Generator.from_non_deterministic_state()
    return _GLOBAL["generator"]


def set_global_generator(generator):
    """Replaces the generator of the process."""
    _GLOBAL["generator"] = generator


# ---- Seeds


def split(seed, num=2, alg="auto_select"):
    """Seeds made from one, as rows."""
    seed = convert_to_tensor(seed)
    dtype = seed.dtype if seed.dtype in (int32, int64) else int64
    return _random.stateless_uniform([_count(num), 2], seed, None, None, dtype=dtype)


def fold_in(seed, data, alg="auto_select"):
    """A seed made from a seed and a number."""
    data = convert_to_tensor(data)
    dtype = data.dtype if data.dtype in (int32, int64) else int64
    head = _random.stateless_uniform([1], seed, None, None, dtype=dtype)
    return execute("ConcatV2", [head, execute("Reshape", data, [1])], axis=0)


# ---- Distributions with parameters for every element


def _state_of(seed):
    words = _random.stateless_uniform([3], seed, None, None, dtype=int64)
    bits = execute("Bitcast", words, type=_UINT64)
    return bits[2:3], bits[:2]


def _next_state(seed):
    """Key and counter from the program's sequence of random numbers."""
    words = _random.uniform([6], 0, 2**31 - 1, dtype=int32, seed=seed)
    bits = execute("Bitcast", execute("Reshape", words, [3, 2]), type=_UINT64)
    return bits[2:3], bits[:2]


def _sample(op, shape, key, counter, parameters, dtype):
    dtype = as_dtype(dtype)
    kind = as_dtype("float64") if dtype.name in ("float64", "int64") else float32
    shape = _shape(shape)
    wide = []
    for p in parameters:
        p = convert_to_tensor(p)
        wide.append(execute("BroadcastTo", p if p.dtype is kind else execute("Cast", p, dtype=kind), shape))
    drawn = execute(op, shape, key, counter, *wide)
    return drawn if drawn.dtype is dtype else execute("Cast", drawn, dtype=dtype)


def stateless_poisson(shape, seed, lam, dtype=int32, name=None):
    """Counts of Poisson distributions that depend on the seed alone."""
    return _sample("StatelessRandomPoissonV2", shape, *_state_of(seed), [lam], dtype)


def poisson(shape, lam, dtype=float32, seed=None, name=None):
    """Counts of Poisson distributions: `shape` of them for each mean."""
    lam = convert_to_tensor(lam)
    sizes = _shape(shape)
    whole = execute("ConcatV2", [sizes, execute("Shape", lam, out_type=sizes.dtype)], axis=0)
    return _sample("StatelessRandomPoissonV2", whole, *_next_state(seed), [lam], dtype)


def stateless_binomial(shape, seed, counts, probs, output_dtype=int32, name=None):
    """Successes among independent tries that depend on the seed alone."""
    return _sample("StatelessRandomBinomialV2", shape, *_state_of(seed), [counts, probs], output_dtype)


def stateless_parameterized_truncated_normal(
    shape, seed, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0, name=None
):
    """Normal numbers between bounds that depend on the seed alone."""
    parameters = [means, stddevs, minvals, maxvals]
    kinds = [p.dtype for p in parameters if isinstance(p, _core.Tensor)]
    op = "StatelessParameterizedTruncatedNormalV2"
    return _sample(op, shape, *_state_of(seed), parameters, kinds[0] if kinds else float32)
