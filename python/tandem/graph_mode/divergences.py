"""Kullback-Leibler divergences of distributions, by their classes."""

from tandem._namespaces import get
from tandem.graph_mode import distributions as base

_DIVERGENCES = {}


class RegisterKL:
    """Notes how far a distribution of one class is from one of another."""

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn):
        if self._key in _DIVERGENCES:
            raise ValueError(f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered.")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def between(distribution_a, distribution_b):
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in _DIVERGENCES:
                return _DIVERGENCES[a, b](distribution_a, distribution_b)
    raise NotImplementedError(f"No KL(distribution_a || distribution_b) registered for distribution_a type "
                              f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}")


@RegisterKL(base.Normal, base.Normal)
def _of_normals(a, b, name=None):
    ratio = (a.scale / b.scale) ** 2
    return (a.loc - b.loc) ** 2 / (2 * b.scale**2) + 0.5 * (ratio - 1 - get("math.log")(ratio))


@RegisterKL(base.Bernoulli, base.Bernoulli)
def _of_bernoullis(a, b, name=None):
    softplus = get("nn.softplus")
    one = -softplus(-a.logits) + softplus(-b.logits)
    zero = -softplus(a.logits) + softplus(b.logits)
    return get("sigmoid")(a.logits) * one + get("sigmoid")(-a.logits) * zero


@RegisterKL(base.Gamma, base.Gamma)
def _of_gammas(a, b, name=None):
    lgamma, log = get("math.lgamma"), get("math.log")
    return ((a.concentration - b.concentration) * get("math.digamma")(a.concentration) + lgamma(b.concentration)
            - lgamma(a.concentration) + b.concentration * log(a.rate) - b.concentration * log(b.rate)
            + a.concentration * (b.rate / a.rate - 1))  # fmt: skip


@RegisterKL(base.Beta, base.Beta)
def _of_betas(a, b, name=None):
    d1, d0 = a.concentration1 - b.concentration1, a.concentration0 - b.concentration0
    digamma = get("math.digamma")
    return (b._norm() - a._norm() + d1 * digamma(a.concentration1) + d0 * digamma(a.concentration0)
            - (d1 + d0) * digamma(a.total_concentration))  # fmt: skip
