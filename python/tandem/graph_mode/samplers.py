"""Candidate samplers, and the losses that take a sample of the classes instead of all: nce_loss, sampled_softmax_loss.

Unique candidates are the largest of log-probabilities with Gumbel noise, which is drawing without repetition. How many
draws a sampler that throws repetitions away would have needed is drawn, too: expected counts follow from it.
"""

import numpy as np

from tandem import _core
from tandem._namespaces import get


def _sampled(log_p, true_classes, num_sampled, unique, seed):
    """(candidates, expected counts of the true classes, expected counts of the candidates)."""
    log_p = get("convert_to_tensor")(log_p)
    true_classes = get("cast")(true_classes, "int64")
    count = int(num_sampled)
    if unique:
        if count > log_p.shape.as_list()[0]:
            raise ValueError(f"{count} unique candidates cannot be taken of {log_p.shape.as_list()[0]} classes.")
        noise = -get("math.log")(-get("math.log")(get("random.uniform")(log_p.shape, 1e-20, 1.0, seed=seed)))
        candidates = get("math.top_k")(log_p + noise, count)[1]
        tries = _tries(get("exp")(get("gather")(log_p, candidates)), count, seed)
    else:
        candidates = get("random.categorical")(log_p[None], count, seed=seed)[0]
        tries = None
    candidates = get("cast")(candidates, "int64")

    def expected(classes):
        p = get("exp")(get("gather")(log_p, classes))
        return p * count if tries is None else -get("math.expm1")(tries * get("math.log1p")(-p))

    return candidates, expected(true_classes), expected(candidates)


def _tries(p, count, seed):
    """How many draws it takes to find these one after the other: the sum of geometric numbers."""
    known = get("cumsum")(p, exclusive=True)
    missed = get("random.uniform")([count], 1e-7, 1.0, seed=None if seed is None else seed + 1)
    repeats = get("floor")(get("math.log")(missed) / get("math.log")(get("clip_by_value")(known, 1e-12, 1.0 - 1e-6)))
    return get("reduce_sum")(1.0 + get("where")(known > 0, repeats, get("zeros_like")(repeats)))


def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes sorted by frequency: class k is taken with probability log((k + 2) / (k + 1)) / log(range_max + 1)."""
    k = np.arange(range_max, dtype=np.float64)
    p = np.log((k + 2) / (k + 1)) / np.log(range_max + 1)
    return _sampled(np.log(p).astype(np.float32), true_classes, num_sampled, unique, seed)


def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    return _sampled(np.full(range_max, -np.log(range_max), np.float32), true_classes, num_sampled, unique, seed)


def fixed_unigram_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, vocab_file="", distortion=1.0, num_reserved_ids=0,
    num_shards=1, shard=0, unigrams=(), seed=None, name=None,
):  # fmt: skip
    """Classes by given counts, raised to `distortion`."""
    if vocab_file:
        with open(vocab_file) as file:
            unigrams = [float(line.rstrip("\n").rpartition(",")[2]) for line in file if line.strip()]
    counts = np.concatenate([np.zeros(num_reserved_ids), np.power(np.asarray(unigrams, np.float64), distortion)])
    if len(counts) != range_max:
        raise ValueError(f"There are {len(counts)} counts for {range_max} classes.")
    if num_shards != 1:
        counts = np.where(np.arange(range_max) % num_shards == shard, counts, 0)
    with np.errstate(divide="ignore"):
        log_p = np.maximum(np.log(counts / counts.sum()), -1e30)
    return _sampled(log_p.astype(np.float32), true_classes, num_sampled, unique, seed)


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """All classes, each once."""
    true_classes = get("cast")(true_classes, "int64")
    return (get("range")(num_sampled, dtype="int64"), get("ones_like")(true_classes, dtype="float32"),
            get("ones")([num_sampled]))  # fmt: skip


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """(rows, numbers of candidates that are a true class of the row, the lowest float for each)."""
    same = get("equal")(get("cast")(true_classes, "int64")[:, :, None], sampled_candidates)
    places = get("where")(get("reduce_any")(same, axis=1))
    weights = get("fill")(get("shape")(places)[:1], float(np.finfo(np.float32).min))
    return get("cast")(places[:, 0], "int32"), places[:, 1], weights


def _joined(weights):
    if isinstance(weights, (list, tuple)):
        return get("concat")([_core.convert_to_tensor(w) for w in weights], 0) if len(weights) > 1 else weights[0]
    return weights


def _logits(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits
):
    """Logits of the true and the sampled classes, without what they owe to how often they are sampled; their labels."""
    inputs, weights = _core.convert_to_tensor(inputs), _joined(weights)
    labels = get("cast")(labels, "int64")
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes)
    sampled, true_count, sampled_count = (get("stop_gradient")(v) for v in sampled_values)
    rows, flat = get("nn.embedding_lookup"), get("reshape")(labels, [-1])
    width, log = inputs.shape.as_list()[-1], get("math.log")
    true_w = get("reshape")(rows(weights, flat), [-1, num_true, width])
    true = get("reduce_sum")(inputs[:, None, :] * true_w, axis=2) + get("reshape")(rows(biases, flat), [-1, num_true])
    other = get("matmul")(inputs, rows(weights, sampled), transpose_b=True) + rows(biases, sampled)
    if remove_accidental_hits:
        hit = get("reduce_any")(get("equal")(get("reshape")(labels, [-1, num_true])[:, :, None], sampled), axis=1)
        other = other + get("cast")(hit, other.dtype) * float(np.finfo(np.float32).min)
    true = true - log(get("cast")(get("reshape")(true_count, [-1, num_true]), true.dtype))
    other = other - log(get("cast")(sampled_count, other.dtype))
    wanted = [get("ones_like")(true) / num_true, get("zeros_like")(other)]
    return get("concat")([true, other], 1), get("concat")(wanted, 1)


def nce_loss(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
    remove_accidental_hits=False, partition_strategy="mod", name="nce_loss",
):  # fmt: skip
    """Noise-contrastive estimation: whether a class is the true one or a sampled one."""
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                             remove_accidental_hits)  # fmt: skip
    return get("reduce_sum")(get("nn.sigmoid_cross_entropy_with_logits")(labels=wanted, logits=logits), axis=1)


def sampled_softmax_loss(
    weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
    remove_accidental_hits=True, partition_strategy="mod", name="sampled_softmax_loss", seed=None,
):  # fmt: skip
    """Softmax over the true and the sampled classes."""
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                             remove_accidental_hits)  # fmt: skip
    return get("nn.softmax_cross_entropy_with_logits")(labels=get("stop_gradient")(wanted), logits=logits)
