#include "tandem/dtype.h"

#include <array>

#include "tandem/error.h"

namespace tandem {

namespace {
struct Row {
  std::string_view name;
  std::string_view short_name;
  size_t size;
};
constexpr std::array<Row, kDTypeCount> kRows = {{
    {"invalid", "invalid", 0},
    {"bool", "bool", 1},
    {"int8", "int8", 1},
    {"int16", "int16", 2},
    {"int32", "int32", 4},
    {"int64", "int64", 8},
    {"uint8", "uint8", 1},
    {"uint16", "uint16", 2},
    {"uint32", "uint32", 4},
    {"uint64", "uint64", 8},
    {"float16", "half", 2},
    {"bfloat16", "bfloat16", 2},
    {"float32", "float", 4},
    {"float64", "double", 8},
    {"complex64", "complex64", 8},
    {"complex128", "complex128", 16},
    {"string", "string", sizeof(std::string)},
    {"resource", "resource", 0},
    {"variant", "variant", 0},
}};
const Row& row(DType t) { return kRows[static_cast<size_t>(t)]; }
}  // namespace

size_t dtype_size(DType dtype) { return row(dtype).size; }
std::string_view dtype_name(DType dtype) { return row(dtype).name; }
std::string_view dtype_short_name(DType dtype) { return row(dtype).short_name; }

DType dtype_from_name(std::string_view name) {
  for (size_t i = 1; i < kRows.size(); ++i) {
    if (kRows[i].name == name || kRows[i].short_name == name)
      return static_cast<DType>(i);
  }
  throw ValueError("'" + std::string(name) +
                   "' is not a dtype. Use a name such as float32, int64 or bfloat16.");
}

}  // namespace tandem
