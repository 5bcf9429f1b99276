// Files, and what their contents mean: raw numbers, lines of comma-separated values,
// TensorFlow's messages (tensors, examples), sound.
#pragma once

#include <string>
#include <vector>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::io {

/// The whole contents of the file with this name.
Tensor read_file(const Tensor& filename);
/// Replaces the contents of a file; makes the folders of its name.
void write_file(const Tensor& filename, const Tensor& contents);
/// The sorted names of files that match any of the patterns.
Tensor matching_files(const Tensor& pattern);

struct DecodeRawAttrs {
  DType out_type = DType::kUInt8;
  bool little_endian = true;
  /// Bytes of each string that count, filled up with zeros; 0: strings are equally long.
  int64_t fixed_length = 0;
  TANDEM_ATTRS(DecodeRawAttrs, out_type, little_endian, fixed_length)
};
/// Numbers from bytes: one more dimension.
Tensor decode_raw(const Tensor& bytes, DecodeRawAttrs attrs);

struct ParseTensorAttrs {
  DType out_type = DType::kFloat32;
  TANDEM_ATTRS(ParseTensorAttrs, out_type)
};
/// A tensor as a message TensorProto, and back.
Tensor serialize_tensor(const Tensor& tensor);
Tensor parse_tensor(const Tensor& serialized, ParseTensorAttrs attrs);

struct Base64Attrs {
  bool pad = false;
  TANDEM_ATTRS(Base64Attrs, pad)
};

struct DecodeCsvAttrs {
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value = {};
  /// Empty: all columns.
  Ints select_cols = {};
  TANDEM_ATTRS(DecodeCsvAttrs, field_delim, use_quote_delim, na_value, select_cols)
};

/// What is read of messages tf.train.Example. A feature is `dense` (a tensor of a given
/// shape), `sequence` (of any length, padded) or `varlen` (values, and how many each
/// example has).
struct ParseExampleAttrs {
  std::vector<std::string> keys = {};
  std::vector<std::string> kinds = {};
  std::vector<std::string> types = {};
  /// For each key the rank of its shape and then its sizes, one after the other.
  Ints shapes = {};
  TANDEM_ATTRS(ParseExampleAttrs, keys, kinds, types, shapes)
};
/// `serialized` is a vector; `defaults` has one tensor for each key (empty: none). Gives
/// one tensor for dense and sequence features, two for varlen ones.
std::vector<Tensor> parse_example(const Tensor& serialized,
                                  const std::vector<Tensor>& defaults,
                                  ParseExampleAttrs attrs);

struct DecodeWavAttrs {
  /// -1: as in the file.
  int64_t desired_channels = -1;
  int64_t desired_samples = -1;
  TANDEM_ATTRS(DecodeWavAttrs, desired_channels, desired_samples)
};
/// Sound [samples, channels] in [-1, 1) and its rate, from a WAV file of 16-bit numbers.
std::vector<Tensor> decode_wav(const Tensor& contents, DecodeWavAttrs attrs = {});

}  // namespace tandem::io
