// The C structs of DLPack, the protocol by which libraries hand tensors to each other
// without a copy (https://dmlc.github.io/dlpack/latest/c_api.html). Declared here after
// the specification, so that no header of it is needed; the layout is fixed and must
// never change.
#pragma once

#include <cstdint>

extern "C" {

struct DLDevice {
  int32_t device_type;  // a tandem::dlpack::DeviceType
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;  // a tandem::dlpack::TypeCode
  uint8_t bits;  // of one lane; both parts together for complex numbers
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means row-major and contiguous
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  /// Called once by whoever holds the tensor last; may be null when there is nothing to
  /// free.
  void (*deleter)(DLManagedTensor* self);
};

}  // extern "C"

namespace tandem::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
};

static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64,
              "DLPack's layout on 64-bit machines");

}  // namespace tandem::dlpack
