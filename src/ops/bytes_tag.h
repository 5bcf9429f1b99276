// Tags in protobuf messages as they lie in bytes. Pure; any thread.
#pragma once

#include <cstdint>

#include <protozero/types.hpp>

namespace tandem {

/// The tag of a field that holds bytes, a string or a message.
constexpr uint32_t bytes_tag(uint32_t field) {
  return protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited);
}

}  // namespace tandem
