#include "ops/example_message.h"

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include "ops/bytes_tag.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

pbf_reader reader(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view next_view(pbf_reader& r) {
  const protozero::data_view v = r.get_view();
  return {v.data(), v.size()};
}

[[noreturn]] void fail_example(std::string_view what, const protozero::exception& error) {
  throw InvalidArgumentError(
      fmt::format("Could not parse example input: {} ({})", what, error.what()));
}

void read_entry(std::string_view bytes, ExampleFeatures& features) {
  std::string_view key, value;
  pbf_reader entry = reader(bytes);
  while (entry.next()) {
    switch (entry.tag_and_type()) {
      case bytes_tag(1):
        key = next_view(entry);
        break;
      case bytes_tag(2):
        value = next_view(entry);
        break;
      default:
        entry.skip();
    }
  }
  features[key] = value;
}

void read_list(std::string_view bytes, FeatureValues& v) {
  pbf_reader list = reader(bytes);
  while (list.next()) {
    const bool packed = list.wire_type() == pbf_wire_type::length_delimited;
    if (list.tag() != 1) {
      list.skip();
    } else if (v.list == FeatureList::kByteList && packed) {
      v.strings.push_back(next_view(list));
    } else if (v.list == FeatureList::kFloatList && packed) {
      const auto all = list.get_packed_float();
      v.floats.insert(v.floats.end(), all.begin(), all.end());
    } else if (v.list == FeatureList::kFloatList &&
               list.wire_type() == pbf_wire_type::fixed32) {
      v.floats.push_back(list.get_float());
    } else if (v.list == FeatureList::kIntegerList && packed) {
      for (const int64_t i : list.get_packed_int64()) v.integers.push_back(i);
    } else if (v.list == FeatureList::kIntegerList &&
               list.wire_type() == pbf_wire_type::varint) {
      v.integers.push_back(list.get_int64());
    } else {
      throw InvalidArgumentError(fmt::format(
          "Can't parse serialized Example: its list has values of wire type {}",
          static_cast<unsigned>(list.wire_type())));
    }
  }
}

}  // namespace

ExampleFeatures read_example(std::string_view bytes) try {
  ExampleFeatures all;
  pbf_reader example = reader(bytes);
  while (example.next()) {
    if (example.tag_and_type() != bytes_tag(1)) {
      example.skip();
      continue;
    }
    pbf_reader features = reader(next_view(example));
    while (features.next()) {
      if (features.tag_and_type() == bytes_tag(1)) {
        read_entry(next_view(features), all);
      } else {
        features.skip();
      }
    }
  }
  return all;
} catch (const protozero::exception& error) {
  fail_example("its bytes are not a message", error);
}

FeatureValues read_feature(std::string_view bytes) try {
  FeatureValues v;
  pbf_reader feature = reader(bytes);
  if (!feature.next()) return v;
  const uint32_t field = feature.tag();
  if (field > 3 || feature.wire_type() != pbf_wire_type::length_delimited) {
    throw InvalidArgumentError(
        fmt::format("Unsupported datatype: a feature has field {}; it must be one of "
                    "bytes_list, float_list and int64_list",
                    field));
  }
  v.list = static_cast<FeatureList>(field);
  read_list(next_view(feature), v);
  return v;
} catch (const protozero::exception& error) {
  fail_example("a feature is damaged", error);
}

}  // namespace tandem
