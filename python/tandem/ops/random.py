"""tf.random: TensorFlow's signatures over the native generators."""

import operator

from tandem import _core
from tandem._core import as_dtype, convert_sizes, convert_to_tensor, execute
from tandem.framework.dtypes import float32, int64
from tandem.ops.check import with_rank

_f = _core.functions


def seed_of(value):
    """What TensorFlow makes of a seed that is given."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return operator.index(value) % (2**31 - 1)
    except TypeError:
        raise TypeError(f"A seed must be one integer, got {value!r}.") from None


def _seed(seed):
    return -1 if seed is None else seed_of(seed)


def _bounds(minval, maxval, dtype):
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    return minval, maxval


def _is_number(value):
    return isinstance(value, (int, float)) or (
        not isinstance(value, _core.Tensor) and getattr(value, "ndim", None) == 0
    )


def set_seed(seed):
    """All sequences of random numbers start over from this seed; None: from seeds that differ in each process."""
    if seed is None:
        _f.clear_seed()
        return
    seed = int(seed)
    _f.set_seed(seed if -(2**63) <= seed < 2**63 else seed_of(seed))


def uniform(shape, minval=0, maxval=None, dtype=float32, seed=None, name=None):
    """Uniform numbers in [minval, maxval)."""
    dtype = as_dtype(dtype)
    minval, maxval = _bounds(minval, maxval, dtype)
    if _is_traced(shape):
        sizes, key, counter = _drawn_when_run(shape, seed)
        if dtype.is_integer:
            bounds = (convert_to_tensor(v, dtype) for v in (minval, maxval))
            return execute("StatelessRandomUniformIntV2", sizes, key, counter, *bounds)
        return _stretched(execute("StatelessRandomUniformV2", sizes, key, counter, dtype=dtype), minval, maxval)
    if dtype.is_integer and _is_traced(minval, maxval):
        bounds = (convert_to_tensor(v, dtype) for v in (minval, maxval))
        return execute("StatelessRandomUniformIntV2", *_drawn_when_run(shape, seed), *bounds)
    if dtype.is_integer or (_is_number(minval) and _is_number(maxval)):
        return _f.uniform(shape, float(minval), float(maxval), dtype, _seed(seed))
    minval, maxval = (convert_to_tensor(v, dtype) for v in (minval, maxval))
    return _f.uniform(shape, 0.0, 1.0, dtype, _seed(seed)) * (maxval - minval) + minval


def normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Numbers of a normal distribution."""
    return _scaled("StatelessRandomNormalV2", _f.normal, shape, mean, stddev, as_dtype(dtype), seed)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed=None, name=None):
    """Normal numbers within two standard deviations."""
    return _scaled("StatelessTruncatedNormalV2", _f.truncated_normal, shape, mean, stddev, as_dtype(dtype), seed)


def _scaled(op, draw, shape, mean, stddev, dtype, seed):
    if _is_traced(shape):
        drawn = execute(op, *_drawn_when_run(shape, seed), dtype=dtype)
        return drawn * convert_to_tensor(stddev, dtype) + convert_to_tensor(mean, dtype)
    if _is_number(mean) and _is_number(stddev):
        return draw(shape, float(mean), float(stddev), dtype, _seed(seed))
    return draw(shape, 0.0, 1.0, dtype, _seed(seed)) * convert_to_tensor(stddev, dtype) + convert_to_tensor(mean, dtype)


def shuffle(value, seed=None, name=None):
    """The rows of a tensor in random order."""
    return _f.shuffle(value, _seed(seed))


def gamma(shape, alpha, beta=None, dtype=float32, seed=None, name=None):
    """Samples of the gamma distribution for each alpha."""
    dtype = as_dtype(dtype)
    beta = None if beta is None else convert_to_tensor(beta, dtype)
    alpha = convert_to_tensor(alpha, dtype)
    if not _is_traced(shape):
        return _f.gamma(shape, alpha, beta, _seed(seed))
    if beta is not None:
        alpha = alpha + execute("ZerosLike", beta)
    sizes = _sizes(shape)
    count = execute("Prod", execute("Cast", sizes, dtype=int64)) * execute("Size", alpha, out_type=int64)
    drawn = execute("StatelessRandomGammaV3", sizes, *_f.draw_traced(_seed(seed), count * _BLOCKS_PER_NUMBER), alpha)
    return drawn if beta is None else execute("Maximum", drawn / beta, convert_to_tensor(dtype.as_numpy_dtype(2.3e-308), dtype))


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Class indices drawn from rows of unnormalised log-probabilities."""
    dtype = int64 if dtype is None else as_dtype(dtype)
    if _is_traced(num_samples):
        logits = convert_to_tensor(logits)
        sizes = _rows_and_samples(logits, num_samples)
        return _by_distribution(logits, execute("StatelessRandomUniformV2", *_drawn_when_run(sizes, seed), dtype="float64"), dtype)
    return _f.categorical(logits, int(num_samples), dtype, _seed(seed))


def _rows_and_samples(logits, num_samples):
    return execute("Pack", [execute("Shape", logits)[0], execute("Cast", num_samples, dtype="int32")], axis=0)


def _by_distribution(logits, uniform, dtype):
    """The classes in whose part of the distribution the numbers lie; of as many as only a run knows."""
    logits = execute("Cast", logits, dtype="float64")
    parts = execute("Cumsum", execute("Softmax", logits), axis=-1)
    places = execute("Sum", execute("Cast", uniform[:, :, None] >= (parts / parts[:, -1:])[:, None, :], dtype=dtype), axis=-1)
    return execute("Minimum", places, execute("Cast", execute("Shape", logits)[1] - 1, dtype=dtype))


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=float32, name=None, alg="auto_select"):
    """Uniform numbers that depend on the seed alone."""
    dtype = as_dtype(dtype)
    if dtype.is_integer:
        if minval is None and maxval is None:
            if _is_traced(shape, seed):
                return execute("StatelessRandomUniformFullIntV2", _sizes(shape), *_state(seed), dtype=dtype)
            return _f.stateless_uniform_full_int(shape, seed, dtype)
        if minval is None or maxval is None:
            raise ValueError(
                f"For integer `dtype` argument {dtype!r}, argument `minval` and `maxval` must be both "
                "None or not None."
            )
    minval, maxval = _bounds(minval, maxval, dtype)
    if _is_traced(shape, seed) or (dtype.is_integer and _is_traced(minval, maxval)):
        if dtype.is_integer:
            bounds = (convert_to_tensor(v, dtype) for v in (minval, maxval))
            return execute("StatelessRandomUniformIntV2", _sizes(shape), *_state(seed), *bounds)
        drawn = execute("StatelessRandomUniformV2", _sizes(shape), *_state(seed), dtype=dtype)
        return _stretched(drawn, minval, maxval)
    if dtype.is_integer or (_is_number(minval) and _is_number(maxval)):
        return _f.stateless_uniform(shape, seed, float(minval), float(maxval), dtype)
    return _stretched(_f.stateless_uniform(shape, seed, 0.0, 1.0, dtype), minval, maxval)


def _stretched(drawn, minval, maxval):
    """Numbers from [0, 1) in [minval, maxval)."""
    if _is_number(minval) and _is_number(maxval) and minval == 0 and maxval == 1:
        return drawn
    minval, maxval = (convert_to_tensor(v, drawn.dtype) for v in (minval, maxval))
    return drawn * (maxval - minval) + minval


_BLOCKS_PER_NUMBER = 256  # that a sequence moves on by, as in TensorFlow


def _drawn_when_run(shape, seed):
    """Sizes, key and counter for numbers whose shape is only known when the function runs."""
    sizes = _sizes(shape)
    count = execute("Prod", execute("Cast", sizes, dtype=int64))
    return sizes, *_f.draw_traced(_seed(seed), count * _BLOCKS_PER_NUMBER)


def _is_traced(*values):
    """Whether a shape or a seed is only known when the function runs."""
    return any(
        isinstance(v, _core.Tensor) and not isinstance(v, _core.EagerTensor)
        for value in values
        for v in (value if isinstance(value, (list, tuple)) else (value,))
    )


def _sizes(shape):
    return convert_sizes(shape, None, "int32")


def _state(seed):
    """Key and counter that stateless ops draw from."""
    return execute("StatelessRandomGetKeyCounter", convert_to_tensor(seed))


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name=None, alg="auto_select"):
    """Normal numbers that depend on the seed alone."""
    return _stateless("StatelessRandomNormalV2", _f.stateless_normal, shape, seed, mean, stddev, as_dtype(dtype))


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name=None, alg="auto_select"):
    """Normal numbers within two standard deviations that depend on the seed alone."""
    return _stateless(
        "StatelessTruncatedNormalV2", _f.stateless_truncated_normal, shape, seed, mean, stddev, as_dtype(dtype)
    )


def _stateless(op, draw, shape, seed, mean, stddev, dtype):
    if _is_traced(shape, seed):
        drawn = execute(op, _sizes(shape), *_state(seed), dtype=dtype)
        return drawn * convert_to_tensor(stddev, dtype) + convert_to_tensor(mean, dtype)
    if _is_number(mean) and _is_number(stddev):
        return draw(shape, seed, float(mean), float(stddev), dtype)
    return draw(shape, seed, 0.0, 1.0, dtype) * convert_to_tensor(stddev, dtype) + convert_to_tensor(mean, dtype)


def stateless_gamma(shape, seed, alpha, beta=None, dtype=float32, name=None):
    """Gamma samples that depend on the seed alone; the shape ends with that of alpha and beta broadcast."""
    dtype = as_dtype(dtype)
    alpha = convert_to_tensor(alpha, dtype)
    if beta is not None:
        beta = convert_to_tensor(beta, dtype)
        both = execute("BroadcastArgs", execute("Shape", alpha), execute("Shape", beta))
        alpha = execute("BroadcastTo", alpha, both)
    rank = alpha.shape.rank
    if _is_traced(shape, seed):
        sizes = with_rank(_sizes(shape), 1, 1)
        if sizes.shape[0] is None:
            raise ValueError(f"The number of dimensions of `shape` must be known while the function is traced, got {sizes}.")
        drawn = execute("StatelessRandomGammaV3", sizes[: sizes.shape[0] - rank], *_state(seed), alpha)
        return drawn if beta is None else drawn / beta
    wanted = _core.to_ints(shape)
    samples = len(wanted) - rank
    if samples < 0 or wanted[samples:] != alpha.shape.as_list():
        raise ValueError(f"Shape {wanted} must end with the shape of alpha, {alpha.shape}.")
    drawn = _f.stateless_gamma(wanted[:samples], seed, alpha)
    return drawn if beta is None else drawn / beta


def stateless_categorical(logits, num_samples, seed, dtype=int64, name=None):
    """Class indices that depend on the seed alone."""
    if _is_traced(num_samples):
        logits = convert_to_tensor(logits)
        drawn = stateless_uniform(_rows_and_samples(logits, num_samples), seed, dtype="float64")
        return _by_distribution(logits, drawn, as_dtype(dtype))
    if _is_traced(seed):
        return execute(
            "StatelessMultinomialV2", logits, *_state(seed), num_samples=int(num_samples), output_dtype=as_dtype(dtype)
        )
    return _f.stateless_categorical(logits, int(num_samples), seed, as_dtype(dtype))


def stateless_shuffle(value, seed, alg="auto_select", name=None):
    """Rows in an order that depends on the seed alone."""
    if _is_traced(seed):
        return execute("StatelessShuffleV2", value, *_state(seed))
    return _f.stateless_shuffle(value, seed)
