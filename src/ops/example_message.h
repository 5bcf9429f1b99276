// Messages tf.train.Example as they lie in bytes: which features there are, and the
// values of one. What is read are views of the bytes. Wrong bytes throw
// InvalidArgumentError; fields that the messages do not have are taken as TensorFlow
// takes them. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace tandem {

/// The bytes of each feature by its key. Of several with one key the last one counts.
using ExampleFeatures = std::map<std::string_view, std::string_view>;
ExampleFeatures read_example(std::string_view bytes);

/// The list that a feature has; the numbers are those of its fields.
enum class FeatureList { kNone = 0, kByteList = 1, kFloatList = 2, kIntegerList = 3 };

struct FeatureValues {
  FeatureList list = FeatureList::kNone;
  std::vector<std::string_view> strings;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  size_t size() const { return strings.size() + floats.size() + integers.size(); }
};
/// Only the first list of a feature counts.
FeatureValues read_feature(std::string_view bytes);

}  // namespace tandem
