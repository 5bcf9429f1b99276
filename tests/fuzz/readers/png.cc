// PNG files. The first byte chooses channels and width of the result.
#include "fuzz/readers/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  if (size == 0) return 0;
  const bool wide = data[0] % 2 != 0;
  image::DecodePngAttrs attrs;
  attrs.channels = data[0] / 2 % 5;
  attrs.dtype = wide ? DType::kUInt16 : DType::kUInt8;
  fuzz::attempt([&] {
    fuzz::Pixels pixels(wide ? 2 : 1);
    cpu::decode_png("DecodePng", fuzz::view(data + 1, size - 1), attrs, pixels);
  });
  return 0;
}
