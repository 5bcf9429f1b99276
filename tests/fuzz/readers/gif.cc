// GIF files, once all frames and once the first one.
#include "fuzz/readers/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tandem;
  for (const bool first : {false, true}) {
    fuzz::attempt([&] {
      fuzz::Pixels pixels;
      cpu::decode_gif("DecodeGif", fuzz::view(data, size), first, pixels);
    });
  }
  return 0;
}
