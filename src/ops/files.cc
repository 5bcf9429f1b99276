// Files and what their contents mean: definitions. Messages are in files_messages.cc.
#include "tandem/ops/files.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/files_messages.h"
#include "ops/strings.h"

namespace tandem {

namespace {

using namespace io;

void infer_read_file(InferContext& c) {
  c.rank(0, 0);
  c.add_output(DType::kString, Shape{});
}
void infer_write_file(InferContext& c) {
  c.rank(0, 0);
  c.rank(1, 0);
}
void infer_matching(InferContext& c) {
  c.require(!c.shape(0).has_rank() || c.shape(0).rank() <= 1,
            "Input patterns tensor must be scalar or vector");
  c.add_output(DType::kString, {kUnknownDim});
}

void infer_raw(InferContext& c) {
  const auto& a = c.attrs<DecodeRawAttrs>();
  constexpr DTypeMask kAllowed = kPlain;
  c.require((mask(a.out_type) & kAllowed) != 0,
            fmt::format("out_type cannot be {}", dtype_name(a.out_type)));
  const auto size = static_cast<int64_t>(dtype_size(a.out_type));
  c.require(a.fixed_length >= 0 && a.fixed_length % size == 0,
            fmt::format("fixed_length ({}) must be a multiple of the size of out_type "
                        "({})",
                        a.fixed_length, size));
  if (!c.shape(0).has_rank()) {
    c.add_output(a.out_type, Shape::unknown());
    return;
  }
  Shape out = c.shape(0);
  out.push_back(a.fixed_length > 0 ? a.fixed_length / size : kUnknownDim);
  c.add_output(a.out_type, out);
}

void infer_text(InferContext& c) { c.add_output(DType::kString, c.shape(0)); }

void infer_csv(InferContext& c) {
  const auto& a = c.attrs<DecodeCsvAttrs>();
  c.require(a.field_delim.size() == 1, "field_delim should be only 1 char");
  c.require(a.select_cols.empty() ||
                static_cast<int>(a.select_cols.size()) == c.num_inputs() - 1,
            "select_cols should match output size");
  c.require(a.select_cols.empty() || a.select_cols[0] >= 0,
            "select_cols should be non-negative indices, not negative ones");
  for (size_t i = 1; i < a.select_cols.size(); ++i) {
    c.require(a.select_cols[i - 1] < a.select_cols[i],
              "select_cols should be strictly increasing indices");
  }
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Shape& s = c.shape(i);
    if (s.is_known() && s.num_elements() > 1) {
      c.fail(fmt::format("There should only be 1 default per field but field {} has {}",
                         i - 1, s.num_elements()));
    }
    c.add_output(c.dtype(i), c.shape(0));
  }
}

void infer_wav(InferContext& c) {
  const auto& a = c.attrs<DecodeWavAttrs>();
  c.rank(0, 0);
  c.require(a.desired_channels >= -1,
            fmt::format("channels must be non-negative, got {}", a.desired_channels));
  c.require(a.desired_samples >= -1,
            fmt::format("samples must be non-negative, got {}", a.desired_samples));
  const auto known = [](int64_t v) { return v < 0 ? kUnknownDim : v; };
  c.add_output(DType::kFloat32, {known(a.desired_samples), known(a.desired_channels)});
  c.add_output(DType::kInt32, Shape{});
}
void infer_encode_wav(InferContext& c) {
  c.rank(0, 2);
  c.rank(1, 0);
  c.add_output(DType::kString, Shape{});
}

OpDef text_op(const char* name, const char* doc, void (*infer)(InferContext&),
              const AttrsType* attrs, const char* input) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kText}};
  def.inputs = {{.name = input}};
  def.attrs = attrs;
  def.infer = infer;
  def.differentiable = false;
  def.effects = kMayFail;
  return def;
}

}  // namespace

void register_file_ops(OpTable& table) {
  // Files may change while a program runs: reading is not folded, and keeps its place
  // among writes.
  OpDef def = text_op("ReadFile", "The contents of a file.", infer_read_file, nullptr,
                      "filename");
  def.outputs = {"contents"};
  def.effects = kMayFail | kOrdered;
  table.add(def);
  def = text_op("WriteFile", "Replaces the contents of a file.", infer_write_file,
                nullptr, "filename");
  def.inputs.push_back({.name = "contents"});
  def.outputs = {};
  def.effects = kMayFail | kOrdered;
  table.add(def);
  def = text_op("MatchingFiles", "Names of files that match patterns.", infer_matching,
                nullptr, "pattern");
  def.outputs = {"filenames"};
  def.dynamic = true;
  def.effects = kMayFail | kOrdered;
  table.add(def);

  def = text_op("DecodeRaw", "Numbers from the bytes of strings.", infer_raw,
                &attrs_type<DecodeRawAttrs>(), "bytes");
  def.dynamic = true;
  table.add(def);
  def = text_op("EncodeBase64", "Strings in web-safe base64.", infer_text,
                &attrs_type<Base64Attrs>(), "input");
  def.effects = kPure;
  table.add(def);
  table.add(text_op("DecodeBase64", "Strings from web-safe base64.", infer_text, nullptr,
                    "input"));
  def = text_op("DecodeCSV", "Columns of comma-separated values.", infer_csv,
                &attrs_type<DecodeCsvAttrs>(), "records");
  def.inputs.push_back({.name = "record_defaults", .type = '*', .variadic = true});
  def.outputs = {"output*"};
  table.add(def);
  def = text_op("DecodeWav", "Sound from a WAV file.", infer_wav,
                &attrs_type<DecodeWavAttrs>(), "contents");
  def.outputs = {"audio", "sample_rate"};
  def.dynamic = true;
  table.add(def);
  def = text_op("EncodeWav", "A WAV file with this sound.", infer_encode_wav, nullptr,
                "audio");
  def.types = {{'T', mask(DType::kFloat32)}, {'S', mask(DType::kInt32)}};
  def.inputs.push_back({.name = "sample_rate", .type = 'S'});
  def.outputs = {"contents"};
  table.add(def);
  register_message_ops(table);
}

namespace io {

Tensor read_file(const Tensor& filename) {
  static const OpHandle op("ReadFile");
  return emit(op, {filename});
}
void write_file(const Tensor& filename, const Tensor& contents) {
  static const OpHandle op("WriteFile");
  emit_all(op, {filename, contents});
}
Tensor matching_files(const Tensor& pattern) {
  static const OpHandle op("MatchingFiles");
  return emit(op, {pattern});
}
Tensor decode_raw(const Tensor& bytes, DecodeRawAttrs attrs) {
  static const OpHandle op("DecodeRaw");
  return emit(op, {bytes}, attrs);
}
std::vector<Tensor> decode_wav(const Tensor& contents, DecodeWavAttrs attrs) {
  static const OpHandle op("DecodeWav");
  return emit_all(op, {contents}, attrs);
}

}  // namespace io

}  // namespace tandem
