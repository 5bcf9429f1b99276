#include "ops/tensor_message.h"

#include <cstdint>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include "ops/bytes_tag.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

// Number of a type (types.proto), and of the field that has its values one by one.
struct TypeNumber {
  DType dtype;
  int number;
  uint32_t field;
};
constexpr TypeNumber kTypeNumbers[] = {
    {DType::kFloat32, 1, 5},      {DType::kFloat64, 2, 6},    {DType::kInt32, 3, 7},
    {DType::kUInt8, 4, 7},        {DType::kInt16, 5, 7},      {DType::kInt8, 6, 7},
    {DType::kString, 7, 8},       {DType::kComplex64, 8, 9},  {DType::kInt64, 9, 10},
    {DType::kBool, 10, 11},       {DType::kBFloat16, 14, 13}, {DType::kUInt16, 17, 7},
    {DType::kComplex128, 18, 12}, {DType::kFloat16, 19, 13},  {DType::kUInt32, 22, 16},
    {DType::kUInt64, 23, 17}};

const TypeNumber* find(DType dtype) {
  for (const TypeNumber& t : kTypeNumbers) {
    if (t.dtype == dtype) return &t;
  }
  return nullptr;
}

constexpr uint32_t number_tag(uint32_t field) {
  return tag_and_type(field, pbf_wire_type::varint);
}

[[noreturn]] void fail_tensor(std::string_view what) {
  throw InvalidArgumentError(
      fmt::format("ParseTensor: Could not parse `serialized` as TensorProto: {}", what));
}

void read_shape(pbf_reader message, Shape& shape) {
  while (message.next()) {
    if (message.tag_and_type() != bytes_tag(2)) {
      message.skip();
      continue;
    }
    int64_t size = 0;
    pbf_reader dim = message.get_message();
    while (dim.next()) {
      if (dim.tag_and_type() == number_tag(1)) {
        size = dim.get_int64();
      } else {
        dim.skip();
      }
    }
    if (size < 0) fail_tensor(fmt::format("dimension {} is {}", shape.rank(), size));
    if (shape.rank() == kMaxRank) {
      fail_tensor(fmt::format("there are more than {} dimensions", kMaxRank));
    }
    shape.push_back(size);
  }
}

void append(std::string& to, uint64_t value, size_t bytes) {
  to.append(reinterpret_cast<const char*>(&value), bytes);
}

/// One field of values of a type that is stored as integers or as bytes.
void read_values(pbf_reader& r, DType dtype, std::string& values) {
  const size_t size = dtype_size(dtype);
  const auto put = [&](uint64_t v) {
    append(values, dtype == DType::kBool ? v != 0 : v, size);
  };
  const bool as_bytes =
      is_complex(dtype) || dtype == DType::kFloat32 || dtype == DType::kFloat64;
  const size_t unit = is_complex(dtype) ? size / 2 : size;
  if (as_bytes && r.wire_type() == pbf_wire_type::length_delimited) {
    const protozero::data_view all = r.get_view();
    if (all.size() % unit != 0) fail_tensor("its values are cut off");
    values.append(all.data(), all.size());
  } else if (as_bytes && unit == 4 && r.wire_type() == pbf_wire_type::fixed32) {
    append(values, r.get_fixed32(), 4);
  } else if (as_bytes && unit == 8 && r.wire_type() == pbf_wire_type::fixed64) {
    append(values, r.get_fixed64(), 8);
  } else if (!as_bytes && r.wire_type() == pbf_wire_type::length_delimited) {
    for (const uint64_t v : r.get_packed_uint64()) put(v);
  } else if (!as_bytes && r.wire_type() == pbf_wire_type::varint) {
    put(r.get_uint64());
  } else {
    r.skip();
  }
}

}  // namespace

int type_number(DType dtype) {
  const TypeNumber* const t = find(dtype);
  return t ? t->number : 0;
}

TensorMessage read_tensor_message(std::string_view bytes, DType dtype) try {
  const TypeNumber* const wanted = find(dtype);
  TensorMessage message;
  pbf_reader r(bytes.data(), bytes.size());
  while (r.next()) {
    if (r.tag_and_type() == number_tag(1)) {
      message.type = r.get_enum();
    } else if (r.tag_and_type() == bytes_tag(2)) {
      read_shape(r.get_message(), message.shape);
    } else if (r.tag_and_type() == bytes_tag(4)) {
      const protozero::data_view v = r.get_view();
      message.content = {v.data(), v.size()};
    } else if (r.tag_and_type() == bytes_tag(8)) {
      const protozero::data_view v = r.get_view();
      message.strings.emplace_back(v.data(), v.size());
    } else if (wanted && r.tag() == wanted->field && dtype != DType::kString) {
      read_values(r, dtype, message.values);
    } else {
      r.skip();
    }
  }
  return message;
} catch (const protozero::exception& error) {
  fail_tensor(error.what());
}

}  // namespace tandem
