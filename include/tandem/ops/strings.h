// Strings: bytes, or characters of UTF-8 where an attribute `unit` or `encoding` says so.
// Strings live on the CPU.
#pragma once

#include <string>
#include <vector>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::strings {

struct UnitAttrs {
  /// "BYTE" or "UTF8_CHAR".
  std::string unit = "BYTE";
  TANDEM_ATTRS(UnitAttrs, unit)
};
/// int32 lengths.
Tensor length(const Tensor& input, UnitAttrs attrs = {});
/// Parts of strings from `pos`, which counts from the end when negative, of `len` units.
Tensor substr(const Tensor& input, const Tensor& pos, const Tensor& len,
              UnitAttrs attrs = {});

struct EncodingAttrs {
  /// "" for ASCII alone, or "utf-8".
  std::string encoding = {};
  TANDEM_ATTRS(EncodingAttrs, encoding)
};
Tensor lower(const Tensor& input, EncodingAttrs attrs = {});
Tensor upper(const Tensor& input, EncodingAttrs attrs = {});
/// Without white space at both ends.
Tensor strip(const Tensor& input);

struct JoinAttrs {
  std::string separator = {};
  TANDEM_ATTRS(JoinAttrs, separator)
};
/// Elementwise; scalars go with any shape.
Tensor join(const std::vector<Tensor>& inputs, JoinAttrs attrs = {});

struct ReduceJoinAttrs {
  /// Empty: all axes, from the last to the first.
  Ints axis = {};
  bool keepdims = false;
  std::string separator = {};
  TANDEM_ATTRS(ReduceJoinAttrs, axis, keepdims, separator)
};
Tensor reduce_join(const Tensor& input, ReduceJoinAttrs attrs = {});

struct RegexReplaceAttrs {
  /// In RE2's syntax.
  std::string pattern = {};
  std::string rewrite = {};
  bool replace_global = true;
  TANDEM_ATTRS(RegexReplaceAttrs, pattern, rewrite, replace_global)
};
Tensor regex_replace(const Tensor& input, RegexReplaceAttrs attrs);

struct RegexAttrs {
  std::string pattern = {};
  TANDEM_ATTRS(RegexAttrs, pattern)
};
/// bool: whether the whole string matches.
Tensor regex_full_match(const Tensor& input, RegexAttrs attrs);

struct ToNumberAttrs {
  DType out_type = DType::kFloat32;
  TANDEM_ATTRS(ToNumberAttrs, out_type)
};
Tensor to_number(const Tensor& input, ToNumberAttrs attrs = {});

struct AsStringAttrs {
  int64_t precision = -1;
  bool scientific = false;
  bool shortest = false;
  int64_t width = -1;
  /// "", " ", "0", "+" or "-", as in printf.
  std::string fill = {};
  TANDEM_ATTRS(AsStringAttrs, precision, scientific, shortest, width, fill)
};
Tensor as_string(const Tensor& input, AsStringAttrs attrs = {});

struct HashBucketAttrs {
  int64_t num_buckets = 1;
  /// Two numbers, for the keyed hash alone.
  Ints key = {};
  TANDEM_ATTRS(HashBucketAttrs, num_buckets, key)
};
/// FarmHash's 64-bit fingerprint modulo the number of buckets.
Tensor to_hash_bucket_fast(const Tensor& input, HashBucketAttrs attrs);

struct SplitAttrs {
  /// At most this many cuts; negative: as many as there are.
  int64_t maxsplit = -1;
  TANDEM_ATTRS(SplitAttrs, maxsplit)
};
/// Parts of a vector of strings between separators (white space when `sep` is empty):
/// coordinates [n, 2], the n parts, and the shape [strings, most parts].
std::vector<Tensor> split(const Tensor& input, const Tensor& sep, SplitAttrs attrs = {});

struct UnicodeAttrs {
  /// "UTF-8", "UTF-16-BE" or "UTF-32-BE".
  std::string input_encoding = "UTF-8";
  std::string output_encoding = "UTF-8";
  /// What happens to wrong bytes: "replace", "ignore" or "strict".
  std::string errors = "replace";
  int64_t replacement_char = 65533;
  TANDEM_ATTRS(UnicodeAttrs, input_encoding, output_encoding, errors, replacement_char)
};
/// Code points (int32) of all strings, where each string's begin, and their byte offsets.
std::vector<Tensor> unicode_decode(const Tensor& input, UnicodeAttrs attrs = {});

}  // namespace tandem::strings
