#include "kernels/common/one_element.h"

#include <cstring>

namespace tandem {

namespace {
template <class T>
OneElement element(T value) {
  OneElement one;
  std::memcpy(one.bytes.data(), &value, sizeof(T));
  return one;
}
}  // namespace

OneElement one_element(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return element(float16(1.0f));
    case DType::kBFloat16:
      return element(bfloat16(1.0f));
    case DType::kFloat32:
    case DType::kComplex64:
      return element(1.0f);
    case DType::kFloat64:
    case DType::kComplex128:
      return element(1.0);
    default:
      return element(int64_t{1});  // little-endian: right for every width
  }
}

}  // namespace tandem
