"""tensorflow.python.ops.embedding_ops: a table of one piece, which every `partition_strategy` cuts alike."""

from tandem import _namespaces


def _whole(params, strategy):
    if isinstance(params, (list, tuple)) and len(params) > 1 and strategy != "div":
        raise NotImplementedError("A table in several pieces is there with partition_strategy='div': use that.")
    return params


def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    return _namespaces.get("nn.embedding_lookup")(_whole(params, partition_strategy), ids, max_norm)


def embedding_lookup_sparse(
    params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None, max_norm=None, allow_fast_lookup=False
):
    params = _whole(params, partition_strategy)
    return _namespaces.get("nn.embedding_lookup_sparse")(params, sp_ids, sp_weights, combiner or "mean", max_norm)


def safe_embedding_lookup_sparse(
    embedding_weights, sparse_ids, sparse_weights=None, combiner="mean", default_id=None, name=None,
    partition_strategy="div", max_norm=None, allow_fast_lookup=False,
):  # fmt: skip
    params = _whole(embedding_weights, partition_strategy)
    return _namespaces.get("nn.safe_embedding_lookup_sparse")(
        params, sparse_ids, sparse_weights, combiner, default_id, max_norm
    )
