"""CTC by TensorFlow 1's arguments: labels are sparse, and the last class is the blank."""

from tandem import _core
from tandem._namespaces import get


def ctc_loss(
    labels, inputs=None, sequence_length=None, preprocess_collapse_repeated=False, ctc_merge_repeated=True,
    ignore_longer_outputs_than_inputs=False, time_major=True, logits=None,
):  # fmt: skip
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise NotImplementedError("ctc_loss is there with preprocess_collapse_repeated=False and ctc_merge_repeated=True.")
    logits = _core.convert_to_tensor(inputs if logits is None else logits)
    lengths = get("math.unsorted_segment_sum")(
        get("ones_like")(labels.values, dtype="int32"), labels.indices[:, 0], labels.dense_shape[0]
    )
    return get("nn.ctc_loss")(get("sparse.to_dense")(labels), logits, lengths, sequence_length, time_major,
                              blank_index=logits.shape.as_list()[-1] - 1)  # fmt: skip


def ctc_loss_v2(
    labels, logits, label_length, logit_length, logits_time_major=True, unique=None, blank_index=None, name=None
):
    return get("nn.ctc_loss")(labels, logits, label_length, logit_length, logits_time_major, unique, blank_index, name)


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    if merge_repeated:
        raise NotImplementedError("ctc_beam_search_decoder is there with merge_repeated=False.")
    return get("nn.ctc_beam_search_decoder")(inputs, sequence_length, beam_width, top_paths)
