"""tf.compat.v1.distributions: densities, moments and samples of a few distributions."""

import math

from tandem import _core
from tandem._namespaces import get


class ReparameterizationType:
    """Whether gradients go through samples."""

    def __init__(self, rep_type):
        self._rep_type = rep_type

    def __repr__(self):
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """`_parameters`: tensors by name, whose shapes together are the shape of a batch."""

    reparameterization_type = NOT_REPARAMETERIZED
    _event_rank = 0

    def __init__(self, name, validate_args=False, allow_nan_stats=True, **parameters):
        self._name, self.validate_args, self.allow_nan_stats = name, validate_args, allow_nan_stats
        self._parameters = parameters

    name = property(lambda self: self._name)
    parameters = property(lambda self: dict(self._parameters))

    @property
    def dtype(self):
        return next(p for p in self._parameters.values() if isinstance(p, _core.Tensor)).dtype

    def _given(self, *values, dtype=None):
        made = [_core.convert_to_tensor(v, dtype) if v is not None else None for v in values]
        return made

    @property
    def batch_shape(self):
        shape = get("TensorShape")([])
        for value in self._parameters.values():
            own = value.shape
            shape = get("broadcast_static_shape")(shape, own[: own.rank - self._event_rank])
        return shape

    def batch_shape_tensor(self, name=None):
        return get("constant")(self.batch_shape.as_list(), "int32")

    @property
    def event_shape(self):
        return next(iter(self._parameters.values())).shape[-1:] if self._event_rank else get("TensorShape")([])

    def event_shape_tensor(self, name=None):
        return get("constant")(self.event_shape.as_list(), "int32")

    def _value(self, value):
        return get("cast")(value, self.dtype)

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        return self._sample([*flat, *self.batch_shape.as_list()], seed)

    def log_prob(self, value, name="log_prob"):
        return self._log_prob(self._value(value))

    def prob(self, value, name="prob"):
        return get("exp")(self.log_prob(value))

    def log_cdf(self, value, name="log_cdf"):
        return get("math.log")(self.cdf(value))

    def cdf(self, value, name="cdf"):
        return self._cdf(self._value(value))

    def survival_function(self, value, name="survival_function"):
        return 1 - self.cdf(value)

    def log_survival_function(self, value, name="log_survival_function"):
        return get("math.log")(self.survival_function(value))

    def stddev(self, name="stddev"):
        return get("sqrt")(self.variance())

    def kl_divergence(self, other, name="kl_divergence"):
        return kl_divergence(self, other)

    def cross_entropy(self, other, name="cross_entropy"):
        return kl_divergence(self, other) + self.entropy()

    def _refuse(self, what):
        raise NotImplementedError(f"{what} is not implemented: {type(self).__name__}")

    def _sample(self, shape, seed):
        self._refuse("sample")

    def _log_prob(self, value):
        self._refuse("log_prob")

    def _cdf(self, value):
        self._refuse("cdf")

    def entropy(self, name="entropy"):
        self._refuse("entropy")

    def mean(self, name="mean"):
        self._refuse("mean")

    def variance(self, name="variance"):
        self._refuse("variance")

    def mode(self, name="mode"):
        self._refuse("mode")

    def __repr__(self):
        return f"<tf.distributions.{type(self).__name__} '{self._name}/' batch_shape={self.batch_shape} dtype={self.dtype.name}>"


def _uniform(shape, dtype, seed):
    return get("random.uniform")(shape, dtype=dtype, seed=seed)


def _spread(self, value):
    return value + get("zeros")(self.batch_shape.as_list(), self.dtype)


class Normal(Distribution):
    reparameterization_type = FULLY_REPARAMETERIZED

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        self.loc, self.scale = self._given(loc, scale)
        super().__init__(name, validate_args, allow_nan_stats, loc=self.loc, scale=self.scale)

    def _sample(self, shape, seed):
        return self.loc + self.scale * get("random.normal")(shape, dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        z = (x - self.loc) / self.scale
        return -0.5 * z * z - (0.5 * math.log(2 * math.pi) + get("math.log")(self.scale))

    def _cdf(self, x):
        return 0.5 * (1 + get("math.erf")((x - self.loc) / (self.scale * math.sqrt(2))))

    def entropy(self, name="entropy"):
        return _spread(self, 0.5 * math.log(2 * math.pi * math.e) + get("math.log")(self.scale))

    def mean(self, name="mean"):
        return _spread(self, self.loc)

    mode = mean

    def variance(self, name="variance"):
        return _spread(self, self.scale * self.scale)

    def quantile(self, value, name="quantile"):
        return self.loc + self.scale * get("math.ndtri")(self._value(value))


class Uniform(Distribution):
    reparameterization_type = FULLY_REPARAMETERIZED

    def __init__(self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"):
        self.low, self.high = self._given(low, high)
        super().__init__(name, validate_args, allow_nan_stats, low=self.low, high=self.high)

    def range(self, name="range"):
        return self.high - self.low

    def _sample(self, shape, seed):
        return self.low + self.range() * _uniform(shape, self.dtype, seed)

    def prob(self, value, name="prob"):
        x = self._value(value)
        inside = get("logical_and")(x >= self.low, x < self.high)
        return get("where")(inside, get("ones_like")(x) / self.range(), get("zeros_like")(x) * self.range())

    def _log_prob(self, x):
        return get("math.log")(self.prob(x))

    def _cdf(self, x):
        return get("clip_by_value")((x - self.low) / self.range(), 0.0, 1.0)

    def entropy(self, name="entropy"):
        return get("math.log")(self.range())

    def mean(self, name="mean"):
        return (self.low + self.high) / 2

    def variance(self, name="variance"):
        return self.range() ** 2 / 12


class Laplace(Distribution):
    reparameterization_type = FULLY_REPARAMETERIZED

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Laplace"):
        self.loc, self.scale = self._given(loc, scale)
        super().__init__(name, validate_args, allow_nan_stats, loc=self.loc, scale=self.scale)

    def _sample(self, shape, seed):
        u = get("random.uniform")(shape, -1.0 + 1e-7, 1.0, dtype=self.dtype, seed=seed)
        return self.loc - self.scale * get("sign")(u) * get("math.log1p")(-get("abs")(u))

    def _log_prob(self, x):
        return -get("abs")((x - self.loc) / self.scale) - math.log(2.0) - get("math.log")(self.scale)

    def _cdf(self, x):
        z = (x - self.loc) / self.scale
        return 0.5 + 0.5 * get("sign")(z) * (1 - get("exp")(-get("abs")(z)))

    def entropy(self, name="entropy"):
        return _spread(self, math.log(2.0) + 1 + get("math.log")(self.scale))

    def mean(self, name="mean"):
        return _spread(self, self.loc)

    mode = mean

    def variance(self, name="variance"):
        return _spread(self, 2 * self.scale * self.scale)


class Gamma(Distribution):
    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True, name="Gamma"):
        self.concentration, self.rate = self._given(concentration, rate)
        super().__init__(name, validate_args, allow_nan_stats, concentration=self.concentration, rate=self.rate)

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        return get("random.gamma")(flat, self.concentration, self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        log, lgamma = get("math.log"), get("math.lgamma")
        return (self.concentration - 1) * log(x) - self.rate * x - lgamma(self.concentration) + self.concentration * log(
            self.rate)  # fmt: skip

    def _cdf(self, x):
        return get("math.igamma")(self.concentration, self.rate * x)

    def entropy(self, name="entropy"):
        a = self.concentration
        return a - get("math.log")(self.rate) + get("math.lgamma")(a) + (1 - a) * get("math.digamma")(a)

    def mean(self, name="mean"):
        return self.concentration / self.rate

    def variance(self, name="variance"):
        return self.concentration / self.rate**2

    def mode(self, name="mode"):
        return (self.concentration - 1) / self.rate


class Exponential(Gamma):
    reparameterization_type = FULLY_REPARAMETERIZED

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        (rate,) = self._given(rate)
        super().__init__(get("ones_like")(rate), rate, validate_args, allow_nan_stats, name)

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        shape = [*flat, *self.batch_shape.as_list()]
        tiny = 2.0**-126
        return -get("math.log")(get("random.uniform")(shape, tiny, 1.0, dtype=self.dtype, seed=seed)) / self.rate


class Beta(Distribution):
    def __init__(self, concentration1=None, concentration0=None, validate_args=False, allow_nan_stats=True, name="Beta"):
        self.concentration1, self.concentration0 = self._given(concentration1, concentration0)
        super().__init__(name, validate_args, allow_nan_stats, concentration1=self.concentration1,
                         concentration0=self.concentration0)  # fmt: skip

    total_concentration = property(lambda self: self.concentration1 + self.concentration0)

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        gamma, shape = get("random.gamma"), self.batch_shape.as_list()
        first = gamma(flat, get("broadcast_to")(self.concentration1, shape), dtype=self.dtype, seed=seed)
        second = gamma(flat, get("broadcast_to")(self.concentration0, shape), dtype=self.dtype,
                       seed=None if seed is None else seed + 1)  # fmt: skip
        return first / (first + second)

    def _norm(self):
        lgamma = get("math.lgamma")
        return lgamma(self.concentration1) + lgamma(self.concentration0) - lgamma(self.total_concentration)

    def _log_prob(self, x):
        return (self.concentration1 - 1) * get("math.log")(x) + (self.concentration0 - 1) * get("math.log1p")(-x) - self._norm()

    def _cdf(self, x):
        return get("math.betainc")(self.concentration1, self.concentration0, x)

    def entropy(self, name="entropy"):
        a, b, digamma = self.concentration1, self.concentration0, get("math.digamma")
        return self._norm() - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)

    def mean(self, name="mean"):
        return self.concentration1 / self.total_concentration

    def variance(self, name="variance"):
        return self.mean() * (1 - self.mean()) / (1 + self.total_concentration)

    def mode(self, name="mode"):
        return (self.concentration1 - 1) / (self.total_concentration - 2)


class StudentT(Distribution):
    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentT"):
        self.df, self.loc, self.scale = self._given(df, loc, scale)
        super().__init__(name, validate_args, allow_nan_stats, df=self.df, loc=self.loc, scale=self.scale)

    def _sample(self, shape, seed):
        normal = get("random.normal")(shape, dtype=self.dtype, seed=seed)
        count = len(shape) - self.batch_shape.rank
        df = get("broadcast_to")(self.df, self.batch_shape.as_list())
        gamma = get("random.gamma")(shape[:count], 0.5 * df, 0.5, dtype=self.dtype, seed=seed)
        return self.loc + self.scale * normal * get("math.rsqrt")(gamma / self.df)

    def _log_prob(self, x):
        log, lgamma, half = get("math.log"), get("math.lgamma"), 0.5 * (self.df + 1)
        z = (x - self.loc) / self.scale
        norm = log(get("abs")(self.scale)) + 0.5 * log(self.df) + 0.5 * math.log(math.pi) + lgamma(0.5 * self.df) - lgamma(half)
        return -half * get("math.log1p")(z * z / self.df) - norm

    def mean(self, name="mean"):
        return get("where")(self.df > 1, _spread(self, self.loc), _spread(self, float("nan")))

    def mode(self, name="mode"):
        return _spread(self, self.loc)

    def variance(self, name="variance"):
        known = _spread(self, self.scale**2 * self.df / (self.df - 2))
        infinite = get("where")(self.df > 1, _spread(self, float("inf")), _spread(self, float("nan")))
        return get("where")(self.df > 2, known, infinite)


class Bernoulli(Distribution):
    def __init__(self, logits=None, probs=None, dtype="int32", validate_args=False, allow_nan_stats=True, name="Bernoulli"):
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        logits, probs = self._given(logits, probs)
        self.logits = get("math.log")(probs) - get("math.log1p")(-probs) if logits is None else logits
        self.probs = get("sigmoid")(logits) if probs is None else probs
        self._dtype = _core.as_dtype(dtype)
        super().__init__(name, validate_args, allow_nan_stats, logits=self.logits)

    dtype = property(lambda self: self._dtype)

    def _sample(self, shape, seed):
        return get("cast")(_uniform(shape, self.probs.dtype, seed) < self.probs, self._dtype)

    def _log_prob(self, x):
        x = get("cast")(x, self.logits.dtype)
        logits, x = self.logits + get("zeros_like")(x), x + get("zeros_like")(self.logits)
        return -get("nn.sigmoid_cross_entropy_with_logits")(labels=x, logits=logits)

    def entropy(self, name="entropy"):
        return -self.logits * (get("sigmoid")(self.logits) - 1) + get("nn.softplus")(-self.logits)

    def mean(self, name="mean"):
        return get("identity")(self.probs)

    def variance(self, name="variance"):
        return self.probs * (1 - self.probs)

    def mode(self, name="mode"):
        return get("cast")(self.probs > 0.5, self._dtype)


def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """How far the second distribution is from the first one."""
    from tandem.graph_mode import divergences

    return divergences.between(distribution_a, distribution_b)


from tandem.graph_mode.divergences import RegisterKL  # noqa: E402, F401
from tandem.graph_mode.distributions_of_vectors import (  # noqa: E402
    Categorical,  # noqa: F401
    Dirichlet,  # noqa: F401
    DirichletMultinomial,  # noqa: F401
    Multinomial,  # noqa: F401
)
