// TensorProto, as tf.io.parse_tensor reads it. The first byte chooses the dtype.
#include "fuzz/readers/support.h"
#include "ops/tensor_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64,   DType::kInt32,
                              DType::kUInt8,   DType::kString,    DType::kComplex64,
                              DType::kBool,    DType::kBFloat16,  DType::kInt64,
                              DType::kUInt64,  DType::kComplex128};
  if (size == 0) return 0;
  fuzz::attempt([&] {
    const TensorMessage m = read_tensor_message(fuzz::view(data + 1, size - 1),
                                                kTypes[data[0] % std::size(kTypes)]);
    fuzz::use(m.shape.num_elements());
  });
  return 0;
}
