// Ops on strings: definitions.
#include "tandem/ops/strings.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/strings.h"

namespace tandem {

namespace {

using namespace strings;

void check_unit(const InferContext& c, const std::string& unit) {
  if (unit != "BYTE" && unit != "UTF8_CHAR") {
    c.fail(fmt::format("unit must be 'BYTE' or 'UTF8_CHAR', got '{}'", unit));
  }
}

void infer_length(InferContext& c) {
  check_unit(c, c.attrs<UnitAttrs>().unit);
  c.add_output(DType::kInt32, c.shape(0));
}

void infer_substr(InferContext& c) {
  check_unit(c, c.attrs<UnitAttrs>().unit);
  for (int i = 1; i < 3; ++i) {
    const Shape& s = c.shape(i);
    if (s.is_known() && c.shape(0).is_known() && s.rank() != 0 && !(s == c.shape(0))) {
      c.fail(
          fmt::format("{} has shape {}; it must be a scalar or have the shape of the "
                      "input, {}. Broadcast it first",
                      i == 1 ? "pos" : "len", s.debug_str(), c.shape(0).debug_str()));
    }
  }
  if (!c.shape(1).compatible_with(c.shape(2))) {
    c.fail(fmt::format("pos and len should have the same shape, got: {} vs. {}",
                       c.shape(1).debug_str(), c.shape(2).debug_str()));
  }
  c.add_output(DType::kString, c.shape(0));
}

void infer_case(InferContext& c) {
  const std::string& e = c.attrs<EncodingAttrs>().encoding;
  c.require(e.empty() || e == "utf-8",
            fmt::format("only utf-8 or '' (no encoding) is supported, received {}", e));
  c.add_output(DType::kString, c.shape(0));
}

void infer_string(InferContext& c) { c.add_output(DType::kString, c.shape(0)); }

void infer_join(InferContext& c) {
  Shape out{};
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Shape& s = c.shape(i);
    if (!s.has_rank()) {
      out = Shape::unknown();
      break;
    }
    if (s.rank() == 0) continue;
    if (out.rank() == 0) {
      out = s;
      continue;
    }
    if (out.is_known() && s.is_known() && !(s == out)) {
      c.fail(fmt::format("Input shapes do not match: {} vs. {}", out.debug_str(),
                         s.debug_str()));
    }
    if (s.is_known()) out = s;
  }
  c.add_output(DType::kString, out);
}

void infer_reduce_join(InferContext& c) {
  const auto& a = c.attrs<ReduceJoinAttrs>();
  const Shape& s = c.shape(0);
  if (!s.has_rank()) {
    c.add_output(DType::kString,
                 a.axis.empty() && !a.keepdims ? Shape{} : Shape::unknown());
    return;
  }
  std::vector<bool> gone(static_cast<size_t>(s.rank()), a.axis.empty());
  for (const int64_t axis : a.axis) {
    const auto i = static_cast<size_t>(c.axis(axis, s.rank()));
    if (gone[i]) c.fail(fmt::format("Duplicate reduction dimension {}", axis));
    gone[i] = true;
  }
  Shape out;
  for (int i = 0; i < s.rank(); ++i) {
    if (!gone[static_cast<size_t>(i)]) {
      out.push_back(s[i]);
    } else if (a.keepdims) {
      out.push_back(1);
    }
  }
  c.add_output(DType::kString, out);
}

void check_pattern(const InferContext& c, const std::string& pattern) {
  const re2::RE2 re(pattern, re2::RE2::Quiet);
  if (!re.ok()) {
    c.fail(fmt::format("Invalid pattern: {}, error: {}", pattern, re.error()));
  }
}
void infer_replace(InferContext& c) {
  check_pattern(c, c.attrs<RegexReplaceAttrs>().pattern);
  c.add_output(DType::kString, c.shape(0));
}
void infer_match(InferContext& c) {
  check_pattern(c, c.attrs<RegexAttrs>().pattern);
  c.add_output(DType::kBool, c.shape(0));
}

void infer_to_number(InferContext& c) {
  const DType out = c.attrs<ToNumberAttrs>().out_type;
  constexpr DTypeMask kAllowed = mask(DType::kFloat32, DType::kFloat64, DType::kInt32,
                                      DType::kInt64, DType::kUInt32, DType::kUInt64);
  c.require((mask(out) & kAllowed) != 0,
            fmt::format("out_type cannot be {}; use float32, float64, int32, int64, "
                        "uint32 or uint64",
                        dtype_name(out)));
  c.add_output(out, c.shape(0));
}

void infer_as_string(InferContext& c) {
  const auto& a = c.attrs<AsStringAttrs>();
  c.require(!(a.scientific && a.shortest),
            "Cannot select both scientific and shortest notation");
  c.require(a.fill.empty() || (a.fill.size() == 1 &&
                               std::string(" +-0#").find(a.fill) != std::string::npos),
            fmt::format("Fill argument not supported: \"{}\"", a.fill));
  c.require(!is_integer(c.dtype(0)) || (!a.scientific && !a.shortest && a.precision < 0),
            "precision, scientific and shortest are for floating point numbers; leave "
            "them out for integers");
  constexpr int64_t kMost = 65536;
  c.require(a.width <= kMost && a.precision <= kMost,
            fmt::format("width {} and precision {} must not exceed {}", a.width,
                        a.precision, kMost));
  c.add_output(DType::kString, c.shape(0));
}

void infer_hash(InferContext& c) {
  const auto& a = c.attrs<HashBucketAttrs>();
  c.require(a.num_buckets >= 1,
            fmt::format("Need attr 'num_buckets' >= 1, got {}", a.num_buckets));
  c.require(c.op().name != "StringToHashBucketStrong" || a.key.size() == 2,
            "Key must have 2 elements");
  c.add_output(DType::kInt64, c.shape(0));
}

void infer_string_split(InferContext& c) {
  c.rank(0, 1);
  c.rank(1, 0);
  c.add_output(DType::kInt64, {kUnknownDim, 2});
  c.add_output(DType::kString, {kUnknownDim});
  c.add_output(DType::kInt64, {2});
}

void check_unicode(const InferContext& c) {
  const auto& a = c.attrs<UnicodeAttrs>();
  c.require(
      a.errors == "replace" || a.errors == "ignore" || a.errors == "strict",
      fmt::format("errors must be 'replace', 'ignore' or 'strict', got '{}'", a.errors));
  c.require(a.replacement_char >= 0 && a.replacement_char <= 0x10ffff,
            fmt::format("replacement_char {} is out of the range of unicode code points",
                        a.replacement_char));
  for (const std::string& e : {a.input_encoding, a.output_encoding}) {
    c.require(e == "UTF-8" || e == "UTF-16-BE" || e == "UTF-32-BE",
              fmt::format("encoding '{}' is not known here; use UTF-8, UTF-16-BE or "
                          "UTF-32-BE",
                          e));
  }
}
void infer_decode(InferContext& c) {
  check_unicode(c);
  c.rank(0, 1);
  const int64_t n = c.shape(0).has_rank() ? c.shape(0)[0] : kUnknownDim;
  c.add_output(DType::kInt64, {n < 0 ? kUnknownDim : n + 1});
  c.add_output(DType::kInt32, {kUnknownDim});
  c.add_output(DType::kInt64, {kUnknownDim});
}
void infer_encode(InferContext& c) {
  check_unicode(c);
  c.rank(0, 1);
  c.rank(1, 1);
  const int64_t n = c.shape(1).has_rank() ? c.shape(1)[0] : kUnknownDim;
  c.add_output(DType::kString, {n < 0 ? kUnknownDim : n - 1});
}
void infer_transcode(InferContext& c) {
  check_unicode(c);
  c.add_output(DType::kString, c.shape(0));
}

OpDef text_op(const char* name, const char* doc, void (*infer)(InferContext&),
              const AttrsType* attrs) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kText}};
  def.inputs = {{.name = "input"}};
  def.attrs = attrs;
  def.infer = infer;
  def.differentiable = false;
  return def;
}

}  // namespace

void register_string_ops(OpTable& table) {
  table.add(text_op("StringLength", "Lengths of strings.", infer_length,
                    &attrs_type<UnitAttrs>()));
  OpDef def =
      text_op("Substr", "Parts of strings.", infer_substr, &attrs_type<UnitAttrs>());
  def.types.push_back({'P', kIndices});
  def.inputs = {
      {.name = "input"}, {.name = "pos", .type = 'P'}, {.name = "len", .type = 'P'}};
  def.effects = kMayFail;
  table.add(def);
  table.add(text_op("StringLower", "Strings in small letters.", infer_case,
                    &attrs_type<EncodingAttrs>()));
  table.add(text_op("StringUpper", "Strings in capital letters.", infer_case,
                    &attrs_type<EncodingAttrs>()));
  table.add(text_op("StringStrip", "Strings without white space at the ends.",
                    infer_string, nullptr));
  def = text_op("StringJoin", "Joins strings elementwise.", infer_join,
                &attrs_type<JoinAttrs>());
  def.inputs = {{.name = "inputs", .variadic = true}};
  table.add(def);
  table.add(text_op("ReduceJoin", "Joins strings along axes.", infer_reduce_join,
                    &attrs_type<ReduceJoinAttrs>()));
  table.add(text_op("StaticRegexReplace", "Replaces what matches a pattern.",
                    infer_replace, &attrs_type<RegexReplaceAttrs>()));
  table.add(text_op("StaticRegexFullMatch", "Whether strings match a pattern.",
                    infer_match, &attrs_type<RegexAttrs>()));
  def = text_op("StringToNumber", "The numbers that strings spell.", infer_to_number,
                &attrs_type<ToNumberAttrs>());
  def.effects = kMayFail;
  table.add(def);
  def = text_op("AsString", "Numbers as text.", infer_as_string,
                &attrs_type<AsStringAttrs>());
  def.types = {{'T', kAnyDType}};
  table.add(def);
  for (const auto* name :
       {"StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong"}) {
    table.add(text_op(name, "Hashes of strings modulo a number of buckets.", infer_hash,
                      &attrs_type<HashBucketAttrs>()));
  }
  def = text_op("StringSplitV2", "Parts of strings between separators.",
                infer_string_split, &attrs_type<strings::SplitAttrs>());
  def.inputs.push_back({.name = "sep"});
  def.outputs = {"indices", "values", "shape"};
  def.dynamic = true;
  table.add(def);
  def = text_op("UnicodeDecodeWithOffsets", "Code points of strings.", infer_decode,
                &attrs_type<UnicodeAttrs>());
  def.outputs = {"row_splits", "char_values", "char_to_byte_starts"};
  def.dynamic = true;
  def.effects = kMayFail;
  table.add(def);
  def = text_op("UnicodeEncode", "Strings of code points.", infer_encode,
                &attrs_type<UnicodeAttrs>());
  def.types = {{'T', mask(DType::kInt32)}, {'S', mask(DType::kInt64)}};
  def.inputs = {{.name = "input_values"}, {.name = "input_splits", .type = 'S'}};
  def.effects = kMayFail;
  table.add(def);
  def = text_op("UnicodeTranscode", "Strings in another encoding.", infer_transcode,
                &attrs_type<UnicodeAttrs>());
  def.effects = kMayFail;
  table.add(def);
}

namespace strings {

Tensor length(const Tensor& input, UnitAttrs attrs) {
  static const OpHandle op("StringLength");
  return emit(op, {input}, attrs);
}
Tensor substr(const Tensor& input, const Tensor& pos, const Tensor& len,
              UnitAttrs attrs) {
  static const OpHandle op("Substr");
  return emit(op, {input, pos, len}, attrs);
}
Tensor lower(const Tensor& input, EncodingAttrs attrs) {
  static const OpHandle op("StringLower");
  return emit(op, {input}, attrs);
}
Tensor upper(const Tensor& input, EncodingAttrs attrs) {
  static const OpHandle op("StringUpper");
  return emit(op, {input}, attrs);
}
Tensor strip(const Tensor& input) {
  static const OpHandle op("StringStrip");
  return emit(op, {input});
}
Tensor join(const std::vector<Tensor>& inputs, JoinAttrs attrs) {
  static const OpHandle op("StringJoin");
  return emit_list(op, inputs, attrs)[0];
}
Tensor reduce_join(const Tensor& input, ReduceJoinAttrs attrs) {
  static const OpHandle op("ReduceJoin");
  return emit(op, {input}, attrs);
}
Tensor regex_replace(const Tensor& input, RegexReplaceAttrs attrs) {
  static const OpHandle op("StaticRegexReplace");
  return emit(op, {input}, attrs);
}
Tensor regex_full_match(const Tensor& input, RegexAttrs attrs) {
  static const OpHandle op("StaticRegexFullMatch");
  return emit(op, {input}, attrs);
}
Tensor to_number(const Tensor& input, ToNumberAttrs attrs) {
  static const OpHandle op("StringToNumber");
  return emit(op, {input}, attrs);
}
Tensor as_string(const Tensor& input, AsStringAttrs attrs) {
  static const OpHandle op("AsString");
  return emit(op, {input}, attrs);
}
Tensor to_hash_bucket_fast(const Tensor& input, HashBucketAttrs attrs) {
  static const OpHandle op("StringToHashBucketFast");
  return emit(op, {input}, attrs);
}
std::vector<Tensor> split(const Tensor& input, const Tensor& sep, SplitAttrs attrs) {
  static const OpHandle op("StringSplitV2");
  return emit_all(op, {input, sep}, attrs);
}
std::vector<Tensor> unicode_decode(const Tensor& input, UnicodeAttrs attrs) {
  static const OpHandle op("UnicodeDecodeWithOffsets");
  return emit_all(op, {input}, attrs);
}

}  // namespace strings

}  // namespace tandem
