// Messages tf.train.Example: features by name, each a list of bytes, floats or integers.
// A host function: what it gives depends on the features asked for.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/host_function.h"
#include "op/op_def.h"
#include "ops/example_message.h"
#include "ops/files_messages.h"
#include "tandem/ops/files.h"

namespace tandem {

namespace {

using io::ParseExampleAttrs;

struct Feature {
  std::string key, kind;
  DType dtype;
  Shape shape;
};

[[noreturn]] void fail_features(std::string_view what) {
  throw InvalidArgumentError(fmt::format("ParseExample: {}", what));
}

std::vector<Feature> features_of(const ParseExampleAttrs& a) {
  std::vector<Feature> all;
  size_t at = 0;
  for (size_t i = 0; i < a.keys.size(); ++i) {
    Feature f{a.keys[i], a.kinds[i], dtype_from_name(a.types[i]), {}};
    const int64_t rank = at < a.shapes.size() ? a.shapes[at++] : -1;
    if (rank < 0 || static_cast<size_t>(rank) > a.shapes.size() - at) {
      fail_features("the shapes are not those of as many features");
    }
    for (int64_t k = 0; k < rank; ++k) f.shape.push_back(a.shapes[at++]);
    if (!f.shape.is_known()) {
      fail_features(fmt::format("feature {} has shape {}; all its sizes must be known",
                                f.key, f.shape.debug_str()));
    }
    all.push_back(std::move(f));
  }
  return all;
}

void infer_example(InferContext& c) {
  const auto& a = c.attrs<ParseExampleAttrs>();
  c.rank(0, 1);
  c.require(a.keys.size() == a.kinds.size() && a.keys.size() == a.types.size() &&
                static_cast<int>(a.keys.size()) == c.num_inputs() - 1,
            "keys, kinds, types and defaults must be equally many");
  const int64_t n = c.shape(0).has_rank() ? c.shape(0)[0] : kUnknownDim;
  for (const Feature& f : features_of(a)) {
    c.require(f.dtype == DType::kFloat32 || f.dtype == DType::kInt64 ||
                  f.dtype == DType::kString,
              fmt::format("feature {} cannot be of {}; use float32, int64 or string",
                          f.key, dtype_name(f.dtype)));
    if (f.kind == "varlen") {
      c.add_output(f.dtype, {kUnknownDim});
      c.add_output(DType::kInt64, {n});
      continue;
    }
    Shape out{n};
    if (f.kind == "sequence") out.push_back(kUnknownDim);
    for (const int64_t d : f.shape.dims()) out.push_back(d);
    c.add_output(f.dtype, out);
  }
}

int list_of(DType dtype) {
  return dtype == DType::kString ? 1 : dtype == DType::kFloat32 ? 2 : 3;
}

/// All elements of one output, of the feature's type.
class Column {
 public:
  explicit Column(DType dtype) : dtype_(dtype) {}
  size_t size() const { return strings_.size() + floats_.size() + integers_.size(); }
  void add(const FeatureValues& v) {
    for (const std::string_view s : v.strings) strings_.emplace_back(s);
    floats_.insert(floats_.end(), v.floats.begin(), v.floats.end());
    integers_.insert(integers_.end(), v.integers.begin(), v.integers.end());
  }
  /// `count` elements of the default, which must have that many or one.
  void add_default(const Tensor& value, size_t count) {
    if (dtype_ == DType::kString) {
      repeat(value.to_vector<std::string>(), count, strings_);
    } else if (dtype_ == DType::kFloat32) {
      repeat(value.to_vector<float>(), count, floats_);
    } else {
      repeat(value.to_vector<int64_t>(), count, integers_);
    }
  }
  void add_zeros(size_t count) {
    if (dtype_ == DType::kString) {
      strings_.resize(strings_.size() + count);
    } else if (dtype_ == DType::kFloat32) {
      floats_.resize(floats_.size() + count);
    } else {
      integers_.resize(integers_.size() + count);
    }
  }
  Tensor tensor(const Shape& shape) const {
    if (dtype_ == DType::kString) return tensor_from_strings(strings_, shape);
    return dtype_ == DType::kFloat32 ? constant(floats_, shape)
                                     : constant(integers_, shape);
  }

 private:
  template <class T>
  static void repeat(const std::vector<T>& value, size_t count, std::vector<T>& out) {
    if (value.size() == 1) {
      out.insert(out.end(), count, value[0]);
    } else {
      out.insert(out.end(), value.begin(), value.end());
    }
  }
  DType dtype_;
  std::vector<std::string> strings_;
  std::vector<float> floats_;
  std::vector<int64_t> integers_;
};

using Examples = std::vector<std::optional<FeatureValues>>;

/// The values of one feature in each example; none where it is missing.
Examples values_of(const Feature& f, const std::vector<ExampleFeatures>& examples) {
  Examples all(examples.size());
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto found = examples[i].find(f.key);
    if (found == examples[i].end()) continue;
    FeatureValues v;
    try {
      v = read_feature(found->second);
    } catch (const InvalidArgumentError& error) {
      fail_features(fmt::format("Key: {}, Index: {}.  {}", f.key, i, error.what()));
    }
    const int list = static_cast<int>(v.list);
    if (list == 0) continue;
    if (list != list_of(f.dtype)) {
      constexpr const char* kNames[] = {"", "string", "float", "int64"};
      fail_features(
          fmt::format("Key: {}, Index: {}.  Data types don't match. Data type: {} but "
                      "expected type: {}",
                      f.key, i, kNames[list], dtype_name(f.dtype)));
    }
    all[i] = std::move(v);
  }
  return all;
}

void check_default(const Feature& f, const Tensor& fallback, size_t count) {
  const auto n = static_cast<size_t>(fallback.num_elements());
  if (n <= 1 || n == count) return;
  fail_features(fmt::format(
      "Key: {}.  The default has {} values; it must have one or {}.", f.key, n, count));
}

Tensor dense(const Feature& f, const Examples& examples, const Tensor& fallback) {
  const auto count = static_cast<size_t>(f.shape.num_elements());
  check_default(f, fallback, count);
  Column column(f.dtype);
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto& v = examples[i];
    if (v && v->size() != count) {
      fail_features(
          fmt::format("Key: {}, Index: {}.  Number of {} values != expected.  Values "
                      "size: {} but output shape: {}",
                      f.key, i, dtype_name(f.dtype), v->size(), f.shape.debug_str()));
    }
    if (v) {
      column.add(*v);
    } else if (fallback.num_elements() == 0 && count > 0) {
      fail_features(
          fmt::format("Name: <unknown>, Feature: {} (data type: {}) is required but "
                      "could not be found.",
                      f.key, dtype_name(f.dtype)));
    } else {
      column.add_default(fallback, count);
    }
  }
  Shape shape{static_cast<int64_t>(examples.size())};
  for (const int64_t d : f.shape.dims()) shape.push_back(d);
  return column.tensor(shape);
}

Tensor sequence(const Feature& f, const Examples& examples, const Tensor& fallback) {
  check_default(f, fallback, 1);
  const auto row = std::max<size_t>(static_cast<size_t>(f.shape.num_elements()), 1);
  size_t longest = 0;
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto& v = examples[i];
    if (v && v->size() % row != 0) {
      fail_features(
          fmt::format("Key: {}, Index: {}.  Number of {} values is not a multiple of "
                      "stride length. Saw {} values but output shape is: {}",
                      f.key, i, dtype_name(f.dtype), v->size(), f.shape.debug_str()));
    }
    if (v) longest = std::max(longest, v->size() / row);
  }
  Column column(f.dtype);
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto& v = examples[i];
    const size_t there = v ? v->size() : 0;
    if (v) column.add(*v);
    if (fallback.num_elements() > 0) {
      column.add_default(fallback, longest * row - there);
    } else {
      column.add_zeros(longest * row - there);
    }
  }
  Shape shape{static_cast<int64_t>(examples.size()), static_cast<int64_t>(longest)};
  for (const int64_t d : f.shape.dims()) shape.push_back(d);
  return column.tensor(shape);
}

std::vector<Tensor> run_example(AttrsRef attrs, std::span<const Tensor> inputs) {
  std::vector<ExampleFeatures> examples;
  const std::vector<std::string> serialized = inputs[0].to_vector<std::string>();
  for (size_t k = 0; k < serialized.size(); ++k) {
    try {
      examples.push_back(read_example(serialized[k]));
    } catch (const InvalidArgumentError& error) {
      fail_features(fmt::format("{} (example {})", error.what(), k));
    }
  }
  std::vector<Tensor> outputs;
  size_t i = 0;
  for (const Feature& f : features_of(attrs.as<ParseExampleAttrs>())) {
    const Tensor& fallback = inputs[++i];
    const Examples values = values_of(f, examples);
    if (f.kind == "dense") {
      outputs.push_back(dense(f, values, fallback));
    } else if (f.kind == "sequence") {
      outputs.push_back(sequence(f, values, fallback));
    } else {
      Column column(f.dtype);
      std::vector<int64_t> lengths;
      for (size_t k = 0; k < values.size(); ++k) {
        const auto& v = values[k];
        if (v) column.add(*v);
        lengths.push_back(v ? static_cast<int64_t>(v->size()) : 0);
      }
      outputs.push_back(column.tensor({static_cast<int64_t>(column.size())}));
      outputs.push_back(constant(lengths));
    }
  }
  return outputs;
}

}  // namespace

void register_example_ops(OpTable& table) {
  table.add({.name = "ParseExample",
             .doc = "Features of messages tf.train.Example.",
             .types = {{'T', mask(DType::kString)}},
             .inputs = {{.name = "serialized"},
                        {.name = "defaults", .type = '*', .variadic = true}},
             .outputs = {"features*"},
             .attrs = &attrs_type<ParseExampleAttrs>(),
             .infer = infer_example,
             .differentiable = false,
             .dynamic = true,
             .effects = kMayFail});
  add_host_function("ParseExample", run_example);
}

namespace io {

std::vector<Tensor> parse_example(const Tensor& serialized,
                                  const std::vector<Tensor>& defaults,
                                  ParseExampleAttrs attrs) {
  static const OpHandle op("ParseExample");
  std::vector<Tensor> inputs = {serialized};
  inputs.insert(inputs.end(), defaults.begin(), defaults.end());
  return emit_list(op, inputs, attrs);
}

}  // namespace io

}  // namespace tandem
