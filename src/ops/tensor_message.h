// A message TensorProto as it lies in bytes. Wrong bytes throw InvalidArgumentError. The
// views are of the bytes. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tandem/dtype.h"
#include "tandem/shape.h"

namespace tandem {

/// Number of a type in TensorFlow's messages; 0: it has none.
int type_number(DType dtype);

struct TensorMessage {
  int type = 0;
  Shape shape;
  /// All elements as bytes, or else `values`.
  std::string_view content;
  /// Elements one by one, as many as there are: numbers as their bytes, or strings.
  std::string values;
  std::vector<std::string_view> strings;
};
/// Values are read as those of `dtype`.
TensorMessage read_tensor_message(std::string_view bytes, DType dtype);

}  // namespace tandem
