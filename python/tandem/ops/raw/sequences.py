"""Raw ops of texts, messages, recurrent cells and CTC, and those that call functions."""

from tandem._core import convert_to_tensor, execute
from tandem.ops.raw.arrays import text_of, values  # noqa: F401  (names in the table)
from tandem.ops.raw.cells import (  # noqa: F401  (names in the table)
    gru_cell, gru_cell_grad, lstm_block, lstm_cell, lstm_cell_grad,
)

TABLE = """
Assert: Assert(condition, data, summarize=summarize)
BlockLSTM: lstm_block(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole)
BlockLSTMV2: lstm_block(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, 0.0, cell_clip, use_peephole)
LSTMBlockCell: lstm_cell(x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole)
LSTMBlockCellGrad: lstm_cell_grad(cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad, use_peephole)
GRUBlockCell: gru_cell(x, h_prev, w_ru, w_c, b_ru, b_c)
GRUBlockCellGrad: gru_cell_grad(x, h_prev, w_ru, w_c, r, u, c, d_h)
CTCBeamSearchDecoder: decoded(tf.nn.ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths))
CTCGreedyDecoder: greedy(tf.nn.ctc_greedy_decoder(inputs, sequence_length, merge_repeated, None if blank_index == -1 else blank_index))
CTCLoss: ctc(inputs, labels_indices, labels_values, sequence_length, -1)
CTCLossV2: ctc(inputs, labels_indices, labels_values, sequence_length, 0)
Case, StatelessCase: listed(tf.switch_case(branch_index, [lambda b=b: listed(b(*input)) for b in branches]))
If, StatelessIf: listed(tf.cond(tf.raw_ops.ToBool(input=cond), lambda: listed(then_branch(*input)), lambda: listed(else_branch(*input))))
While, StatelessWhile: listed(tf.while_loop(lambda *v: tf.raw_ops.ToBool(input=one(cond(*v))), lambda *v: listed(body(*v)), list(input)))
For: for_loop(start, limit, delta, input, body)
RemoteCall: listed(f(*args))
BatchFunction: listed(f(*in_tensors, *captured_tensors))
ParseExample: parse_examples(serialized, sparse_keys, sparse_types, dense_keys, dense_defaults, dense_shapes)
ParseSingleExample: parse_examples(serialized, sparse_keys, sparse_types, dense_keys, dense_defaults, dense_shapes)
ParseExampleV2: parse_examples(serialized, values(sparse_keys), sparse_types, values(dense_keys), dense_defaults, dense_shapes, values(ragged_keys), ragged_value_types, ragged_split_types)
GenerateVocabRemapping: vocab_remapping(text_of(new_vocab_file), text_of(old_vocab_file), new_vocab_offset, num_new_vocab, old_vocab_size)
PartitionedCall, StatefulPartitionedCall: listed(f(*args))
MapDefun: mapped(arguments, captured_inputs, output_types, f)
DecodeCompressed: tf.io.decode_compressed(bytes, compression_type)
DecodeJSONExample: tf.io.decode_json_example(json_examples)
DecodePaddedRaw: tf.io.decode_raw(input_bytes, out_type, little_endian, fixed_length)
DecodeProtoV2: tf.io.decode_proto(bytes, message_type, field_names, output_types, descriptor_source, message_format, sanitize)
EncodeProto: tf.io.encode_proto(sizes, values, field_names, message_type, descriptor_source)
DeserializeManySparse: parts(tf.io.deserialize_many_sparse(serialized_sparse, dtype))
DeserializeSparse: parts(tf.io.deserialize_many_sparse(tf.reshape(serialized_sparse, [-1, 3]), dtype)) if tf.convert_to_tensor(serialized_sparse).shape.rank > 1 else one_sparse(serialized_sparse, dtype)
SerializeSparse: tf.io.serialize_sparse(tf.SparseTensor(sparse_indices, sparse_values, sparse_shape), out_type=out_type)
SerializeManySparse: tf.io.serialize_many_sparse(tf.SparseTensor(sparse_indices, sparse_values, sparse_shape), out_type=out_type)
ReduceJoin: ReduceJoin(inputs, axis=reduction_indices, keepdims=keep_dims, separator=separator)
RegexFullMatch: tf.strings.regex_full_match(input, text_of(pattern))
RegexReplace: tf.strings.regex_replace(input, text_of(pattern), text_of(rewrite), replace_global)
ShardedFilename: StringJoin([basename, '-', AsString(shard, width=5, fill='0'), '-of-', AsString(num_shards, width=5, fill='0')])
ShardedFilespec: StringJoin([basename, '-?????-of-', AsString(num_shards, width=5, fill='0')])
StringFormat: tf.strings.format(template, inputs, placeholder, summarize)
StringNGrams: ngrams(data, data_splits, separator, ngram_widths, left_pad, right_pad, pad_width, preserve_short_sequences)
StringSplit: string_split(input, text_of(delimiter), skip_empty)
StringToHashBucket: StringToHashBucket(string_tensor, num_buckets=num_buckets)
StringToNumber: StringToNumber(string_tensor, out_type=out_type)
UnicodeDecode: decoded_text(input, input_encoding, errors, replacement_char, Tsplits)[:2]
UnicodeDecodeWithOffsets: decoded_text(input, input_encoding, errors, replacement_char, Tsplits)
UnicodeTranscode: UnicodeTranscode(input, input_encoding=input_encoding, output_encoding=output_encoding, errors=errors, replacement_char=replacement_char)
UnicodeScript: tf.strings.unicode_script(input)
UnsortedSegmentJoin: tf.strings.unsorted_segment_join(inputs, segment_ids, num_segments, separator)
AllCandidateSampler: tf.random.all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed or seed2 or None)
UniformCandidateSampler: tf.random.uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed or seed2 or None)
LogUniformCandidateSampler: tf.random.log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed or seed2 or None)
LearnedUnigramCandidateSampler, ThreadUnsafeUnigramCandidateSampler: tf.random.learned_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed or seed2 or None)
FixedUnigramCandidateSampler: tf.random.fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, vocab_file, distortion, num_reserved_ids, num_shards, shard, unigrams, seed or seed2 or None)
ComputeAccidentalHits: tf.nn.compute_accidental_hits(true_classes, sampled_candidates, num_true)
"""


def listed(results):
    """Results of a function as a list."""
    results = results.as_list() if hasattr(results, "as_list") and not hasattr(results, "dtype") else results
    if results is None:
        return []
    return list(results) if isinstance(results, (list, tuple)) else [results]


def one(results):
    return listed(results)[0]


def for_loop(start, limit, delta, input, body):
    from tandem.ops.control_flow import while_loop

    step = convert_to_tensor(delta)
    turned = while_loop(
        lambda i, *v: i < limit, lambda i, *v: [i + step, *listed(body(i, *v))], [convert_to_tensor(start), *input]
    )
    return listed(turned)[1:]


def mapped(arguments, captured, types, f):
    from tandem.ops.functional import map_fn

    return listed(map_fn(lambda row: tuple(listed(f(*row, *captured))), tuple(arguments), fn_output_signature=tuple(types)))


def parse_examples(serialized, sparse_keys, sparse_types, dense_keys, defaults, shapes, ragged_keys=None, ragged_types=(), splits=()):
    """The parts of sparse features, the dense ones, and the parts of ragged ones, each as a list."""
    from tandem.ops import io

    named = lambda keys: [text_of(k) for k in keys]  # noqa: E731
    sparse_keys, dense_keys, ragged = named(sparse_keys), named(dense_keys), named(ragged_keys or [])
    features = {k: io.VarLenFeature(t) for k, t in zip(sparse_keys, sparse_types)}
    for key, default, shape in zip(dense_keys, map(convert_to_tensor, defaults), shapes):
        given = default if default.shape.num_elements() else None
        features[key] = io.FixedLenFeature(shape, default.dtype, given)
    features.update({k: io.RaggedFeature(t, row_splits_dtype=s) for k, t, s in zip(ragged, ragged_types, splits)})
    found = io.parse_example(serialized, features) if features else {}
    sparse = [found[k] for k in sparse_keys]
    result = [s.indices for s in sparse], [s.values for s in sparse], [s.dense_shape for s in sparse], [found[k] for k in dense_keys]
    if ragged_keys is None:
        return result
    return *result, [found[k].values for k in ragged], [found[k].row_splits for k in ragged]


def vocab_remapping(new_file, old_file, offset, count, most):
    """The old place of each new word, -1 where there is none, and how many there are."""
    from tandem.framework.gfile import GFile

    def lines(name):
        with GFile(name) as file:
            return file.read().splitlines()

    old = lines(old_file)
    places = {word: i for i, word in enumerate(old if most < 0 else old[:most])}
    found = [places.get(word, -1) for word in lines(new_file)[offset : offset + count]]
    return convert_to_tensor(found, "int64"), convert_to_tensor(sum(p >= 0 for p in found), "int32")


def parts(sparse):
    return sparse.indices, sparse.values, sparse.dense_shape


def one_sparse(serialized, dtype):
    from tandem.ops import io_sparse

    return parts(io_sparse.deserialize(serialized, dtype))


def decoded(found):
    sparse, score = found
    return [s.indices for s in sparse], [s.values for s in sparse], [s.dense_shape for s in sparse], score


def greedy(found):
    (sparse,), score = found
    return sparse.indices, sparse.values, sparse.dense_shape, score


def ctc(inputs, indices, labels, lengths, blank):
    """The loss of each example and its gradient; the blank is the last class, or the first."""
    from tandem.framework.gradients import GradientTape

    inputs, indices, labels = convert_to_tensor(inputs), convert_to_tensor(indices), convert_to_tensor(labels)
    batch = execute("Shape", inputs)[1]
    rows = execute("Cast", indices[:, 0], dtype="int32")
    counts = execute("UnsortedSegmentSum", execute("OnesLike", rows), rows, batch)
    width = execute("Maximum", execute("Max", counts), 1)
    dense = execute("ScatterNd", execute("Cast", indices, dtype="int32"), labels, execute("Pack", [batch, width], axis=0))
    blank = inputs.shape[2] - 1 if blank < 0 else blank
    with GradientTape() as tape:
        tape.watch(inputs)
        loss = execute("CTCLossDense", inputs, dense, convert_to_tensor(lengths, "int32"), counts, blank_index=blank)[0]
    return loss, tape.gradient(loss, inputs)


def ngrams(data, splits, separator, widths, left, right, pad_width, preserve):
    from tandem.framework.ragged import RaggedTensor
    from tandem.ops.ngrams import ngrams as joined

    rows = RaggedTensor.from_row_splits(data, splits)
    pads = (left, right) if pad_width else None
    if pad_width < 0:
        pads, pad_width = (left, right), None
    found = joined(rows, widths, separator, pads, pad_width or None, preserve)
    return found.values, found.row_splits


def string_split(input, delimiter, skip_empty):
    """Parts of strings: each character of the delimiter is one, and the empty one cuts characters."""
    import re

    texts = [t for t in values(convert_to_tensor(input))]
    cut = [
        [bytes([b]) for b in t] if not delimiter else re.split(b"[" + re.escape(delimiter.encode()) + b"]", t) for t in texts
    ]
    cut = [[p for p in row if p or not skip_empty] for row in cut]
    places = [[i, j] for i, row in enumerate(cut) for j in range(len(row))]
    flat = [p for row in cut for p in row]
    shape = [len(texts), max(map(len, cut), default=0)]
    indices = execute("Reshape", convert_to_tensor(places or [0, 0], "int64")[: None if places else 0], [-1, 2])
    return indices, convert_to_tensor(flat, "string"), convert_to_tensor(shape, "int64")


def decoded_text(input, encoding, errors, replacement, splits_type):
    flat = execute("Reshape", input, [-1])
    splits, points, offsets = execute(
        "UnicodeDecodeWithOffsets", flat, input_encoding=encoding, errors=errors, replacement_char=replacement
    )
    return execute("Cast", splits, dtype=splits_type), points, offsets
