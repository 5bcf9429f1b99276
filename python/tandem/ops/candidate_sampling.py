"""Sampled classes: the samplers of tf.random, and losses over a sample of all classes (tf.nn)."""

import collections
import math

import numpy as np

from tandem import _core
from tandem._core import convert_to_tensor, execute
from tandem.ops import check, random

_NAMES = ["sampled_candidates", "true_expected_count", "sampled_expected_count"]


ComputeAccidentalHits = collections.namedtuple("ComputeAccidentalHits", ["indices", "ids", "weights"])


def _kind(name):
    return collections.namedtuple(name, _NAMES)


def _drawn(count, unique, one, range_max, seed):
    """So many classes, and how many draws they took: more than there are where each shall be another."""
    if not unique:
        return one([count], seed), count
    if range_max is not None and count > range_max:
        from tandem.framework.errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, "Sampler's range is too small.")
    if _core.current_graph() is not None:
        from tandem.ops.script import numpy_function

        def draw():
            classes, tries = _drawn(count, True, one, range_max, seed)
            return np.asarray(classes), np.float32(tries)

        classes, tries = numpy_function(draw, [], [_core.as_dtype("int64"), _core.as_dtype("float32")])
        classes.set_shape([count])
        return classes, tries
    classes, seen, tries = [], set(), 0
    while len(classes) < count:  # as many at a time as are missing, so that what is drawn is not left over
        for value in one([max(count, 16)], None if seed is None else seed + tries).numpy().tolist():
            tries += 1
            if value not in seen:
                seen.add(value)
                classes.append(value)
                if len(classes) == count:
                    break
    return convert_to_tensor(classes, "int64"), tries


def _expected(probability, draws, count, unique):
    """How often a class is expected in the sample."""
    plain = probability * float(count)
    if not unique:
        return plain
    several = execute("Neg", execute("Expm1", execute("Cast", convert_to_tensor(draws), dtype="float32") * execute("Log1p", execute("Neg", probability))))
    return execute("SelectV2", execute("Equal", execute("Cast", convert_to_tensor(draws), dtype="float32"), float(count)), plain, several)


def _sampler(name, true_classes, num_true, num_sampled, unique, one, probability, range_max, seed):
    true_classes = check.with_rank(convert_to_tensor(true_classes, "int64"), 2, 2)
    if not 0 < num_sampled < 2**31 or num_true < 1:
        raise ValueError(f"{name}: num_sampled and num_true must be positive, got {num_sampled} and {num_true}.")
    if true_classes.shape[1] not in (None, num_true):
        raise ValueError(f"{name}: true_classes has {true_classes.shape[1]} columns, num_true is {num_true}.")
    classes, draws = _drawn(num_sampled, unique, one, range_max, seed)
    counts = (_expected(probability(c), draws, num_sampled, unique) for c in (true_classes, classes))
    return _kind(name)(classes, *counts)


def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes of which each is as probable as another."""
    one = lambda shape, seed: random.uniform(shape, 0, range_max, "int64", seed)  # noqa: E731
    even = lambda classes: execute("Fill", execute("Shape", classes), convert_to_tensor(1.0 / range_max))  # noqa: E731
    return _sampler("UniformCandidateSampler", true_classes, num_true, num_sampled, unique, one, even, range_max, seed)


def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes by their rank: the more frequent stand first."""
    whole = math.log(range_max + 1)

    def one(shape, seed):
        drawn = execute("Exp", random.uniform(shape, 0.0, whole, "float64", seed)) - 1.0
        return execute("Minimum", execute("Cast", drawn, dtype="int64"), convert_to_tensor(range_max - 1, "int64"))

    def probability(classes):
        classes = execute("Cast", classes, dtype="float64")
        return execute("Cast", execute("Log", (classes + 2.0) / (classes + 1.0)) / whole, dtype="float32")

    return _sampler("LogUniformCandidateSampler", true_classes, num_true, num_sampled, unique, one, probability, range_max, seed)


def learned_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes as often as a call saw them as true ones, and each once beside."""
    if _core.current_graph() is not None:
        raise NotImplementedError("tf.random.learned_unigram_candidate_sampler is for eager calls: draw outside of tf.function.")
    seen = np.bincount(convert_to_tensor(true_classes, "int64").numpy().reshape(-1), minlength=range_max) + 1.0
    return _by_weights("LearnedUnigramCandidateSampler", seen, true_classes, num_true, num_sampled, unique, range_max, seed)


def _by_weights(name, weights, true_classes, num_true, num_sampled, unique, range_max, seed):
    shares = np.asarray(weights, np.float64) / np.sum(weights)
    table, ends = convert_to_tensor(shares.astype(np.float32)), convert_to_tensor(np.cumsum(shares))

    def one(shape, seed):
        drawn = random.uniform(shape, 0.0, 1.0, "float64", seed)
        places = execute("UpperBound", ends[None], drawn[None], out_type="int64")[0]
        return execute("Minimum", places, convert_to_tensor(range_max - 1, "int64"))

    probability = lambda classes: execute("GatherV2", table, classes, axis=0)  # noqa: E731
    return _sampler(name, true_classes, num_true, num_sampled, unique, one, probability, int(np.sum(shares > 0)), seed)


def fixed_unigram_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, vocab_file="", distortion=1.0, num_reserved_ids=0, num_shards=1,
    shard=0, unigrams=(), seed=None, name=None,
):  # fmt: skip
    """Classes by given weights, those of a file's lines or of a list, to the power of `distortion`."""
    weights = list(unigrams)
    if vocab_file:
        from tandem.framework.gfile import GFile

        with GFile(vocab_file) as file:
            weights = [float(line.rsplit(",", 1)[1]) for line in file if line.strip()]
    if num_reserved_ids + len(weights) != range_max:
        raise ValueError(f"fixed_unigram_candidate_sampler: range_max is {range_max}, there are {num_reserved_ids + len(weights)} weights.")
    weights = [0.0] * num_reserved_ids + [float(w) ** distortion for w in weights]
    weights = [w if i % num_shards == shard else 0.0 for i, w in enumerate(weights)]
    return _by_weights("FixedUnigramCandidateSampler", weights, true_classes, num_true, num_sampled, unique, range_max, seed)


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """Every class."""
    true_classes = convert_to_tensor(true_classes, "int64")
    classes = execute("Range", *(convert_to_tensor(v, "int64") for v in (0, num_sampled, 1)))
    ones = (execute("OnesLike", execute("Cast", c, dtype="float32")) for c in (true_classes, classes))
    return _kind("AllCandidateSampler")(classes, *ones)


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """(rows, places in the sample, weights) where a sampled class is a true one."""
    true_classes = check.with_rank(convert_to_tensor(true_classes, "int64"), 2, 2)
    sampled = check.with_rank(convert_to_tensor(sampled_candidates, "int64"), 1, 1)
    same = execute("Equal", true_classes[:, :, None], sampled[None, None, :])
    places = execute("Where", same)
    rows, ids = execute("Cast", places[:, 0], dtype="int32"), places[:, 2]
    lowest = float(np.finfo(np.float32).min)
    return ComputeAccidentalHits(rows, ids, execute("Fill", execute("Shape", ids), convert_to_tensor(lowest)))


def _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled, subtract, remove_hits):
    """Logits and labels of the true classes beside those of a sample."""
    from tandem.ops.nn import embedding_lookup

    labels = convert_to_tensor(labels, "int64") if not hasattr(labels, "dtype") else execute("Cast", convert_to_tensor(labels), dtype="int64")
    inputs, labels = check.with_rank(inputs, 2, 2), check.with_rank(labels, 2, 2)
    for given in weights if isinstance(weights, (list, tuple)) else [weights]:
        check.with_rank(given, 2, 2)
    if sampled is None:
        sampled = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes)
    classes, true_count, sampled_count = (execute("StopGradient", s) for s in sampled)
    flat = execute("Reshape", labels, [-1])
    every = execute("ConcatV2", [flat, execute("Cast", classes, dtype="int64")], axis=0)
    rows, shift = embedding_lookup(weights, every), embedding_lookup(biases, every)
    count = execute("Size", flat)
    true_rows, sampled_rows = rows[:count], rows[count:]
    sampled_logits = execute("MatMul", inputs, sampled_rows, transpose_b=True) + shift[count:]
    grouped = execute("Reshape", true_rows, [-1, num_true, rows.shape[1]])
    true_logits = execute("Sum", inputs[:, None, :] * grouped, axis=[2]) + execute("Reshape", shift[:count], [-1, num_true])
    if remove_hits:
        at, ids, low = compute_accidental_hits(labels, classes, num_true)
        shape = execute("Shape", sampled_logits)
        places = execute("Pack", [at, execute("Cast", ids, dtype="int32")], axis=1)
        sampled_logits = sampled_logits + execute("ScatterNd", places, execute("Cast", low, dtype=sampled_logits.dtype), shape)
    if subtract:
        true_logits = true_logits - execute("Log", true_count)
        sampled_logits = sampled_logits - execute("Log", sampled_count)
    logits = execute("ConcatV2", [true_logits, sampled_logits], axis=1)
    ones = execute("OnesLike", true_logits) / float(num_true)
    return logits, execute("ConcatV2", [ones, execute("ZerosLike", sampled_logits)], axis=1)


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
             remove_accidental_hits=False, name="nce_loss"):  # fmt: skip
    """The loss of telling true classes from sampled ones, of each row."""
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits)
    from tandem.ops.nn import sigmoid_cross_entropy_with_logits

    return execute("Sum", sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits), axis=[1])


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                         remove_accidental_hits=True, seed=None, name="sampled_softmax_loss"):  # fmt: skip
    """The softmax loss over a true class and a sample of the others, of each row."""
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    logits, wanted = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True, remove_accidental_hits)
    from tandem.ops.nn import softmax_cross_entropy_with_logits

    return softmax_cross_entropy_with_logits(execute("StopGradient", wanted), logits)
