"""Connectionist temporal classification: tf.nn.ctc_loss and the decoders."""

from tandem._core import convert_to_tensor, execute
from tandem.framework.dtypes import float32, int64
from tandem.framework.sparse import SparseTensor
from tandem.ops.sizes import clipped_int32


def ctc_loss(
    labels, logits, label_length, logit_length, logits_time_major=True, unique=None, blank_index=None, name=None
):
    """-log p(labels | logits) of each example; dense labels are padded behind their length."""
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError(
                "Argument `blank_index` must be provided when labels is a SparseTensor, and tf.nn.ctc_loss of "
                "Tandem takes dense labels only: use tf.sparse.to_dense(labels)."
            )
        raise NotImplementedError("tf.nn.ctc_loss takes dense labels in Tandem: use tf.sparse.to_dense(labels).")
    if label_length is None or logit_length is None:
        raise ValueError("Arguments `label_length` and `logit_length` must be given with dense labels.")
    logits = convert_to_tensor(logits)
    half = logits.dtype.size == 2
    if half:
        logits, given = execute("Cast", logits, dtype=float32), logits.dtype
    if not logits_time_major:
        logits = execute("Transpose", logits, perm=[1, 0, 2])
    loss = execute(
        "CTCLossDense", logits, clipped_int32(labels), clipped_int32(logit_length), clipped_int32(label_length),
        blank_index=0 if blank_index is None else int(blank_index),
    )[0]  # fmt: skip
    return execute("Cast", loss, dtype=given) if half else loss


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """The best class of each step: ([SparseTensor], -sum of their logits [batch, 1])."""
    labels, score = execute(
        "CTCGreedyDecode", inputs, clipped_int32(sequence_length), merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else int(blank_index),
    )  # fmt: skip
    return [_sparse(labels[0])], score


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1):
    """The most probable label sequences: ([SparseTensor] * top_paths, log-probabilities [batch, top_paths])."""
    labels, score = execute(
        "CTCBeamDecode", inputs, clipped_int32(sequence_length), beam_width=beam_width, top_paths=top_paths
    )
    return [_sparse(labels[k]) for k in range(top_paths)], score


def _sparse(labels):
    """Rows padded with -1 as a SparseTensor as wide as the longest."""
    used = labels >= 0
    indices = execute("Where", used)
    counts = execute("Sum", execute("Cast", used, dtype=int64), axis=[1])
    longest = execute("Max", execute("ConcatV2", [counts, convert_to_tensor([0], int64)], axis=0))
    batch = execute("Shape", labels, out_type=int64)[0]
    return SparseTensor(indices, execute("GatherNd", labels, indices), execute("Pack", [batch, longest], axis=0))
