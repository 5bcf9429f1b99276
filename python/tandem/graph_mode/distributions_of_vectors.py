"""Distributions over classes and over vectors of parts."""

from tandem import _core
from tandem._namespaces import get
from tandem.graph_mode import distributions as base
from tandem.graph_mode.divergences import RegisterKL


class Categorical(base.Distribution):
    _event_rank = 1

    def __init__(self, logits=None, probs=None, dtype="int32", validate_args=False, allow_nan_stats=True, name="Categorical"):
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        logits, probs = self._given(logits, probs)
        self.logits = get("math.log")(probs) if logits is None else logits
        self.probs = get("nn.softmax")(logits) if probs is None else probs
        self._dtype = _core.as_dtype(dtype)
        super().__init__(name, validate_args, allow_nan_stats, logits=self.logits)

    dtype = property(lambda self: self._dtype)
    event_size = property(lambda self: get("shape")(self.logits)[-1])

    @property
    def event_shape(self):
        return get("TensorShape")([])

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        count, batch = 1, self.batch_shape.as_list()
        for size in flat:
            count *= size
        rows = get("reshape")(self.logits, [-1, self.logits.shape.as_list()[-1]])
        drawn = get("random.categorical")(rows, count, dtype=self._dtype, seed=seed)
        return get("reshape")(get("transpose")(drawn), [*flat, *batch])

    def _log_prob(self, k):
        k = get("cast")(k, "int32")
        shape = get("broadcast_static_shape")(k.shape, self.batch_shape)
        logits = get("broadcast_to")(self.logits, [*shape.as_list(), self.logits.shape.as_list()[-1]])
        k = get("broadcast_to")(k, shape.as_list())
        return -get("nn.sparse_softmax_cross_entropy_with_logits")(labels=k, logits=logits)

    def entropy(self, name="entropy"):
        return -get("reduce_sum")(get("nn.log_softmax")(self.logits) * self.probs, axis=-1)

    def mode(self, name="mode"):
        return get("argmax")(self.logits, axis=-1, output_type=self._dtype)


class Dirichlet(base.Distribution):
    _event_rank = 1

    def __init__(self, concentration, validate_args=False, allow_nan_stats=True, name="Dirichlet"):
        (self.concentration,) = self._given(concentration)
        self.total_concentration = get("reduce_sum")(self.concentration, axis=-1)
        super().__init__(name, validate_args, allow_nan_stats, concentration=self.concentration)

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        gamma = get("random.gamma")(flat, self.concentration, dtype=self.dtype, seed=seed)
        return gamma / get("reduce_sum")(gamma, axis=-1, keepdims=True)

    def _log_prob(self, x):
        return get("reduce_sum")((self.concentration - 1) * get("math.log")(x), axis=-1) - get("math.lbeta")(self.concentration)

    def entropy(self, name="entropy"):
        digamma, total = get("math.digamma"), self.total_concentration
        size = get("cast")(get("shape")(self.concentration)[-1], self.dtype)
        return (get("math.lbeta")(self.concentration) + (total - size) * digamma(total)
                - get("reduce_sum")((self.concentration - 1) * digamma(self.concentration), axis=-1))  # fmt: skip

    def mean(self, name="mean"):
        return self.concentration / self.total_concentration[..., None]

    def variance(self, name="variance"):
        mean = self.mean()
        return mean * (1 - mean) / (1 + self.total_concentration[..., None])

    def mode(self, name="mode"):
        size = get("cast")(get("shape")(self.concentration)[-1], self.dtype)
        return (self.concentration - 1) / (self.total_concentration - size)[..., None]


def _log_combinations(total, counts):
    """Of how many orders the counts are."""
    lgamma = get("math.lgamma")
    return lgamma(total + 1) - get("reduce_sum")(lgamma(counts + 1), axis=-1)


class Multinomial(base.Distribution):
    _event_rank = 1

    def __init__(
        self, total_count, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Multinomial"
    ):
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        logits, probs = self._given(logits, probs)
        self.logits = get("math.log")(probs) if logits is None else logits
        self.probs = get("nn.softmax")(logits) if probs is None else probs
        (self.total_count,) = self._given(total_count, dtype=self.logits.dtype)
        super().__init__(name, validate_args, allow_nan_stats, logits=self.logits)

    def _log_prob(self, counts):
        return get("reduce_sum")(counts * get("nn.log_softmax")(self.logits), axis=-1) + _log_combinations(
            self.total_count, counts)  # fmt: skip

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        total = _core.static_value(self.total_count)
        if total is None or total.ndim:
            self._refuse("sample of a total_count that is not one known number")
        drawn = Categorical(logits=self.logits).sample([int(total), *flat], seed)
        classes = self.logits.shape.as_list()[-1]
        return get("reduce_sum")(get("one_hot")(drawn, classes, dtype=self.dtype), axis=0)

    def mean(self, name="mean"):
        return self.probs * self.total_count[..., None]

    def variance(self, name="variance"):
        return self.mean() * (1 - self.probs)


class DirichletMultinomial(base.Distribution):
    _event_rank = 1

    def __init__(
        self, total_count, concentration, validate_args=False, allow_nan_stats=True, name="DirichletMultinomial"
    ):
        (self.concentration,) = self._given(concentration)
        (self.total_count,) = self._given(total_count, dtype=self.concentration.dtype)
        self.total_concentration = get("reduce_sum")(self.concentration, axis=-1)
        super().__init__(name, validate_args, allow_nan_stats, concentration=self.concentration)

    def _log_prob(self, counts):
        lbeta = get("math.lbeta")
        return lbeta(self.concentration + counts) - lbeta(self.concentration) + _log_combinations(self.total_count, counts)

    def sample(self, sample_shape=(), seed=None, name="sample"):
        flat = [sample_shape] if isinstance(sample_shape, int) else list(sample_shape)
        probs = Dirichlet(self.concentration).sample(flat, seed)
        return Multinomial(self.total_count, probs=probs).sample((), None if seed is None else seed + 1)

    def mean(self, name="mean"):
        return self.total_count[..., None] * self.concentration / self.total_concentration[..., None]


@RegisterKL(Categorical, Categorical)
def _of_categoricals(a, b, name=None):
    log = get("nn.log_softmax")
    return get("reduce_sum")(get("nn.softmax")(a.logits) * (log(a.logits) - log(b.logits)), axis=-1)


@RegisterKL(Dirichlet, Dirichlet)
def _of_dirichlets(a, b, name=None):
    digamma, lbeta = get("math.digamma"), get("math.lbeta")
    difference = a.concentration - b.concentration
    known = digamma(a.concentration) - digamma(a.total_concentration)[..., None]
    return get("reduce_sum")(difference * known, axis=-1) - lbeta(a.concentration) + lbeta(b.concentration)
