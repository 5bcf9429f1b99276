// BMP files. The first byte chooses the channels.
#include "fuzz/readers/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  if (size == 0) return 0;
  constexpr int64_t kChannels[] = {0, 1, 3, 4};
  fuzz::attempt([&] {
    fuzz::Pixels pixels;
    cpu::decode_bmp("DecodeBmp", fuzz::view(data + 1, size - 1), kChannels[data[0] % 4],
                    pixels);
  });
  return 0;
}
